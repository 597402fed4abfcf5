//! The data contract of a schema: its metadata and its rules, as the registry's API describes them.
//!
//! Invariant: both are texts of JSON objects, which are passed on as they are: what this crate needs of the rules is
//! in [`Rule`](crate::Rule)s.

use std::sync::Arc;

/// What a schema is registered with besides its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct DataContract {
    /// `metadata`: tags, properties, and the names of sensitive properties.
    pub metadata: Option<Arc<str>>,
    /// `ruleSet`: the rules of values, of bytes and of migrations.
    pub rule_set: Option<Arc<str>>,
}

impl DataContract {
    /// The bytes of its texts.
    #[must_use]
    pub fn size(&self) -> usize {
        [&self.metadata, &self.rule_set].into_iter().flatten().map(|text| text.len()).sum()
    }
}
