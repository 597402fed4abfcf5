//! How a value of a column becomes JSON.

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
    /// A decimal with so many digits after the point.
    Decimal(DecimalConversion, u8),
    Date(Rescale),
    Timestamp {
        rescale: Rescale,
        unit: TimeUnit,
        has_offset: bool,
    },
    List(Box<WriteStep>),
    /// With the columns of the keys and the values.
    Map(usize, usize, Box<WriteStep>),
    Object(Vec<MemberStep>),
    /// The column has nothing but nulls.
    Null,
}

/// A key that the column has a value for.
#[derive(Debug)]
pub(super) struct MemberStep {
    pub(super) column: usize,
    pub(super) name: String,
    /// The key as it is written, with a colon.
    pub(super) key: Vec<u8>,
    /// Whether it is written even if it is null.
    pub(super) is_required: bool,
    pub(super) step: WriteStep,
}
