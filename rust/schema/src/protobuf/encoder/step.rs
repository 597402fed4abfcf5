//! The steps that turn a value of a column into a value of a message.

use std::collections::HashMap;

use arrow_schema::TimeUnit;

use crate::protobuf::json::JsonKind;
use crate::protobuf::scalar::Encoding;
use crate::protobuf::time::TimeKind;
use crate::source::DecimalConversion;

/// The step of a message.
#[derive(Debug)]
pub(super) struct MessageStep {
    /// The fields in the order of their numbers.
    pub(super) fields: Vec<FieldStep>,
    /// The fields of each oneof, by position.
    pub(super) oneofs: Vec<Vec<usize>>,
}

/// The step of a field that the column has.
#[derive(Debug)]
pub(super) struct FieldStep {
    pub(super) name: String,
    pub(super) column: usize,
    pub(super) number: u32,
    pub(super) presence: Presence,
    pub(super) kind: FieldKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// The field must be set.
    Required,
    /// Written unless the field is null.
    Explicit,
    /// Written unless the value is the default.
    Implicit,
}

#[derive(Debug)]
pub(super) enum FieldKind {
    Single(ValueStep),
    Repeated {
        items: ValueStep,
        is_packed: bool,
    },
    /// A map, with the indexes of its key and value columns.
    Map {
        columns: (usize, usize),
        key: ValueStep,
        value: ValueStep,
    },
}

#[derive(Debug)]
pub(super) enum ValueStep {
    Bool,
    I32(Encoding),
    /// Includes unsigned 32-bit numbers.
    I64(Encoding),
    U64(Encoding, DecimalConversion),
    F32,
    F64,
    /// The numbers of an enum's values, by name.
    Enum(Box<Names>),
    Text,
    Binary,
    Message {
        is_group: bool,
        message: Box<MessageStep>,
    },
    /// A message without fields.
    Empty {
        is_group: bool,
    },
    Wrapper(Box<ValueStep>),
    Time(TimeKind, TimeUnit),
    Json(JsonKind),
    /// A column that contains only nulls.
    Null,
}

impl ValueStep {
    /// Returns whether several values may be packed into one field without tags.
    pub(super) fn is_packable(&self) -> bool {
        matches!(
            self,
            Self::Bool | Self::I32(_) | Self::I64(_) | Self::U64(..) | Self::F32 | Self::F64 | Self::Enum(_)
        )
    }
}

/// The names of an enum.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) of: String,
    pub(super) numbers: HashMap<String, i32>,
}
