//! Levels of compatibility: which changes subjects accept.
//!
//! Invariant: the default level is BACKWARD, as Confluent's.

use super::failure::RegistryFailure;

/// Which changes a subject accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompatibilityLevel {
    /// All of them.
    None,
    /// The new schema can read data of the latest one.
    #[default]
    Backward,
    /// The new schema can read data of all earlier ones.
    BackwardTransitive,
    /// The latest schema can read data of the new one.
    Forward,
    /// All earlier schemas can read data of the new one.
    ForwardTransitive,
    /// Both ways with the latest schema.
    Full,
    /// Both ways with all earlier schemas.
    FullTransitive,
}

impl CompatibilityLevel {
    const ALL: [(Self, &'static str); 7] = [
        (Self::None, "NONE"),
        (Self::Backward, "BACKWARD"),
        (Self::BackwardTransitive, "BACKWARD_TRANSITIVE"),
        (Self::Forward, "FORWARD"),
        (Self::ForwardTransitive, "FORWARD_TRANSITIVE"),
        (Self::Full, "FULL"),
        (Self::FullTransitive, "FULL_TRANSITIVE"),
    ];

    /// The level with this name, in whichever case.
    ///
    /// # Errors
    ///
    /// There is no such level.
    pub fn parse(name: &str) -> Result<Self, RegistryFailure> {
        let found = Self::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(name));
        found.map(|(level, _)| *level).ok_or_else(RegistryFailure::invalid_level)
    }

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(level, _)| *level == self).map_or("", |(_, name)| name)
    }

    pub(super) fn is_transitive(self) -> bool {
        matches!(self, Self::BackwardTransitive | Self::ForwardTransitive | Self::FullTransitive)
    }

    pub(super) fn is_backward(self) -> bool {
        matches!(self, Self::Backward | Self::BackwardTransitive | Self::Full | Self::FullTransitive)
    }

    pub(super) fn is_forward(self) -> bool {
        matches!(self, Self::Forward | Self::ForwardTransitive | Self::Full | Self::FullTransitive)
    }
}
