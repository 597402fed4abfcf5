//! The reasons why a payload cannot be decoded.

use std::fmt;
use std::sync::Arc;

use crate::budget::ROW_EXCEEDED;

#[derive(Debug)]
pub(super) enum Fault {
    /// The payload ends within the value.
    End,
    /// Bytes are left after the value.
    Rest,
    /// Bytes are left after the schema id in the header.
    HeaderRest,
    NumberRange,
    Length,
    Boolean(u8),
    Text,
    Symbol(i32),
    Branch(i64),
    EmptyDecimal,
    Decimal,
    Duration,
    /// A number that is not a time of day, with its unit.
    TimeOfDay(i64, &'static str),
    /// Records within themselves are nested too deep.
    Nested,
    /// The schemas do not match here.
    Mismatch(Arc<str>),
    /// The row takes too many bytes.
    Budget,
    /// The rows do not fit into one array.
    Full,
    /// A step does not match its column.
    Internal,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("it ends within the value"),
            Self::Rest => f.write_str("bytes are left after the value"),
            Self::HeaderRest => f.write_str("bytes are left after the schema id in the header"),
            Self::NumberRange => f.write_str("a number has more bits than its type"),
            Self::Length => f.write_str("a length is negative"),
            Self::Boolean(byte) => write!(f, "a boolean is neither 0 nor 1, but {byte}"),
            Self::Text => f.write_str("a text is not UTF-8"),
            Self::Symbol(number) => write!(f, "the enum has no symbol number {number}"),
            Self::Branch(number) => write!(f, "the union has no branch number {number}"),
            Self::EmptyDecimal => f.write_str("a decimal has no bytes"),
            Self::Decimal => f.write_str("a decimal has more digits than its precision"),
            Self::Duration => f.write_str("a duration is longer than Arrow's"),
            Self::TimeOfDay(number, unit) => write!(f, "{number} {unit} after midnight is not a time of day"),
            Self::Nested => f.write_str("its values are nested too deep"),
            Self::Mismatch(reason) => f.write_str(reason),
            Self::Budget => f.write_str(ROW_EXCEEDED),
            Self::Full => f.write_str("the values do not fit into one array"),
            Self::Internal => f.write_str("the decoder does not match its column"),
        }
    }
}
