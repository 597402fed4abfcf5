//! The aliases in a reader's schema: other names of the writer's types and fields.
//!
//! Invariant: as in Java, a field's aliases apply only to a writer's record whose full name is the reader's name of the
//! record or one of the record's aliases. A name that the reader's schema uses itself is never treated as an alias.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

#[derive(Debug, Clone, Default)]
pub(super) struct Aliases {
    /// The full names of types, by full alias.
    types: HashMap<String, Arc<str>>,
    /// The names of fields, by the full name of their record and their alias.
    fields: HashMap<Arc<str>, HashMap<String, Arc<str>>>,
    /// The full names of the reader's types.
    own_types: HashSet<Arc<str>>,
    /// The reader's fields, by the full name of their record.
    own_fields: HashMap<Arc<str>, HashSet<Arc<str>>>,
}

impl Aliases {
    pub(super) fn add_type(&mut self, alias: String, name: &Arc<str>) {
        self.types.insert(alias, Arc::clone(name));
    }

    pub(super) fn add_field(&mut self, record: &Arc<str>, alias: &str, name: &Arc<str>) {
        let fields = self.fields.entry(Arc::clone(record)).or_default();
        fields.insert(alias.to_owned(), Arc::clone(name));
    }

    /// Records a type that the reader's schema defines.
    pub(super) fn add_own_type(&mut self, name: &Arc<str>) {
        self.own_types.insert(Arc::clone(name));
    }

    /// Records a field that the reader's schema defines.
    pub(super) fn add_own_field(&mut self, record: &Arc<str>, name: &Arc<str>) {
        self.own_fields.entry(Arc::clone(record)).or_default().insert(Arc::clone(name));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.types.is_empty() && self.fields.is_empty()
    }

    /// Returns the reader's name for a writer's type.
    pub(super) fn type_name(&self, name: &str) -> Arc<str> {
        let renamed = self.types.get(name).filter(|_| !self.own_types.contains(name));
        renamed.map_or_else(|| name.into(), Arc::clone)
    }

    /// Returns the reader's name for a field of a writer's record. `record` is the reader's name of the record.
    pub(super) fn field_name(&self, record: &str, field: &str) -> Arc<str> {
        let is_own = self.own_fields.get(record).is_some_and(|own| own.contains(field));
        let renamed = self.fields.get(record).and_then(|fields| fields.get(field)).filter(|_| !is_own);
        renamed.map_or_else(|| field.into(), Arc::clone)
    }
}
