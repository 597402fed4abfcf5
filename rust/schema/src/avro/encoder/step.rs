//! How a value of a column becomes a value of a schema.

use std::collections::HashMap;
use std::sync::Arc;

use crate::source::{DecimalConversion, Rescale};

/// The step of a type.
#[derive(Debug)]
pub(super) struct WriteStep {
    /// The branch of null, if the type is a union that has one.
    pub(super) null: Option<i64>,
    /// The branch of the value, if the type is a union with one other type.
    pub(super) branch: Option<i64>,
    pub(super) kind: WriteKind,
}

#[derive(Debug)]
pub(super) enum WriteKind {
    Boolean,
    /// An int; also dates and times of day.
    Int(Rescale),
    /// A long; also times of day and timestamps.
    Long(Rescale),
    Float,
    Double,
    /// Bytes or text.
    Bytes,
    Fixed(usize),
    /// The numbers of an enum's symbols.
    Enum(Arc<str>, HashMap<Arc<str>, i64>),
    /// A decimal of as many bytes as it needs, or of so many.
    Decimal(DecimalConversion, Option<usize>),
    /// A duration, from intervals.
    Interval,
    /// A duration, from a number of the unit.
    Elapsed(Rescale),
    Array(Box<WriteStep>),
    /// A map, with the columns of its keys and values.
    Map(usize, usize, Box<WriteStep>),
    Record(Vec<FieldStep>),
    /// A union of several types, apart from null.
    Union(Vec<Member>),
}

/// A field of a record, in the schema's order.
#[derive(Debug)]
pub(super) enum FieldStep {
    Column {
        column: usize,
        name: Arc<str>,
        step: WriteStep,
    },
    /// The bytes of the default of a field that the column lacks.
    Default(Vec<u8>),
}

/// A branch of a union of several types.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) column: usize,
    pub(super) name: String,
    pub(super) branch: i64,
    pub(super) step: WriteStep,
}
