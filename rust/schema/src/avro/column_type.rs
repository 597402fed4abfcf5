//! The Arrow types of the columns, limited to types that Spark, pandas and polars support. An enum is a string.
//!
//! A union of several types besides null becomes a struct with a nullable field for each branch, named `member0`,
//! `member1` … in order, like the structs of Spark's `from_avro`. A union of one type is that type.
//!
//! Invariant: the type depends on the reader's schema alone.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit};

use super::logical_type::LogicalType;
use super::schema::{Kind, Schema};
use super::unsupported;
use crate::error::SchemaError;
use crate::shape::RECURSIVE;

/// The largest precision of a decimal of 128 bits.
const MAX_PRECISION_128: u8 = 38;

/// Returns the column type of a schema's values, and whether they may be null.
pub(super) fn column_type(schema: &Schema) -> Result<(DataType, bool), SchemaError> {
    if let Some(logical) = schema.logical {
        return Ok((logical_type(logical), false));
    }
    let data_type = match &schema.kind {
        Kind::Null => return Err(unsupported("a value of type null has no column type")),
        Kind::Boolean => DataType::Boolean,
        Kind::Int => DataType::Int32,
        Kind::Long => DataType::Int64,
        Kind::Float => DataType::Float32,
        Kind::Double => DataType::Float64,
        Kind::Bytes => DataType::Binary,
        Kind::String | Kind::Enum(_) => DataType::Utf8,
        Kind::Fixed(fixed) if fixed.size == 0 => {
            return Err(unsupported(format!("the fixed type {} has no bytes", fixed.name.0)));
        }
        Kind::Fixed(fixed) => DataType::FixedSizeBinary(i32::try_from(fixed.size).unwrap_or(i32::MAX)),
        Kind::Array(items) => DataType::List(Arc::new(field(Field::LIST_FIELD_DEFAULT_NAME, items)?)),
        Kind::Map(values) => {
            let entries = vec![Field::new("key", DataType::Utf8, false), field("value", values)?];
            let entries = Field::new("entries", DataType::Struct(entries.into()), false);
            DataType::Map(Arc::new(entries), false)
        }
        Kind::Record(record) if record.fields.is_empty() => {
            return Err(unsupported(format!("the record {} has no fields", record.name.0)));
        }
        Kind::Record(record) => {
            let fields = record.fields.iter().map(|of| field(&of.name, &of.schema));
            DataType::Struct(fields.collect::<Result<Fields, SchemaError>>()?)
        }
        Kind::Recursive(of) => return Err(unsupported(format!("the type {} {RECURSIVE}", of.name.0))),
        Kind::Union(branches) => {
            let is_nullable = branches.iter().any(Schema::is_null);
            let mut values = branches.iter().filter(|branch| !branch.is_null());
            let data_type = match (values.next(), values.next()) {
                (None, _) => return Err(unsupported("a value of type null has no column type")),
                (Some(only), None) => column_type(only)?.0,
                _ => DataType::Struct(members(branches)?),
            };
            return Ok((data_type, is_nullable));
        }
    };
    Ok((data_type, false))
}

fn field(name: &str, schema: &Schema) -> Result<Field, SchemaError> {
    let (data_type, is_nullable) = column_type(schema)?;
    Ok(Field::new(name, data_type, is_nullable))
}

fn members(branches: &[Schema]) -> Result<Fields, SchemaError> {
    let values = branches.iter().filter(|branch| !branch.is_null()).enumerate();
    let members = values.filter(|(_, branch)| branch.is_selected).map(|(number, branch)| {
        let (data_type, _) = column_type(branch)?;
        Ok(Field::new(member_name(number), data_type, true))
    });
    members.collect()
}

/// Returns the name of the field for a branch of a union. `number` counts the branches other than null.
pub(super) fn member_name(number: usize) -> String {
    format!("member{number}")
}

fn logical_type(logical: LogicalType) -> DataType {
    match logical {
        LogicalType::Date => DataType::Date32,
        LogicalType::TimeMillis => DataType::Time32(TimeUnit::Millisecond),
        LogicalType::TimeMicros => DataType::Time64(TimeUnit::Microsecond),
        LogicalType::Timestamp { unit, is_local: true } => DataType::Timestamp(unit, None),
        LogicalType::Timestamp { unit, is_local: false } => DataType::Timestamp(unit, Some("UTC".into())),
        LogicalType::Duration => DataType::Interval(IntervalUnit::MonthDayNano),
        LogicalType::Decimal { precision, scale } if precision <= MAX_PRECISION_128 => {
            DataType::Decimal128(precision, scale)
        }
        LogicalType::Decimal { precision, scale } => DataType::Decimal256(precision, scale),
    }
}
