//! The steps that skip values that the reader does not have.
//!
//! Invariant: each record within itself is compiled once.

use std::collections::HashMap;
use std::sync::Arc;

use super::schema::{Kind, Record, Schema};

#[derive(Debug)]
pub(super) enum Skip {
    /// A fixed number of bytes.
    Bytes(usize),
    Int,
    Long,
    /// A length and that many bytes.
    Lengthed,
    Array(Box<Self>),
    Map(Box<Self>),
    Union(Vec<Self>),
    Record(Vec<Self>),
    /// A record within itself: its index.
    Recursive(usize),
}

/// How records within themselves are skipped.
#[derive(Debug, Default)]
pub(super) struct RecursiveSkips {
    /// The indexes of records, by address.
    indexes: HashMap<usize, usize>,
    pub(super) skips: Vec<Skip>,
}

impl Skip {
    pub(super) fn over(schema: &Schema, recursive: &mut RecursiveSkips) -> Self {
        match &schema.kind {
            Kind::Null => Self::Bytes(0),
            Kind::Boolean => Self::Bytes(1),
            Kind::Float => Self::Bytes(4),
            Kind::Double => Self::Bytes(8),
            Kind::Fixed(fixed) => Self::Bytes(fixed.size),
            Kind::Int | Kind::Enum(_) => Self::Int,
            Kind::Long => Self::Long,
            Kind::Bytes | Kind::String => Self::Lengthed,
            Kind::Array(items) => Self::Array(Box::new(Self::over(items, recursive))),
            Kind::Map(values) => Self::Map(Box::new(Self::over(values, recursive))),
            Kind::Union(branches) => {
                Self::Union(branches.iter().map(|branch| Self::over(branch, recursive)).collect())
            }
            Kind::Record(record) => Self::over_record(record, recursive),
            Kind::Recursive(of) => match of.record() {
                Some(record) => Self::Recursive(recursive.index(&record)),
                None => Self::Bytes(usize::MAX),
            },
        }
    }

    fn over_record(record: &Record, recursive: &mut RecursiveSkips) -> Self {
        Self::Record(record.fields.iter().map(|field| Self::over(&field.schema, recursive)).collect())
    }

    /// The number of steps.
    pub(super) fn size(&self) -> usize {
        1 + match self {
            Self::Array(inner) | Self::Map(inner) => inner.size(),
            Self::Union(parts) | Self::Record(parts) => parts.iter().map(Self::size).sum(),
            Self::Bytes(_) | Self::Int | Self::Long | Self::Lengthed | Self::Recursive(_) => 0,
        }
    }
}

impl RecursiveSkips {
    /// Returns the index of a record, which is compiled once.
    fn index(&mut self, record: &Arc<Record>) -> usize {
        let address = Arc::as_ptr(record).addr();
        if let Some(index) = self.indexes.get(&address) {
            return *index;
        }
        let index = self.skips.len();
        self.indexes.insert(address, index);
        self.skips.push(Skip::Int);
        let skip = Skip::over_record(record, self);
        if let Some(place) = self.skips.get_mut(index) {
            *place = skip;
        }
        index
    }
}
