//! The steps that turn a value of a column into a value of a schema.

use std::collections::HashMap;
use std::sync::Arc;

use crate::source::{DecimalConversion, Rescale};

/// The step of a type.
#[derive(Debug)]
pub(in crate::avro) struct WriteStep {
    /// The index of the null branch, if the type is a union that has one.
    pub(super) null: Option<i64>,
    /// The index of the value's branch, if the type is a union of one type and null.
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
    /// The indexes of an enum's symbols.
    Enum(Arc<str>, HashMap<Arc<str>, i64>),
    /// A decimal, as few bytes as it needs or a fixed number of bytes.
    Decimal(DecimalConversion, Option<usize>),
    /// An Avro duration from an Arrow interval.
    Interval,
    /// An Avro duration from an Arrow duration.
    Elapsed(Rescale),
    Array(Box<WriteStep>),
    /// A map, with the indexes of its key and value columns.
    Map(usize, usize, Box<WriteStep>),
    Record(Vec<FieldStep>),
    /// A union of several types besides null.
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
