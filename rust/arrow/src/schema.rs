//! The columns of decoded records, with the names and types of Spark's Kafka source.
//!
//! Invariant: every field is nullable, and none has a large, view or dictionary type.

use std::str::FromStr;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};

/// The time zone of the timestamp column.
pub(crate) const UTC: &str = "UTC";

/// A column of decoded records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Column {
    /// `key: binary`.
    Key,
    /// `value: binary`.
    Value,
    /// `topic: string`.
    Topic,
    /// `partition: int32`.
    Partition,
    /// `offset: int64`.
    Offset,
    /// `timestamp: timestamp[us, UTC]`. A record without a timestamp has -1 ms, as in Spark. A
    /// timestamp that the type does not hold, after the year 294,246, is null.
    Timestamp,
    /// `timestampType: int32`: 0 for CreateTime, 1 for LogAppendTime, -1 for none.
    TimestampType,
    /// `headers: list<struct<key: string, value: binary>>`, null if there are none, as in Spark.
    /// Bytes of a key that are not UTF-8 become U+FFFD, as in Java.
    Headers,
}

impl Column {
    /// All columns, in the order of Spark's schema.
    pub const ALL: [Self; 8] = [
        Self::Key,
        Self::Value,
        Self::Topic,
        Self::Partition,
        Self::Offset,
        Self::Timestamp,
        Self::TimestampType,
        Self::Headers,
    ];

    /// The column's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Value => "value",
            Self::Topic => "topic",
            Self::Partition => "partition",
            Self::Offset => "offset",
            Self::Timestamp => "timestamp",
            Self::TimestampType => "timestampType",
            Self::Headers => "headers",
        }
    }

    /// The column's type.
    #[must_use]
    pub fn data_type(self) -> DataType {
        match self {
            Self::Key | Self::Value => DataType::Binary,
            Self::Topic => DataType::Utf8,
            Self::Partition | Self::TimestampType => DataType::Int32,
            Self::Offset => DataType::Int64,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
            Self::Headers => DataType::List(header_field()),
        }
    }

    /// The column as a field.
    #[must_use]
    pub fn field(self) -> FieldRef {
        Arc::new(Field::new(self.name(), self.data_type(), true))
    }

    /// The schema of these columns, in this order.
    #[must_use]
    pub fn schema(columns: &[Self]) -> SchemaRef {
        Arc::new(Schema::new(columns.iter().map(|column| column.field()).collect::<Fields>()))
    }
}

impl FromStr for Column {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|column| column.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("unknown column {name:?}: expected one of {names}")
        })
    }
}

/// The element of the headers' list, with Spark's name.
pub(crate) fn header_field() -> FieldRef {
    Arc::new(Field::new("element", DataType::Struct(header_fields()), true))
}

pub(crate) fn header_fields() -> Fields {
    Fields::from(vec![Field::new("key", DataType::Utf8, true), Field::new("value", DataType::Binary, true)])
}
