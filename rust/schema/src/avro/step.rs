//! The steps that turn a value of a writer's schema into a value of the reader's.
//!
//! Invariant: a step appends exactly one value to its column, or fails. After a failure the columns are dropped.

use std::sync::Arc;

use super::fault::Fault;
use super::skip_step::Skip;

/// A step for a type of the writer's schema. The value that it appends also depends on its column.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// The types do not match.
    Mismatch(Arc<str>),
    /// The types do not match, but the mismatch does not affect the choice of a union's branch.
    Unreadable(Arc<str>),
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    /// Bytes or text.
    Bytes,
    Fixed(usize),
    Enum(Arc<Vec<Option<Arc<str>>>>),
    Array(Arc<Self>),
    Map(Arc<Self>),
    Record(Arc<RecordStep>),
    /// A record within itself: the index of its step.
    Recursive(usize),
    /// The writer's union: a step for each branch.
    Union(Arc<Vec<Self>>),
    /// A value of a branch of the reader's union of several types.
    Member(usize, Arc<Self>),
    /// A value of a branch that is not selected: all members of the column are null.
    NoMember(Arc<Skip>),
}

#[derive(Debug)]
pub(super) struct RecordStep {
    /// In the writer's order.
    pub(super) fields: Vec<FieldStep>,
    /// The reader's fields that the writer does not have, by index.
    pub(super) defaults: Vec<(usize, Default)>,
}

#[derive(Debug)]
pub(super) enum FieldStep {
    /// A field, with its index in the reader's record.
    Read(usize, Step),
    Skip(Skip),
}

/// A default, encoded with the reader's schema.
#[derive(Debug)]
pub(super) struct Default {
    pub(super) bytes: Vec<u8>,
    pub(super) step: Step,
}

impl Step {
    /// Returns the reason why no value can be read at all, if there is one.
    pub(super) fn mismatch(&self) -> Option<&Arc<str>> {
        match self {
            Self::Mismatch(reason) | Self::Unreadable(reason) => Some(reason),
            Self::Member(_, step) => step.mismatch(),
            Self::Record(record) => record.fields.iter().find_map(|field| match field {
                FieldStep::Read(_, step) => step.mismatch(),
                FieldStep::Skip(_) => None,
            }),
            Self::Union(branches) => {
                let first = branches.first()?.mismatch()?;
                branches.iter().all(|branch| branch.mismatch().is_some()).then_some(first)
            }
            _ => None,
        }
    }

    /// Adds the field's name to the message of a mismatch.
    pub(super) fn in_field(self, record: &str, field: &str) -> Self {
        match self {
            Self::Mismatch(reason) => Self::Mismatch(format!("{record}.{field}: {reason}").into()),
            Self::Unreadable(reason) => Self::Unreadable(format!("{record}.{field}: {reason}").into()),
            other => other,
        }
    }

    /// Returns the fault of a step that always fails.
    pub(super) fn fault(reason: &Arc<str>) -> Fault {
        Fault::Mismatch(Arc::clone(reason))
    }
}
