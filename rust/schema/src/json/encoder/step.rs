//! The steps that turn a value of a column into JSON.

use arrow_schema::TimeUnit;

use crate::source::{DecimalConversion, Rescale};

/// The step of a type.
#[derive(Debug)]
pub(super) struct WriteStep {
    pub(super) is_nullable: bool,
    pub(super) kind: WriteKind,
}

#[derive(Debug)]
pub(super) enum WriteKind {
    /// The JSON text of any value.
    Text,
    String,
    Boolean,
    /// An integer from a minimum to a maximum.
    Integer(i128, i128),
    Double,
    Float,
    /// A decimal with this many digits after the point.
    Decimal(DecimalConversion, u8),
    Date(Rescale),
    Timestamp {
        rescale: Rescale,
        unit: TimeUnit,
        has_offset: bool,
    },
    List(Box<WriteStep>),
    /// A map, with the indexes of its key and value columns.
    Map(usize, usize, Box<WriteStep>),
    Object(Vec<MemberStep>),
    /// A column that contains only nulls.
    Null,
}

/// A key for which the column has values.
#[derive(Debug)]
pub(super) struct MemberStep {
    pub(super) column: usize,
    pub(super) name: String,
    /// The encoded key, with a colon.
    pub(super) key: Vec<u8>,
    /// Whether it is written even if it is null.
    pub(super) is_required: bool,
    pub(super) step: WriteStep,
}
