//! Ids and versions that clients choose, as tools that copy registries do.

/// The id and the version that a client chooses for a schema, as it may in the mode `IMPORT`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) id: Option<i32>,
    pub(super) version: Option<i32>,
}

impl Import {
    /// Whether a schema with this id is what the client wants.
    pub(super) fn is_id(self, id: i32) -> bool {
        self.id.is_none_or(|own| own == id)
    }
}
