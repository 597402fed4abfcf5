//! Compiles a schema and the type of a column to steps.
//!
//! Invariants: a pair of types that could only be converted by a guess is refused, and so is a field of the column
//! that the schema lacks, since it would be lost. The recursion is as deep as the schema.

use std::sync::Arc;

use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use super::step::{FieldStep, Member, WriteKind, WriteStep};
use crate::avro::column_type::{column_type, member_name};
use crate::avro::default_value::encode_field;
use crate::avro::logical_type::LogicalType;
use crate::avro::schema::{Enum, Kind, Record, Schema};
use crate::row_failure::RowFailure;
use crate::source::{
    DecimalConversion, Rescale, check_fields, entries, is_binary, is_text, list_items, struct_field,
    value_type,
};

/// Compiles a schema for a column, within the limits on defaults.
pub(in crate::avro) fn compile(
    schema: &Schema,
    max_default: usize,
    data_type: &DataType,
) -> Result<WriteStep, RowFailure> {
    let Kind::Union(branches) = &schema.kind else {
        return Ok(WriteStep { null: None, branch: None, kind: kind(schema, max_default, data_type)? });
    };
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let null = branches.iter().position(Schema::is_null).map(number);
    let mut values = branches.iter().enumerate().filter(|(_, branch)| !branch.is_null());
    match (values.next(), values.next()) {
        (Some((branch, only)), None) => {
            Ok(WriteStep { null, branch: Some(number(branch)), kind: kind(only, max_default, data_type)? })
        }
        _ => Ok(WriteStep { null, branch: None, kind: union(schema, branches, max_default, data_type)? }),
    }
}

fn kind(schema: &Schema, max_default: usize, data_type: &DataType) -> Result<WriteKind, RowFailure> {
    let source = value_type(data_type);
    let kind = match schema.logical {
        Some(logical) => logical_kind(schema, logical, source),
        None => plain_kind(schema, max_default, source)?,
    };
    match kind {
        Some(kind) => Ok(kind),
        // All values are null, which is an error for each row unless the type has a null branch.
        None if *source == DataType::Null => Ok(WriteKind::Boolean),
        None => Err(mismatch(schema, data_type)),
    }
}

fn mismatch(schema: &Schema, found: &DataType) -> RowFailure {
    match column_type(schema) {
        Ok((expected, _)) => RowFailure::type_mismatch(found, &expected),
        Err(error) => RowFailure::new(error.to_string()),
    }
}

fn plain_kind(
    schema: &Schema,
    max_default: usize,
    source: &DataType,
) -> Result<Option<WriteKind>, RowFailure> {
    let is_number = source.is_integer() || matches!(source, DataType::Float16 | DataType::Float32);
    Ok(match &schema.kind {
        Kind::Null | Kind::Union(_) | Kind::Recursive(_) => None,
        Kind::Boolean => (*source == DataType::Boolean).then_some(WriteKind::Boolean),
        Kind::Int => source.is_integer().then_some(WriteKind::Int(Rescale::Same)),
        Kind::Long => source.is_integer().then_some(WriteKind::Long(Rescale::Same)),
        Kind::Float => is_number.then_some(WriteKind::Float),
        Kind::Double => (is_number || *source == DataType::Float64).then_some(WriteKind::Double),
        Kind::Bytes => is_binary(source).then_some(WriteKind::Bytes),
        Kind::String => is_text(source).then_some(WriteKind::Bytes),
        Kind::Fixed(fixed) => match source {
            DataType::FixedSizeBinary(size) if usize::try_from(*size) != Ok(fixed.size) => None,
            source => is_binary(source).then_some(WriteKind::Fixed(fixed.size)),
        },
        Kind::Enum(of) => is_text(source).then(|| symbols(of)),
        Kind::Array(items) => match list_items(source) {
            Some(field) => {
                let items = compile(items, max_default, field.data_type()).map_err(RowFailure::in_items)?;
                Some(WriteKind::Array(Box::new(items)))
            }
            None => None,
        },
        Kind::Map(values) => match entries(source).filter(|entries| is_text(value_type(entries.key.1))) {
            Some(entries) => {
                let (key, (value, value_type)) = (entries.key.0, entries.value);
                let values = compile(values, max_default, value_type).map_err(RowFailure::in_items)?;
                Some(WriteKind::Map(key, value, Box::new(values)))
            }
            None => None,
        },
        Kind::Record(record) => match source {
            DataType::Struct(fields) => Some(record_kind(record, max_default, fields)?),
            _ => None,
        },
    })
}

fn logical_kind(schema: &Schema, logical: LogicalType, source: &DataType) -> Option<WriteKind> {
    match logical {
        LogicalType::Date => Rescale::to_days(source).map(WriteKind::Int),
        LogicalType::TimeMillis => Rescale::of_time(source, TimeUnit::Millisecond).map(WriteKind::Int),
        LogicalType::TimeMicros => Rescale::of_time(source, TimeUnit::Microsecond).map(WriteKind::Long),
        LogicalType::Timestamp { unit, is_local } => {
            Rescale::of_timestamp(source, unit, !is_local).map(WriteKind::Long)
        }
        LogicalType::Duration => match source {
            DataType::Interval(
                IntervalUnit::YearMonth | IntervalUnit::DayTime | IntervalUnit::MonthDayNano,
            ) => Some(WriteKind::Interval),
            DataType::Duration(unit) => {
                Some(WriteKind::Elapsed(Rescale::between(*unit, TimeUnit::Millisecond)))
            }
            _ => None,
        },
        LogicalType::Decimal { precision, scale } => {
            let size = match &schema.kind {
                Kind::Fixed(fixed) => Some(fixed.size),
                _ => None,
            };
            let conversion = DecimalConversion::new(source, precision, scale)?;
            Some(WriteKind::Decimal(conversion, size))
        }
    }
}

fn symbols(of: &Enum) -> WriteKind {
    let numbers = of.symbols.iter().cloned().zip(0..).collect();
    WriteKind::Enum(Arc::clone(&of.name.0), numbers)
}

fn record_kind(
    record: &Record,
    max_default: usize,
    fields: &arrow_schema::Fields,
) -> Result<WriteKind, RowFailure> {
    check_fields(fields, &format!("the record {}", record.name.0), |name| record.by_name.contains_key(name))?;
    let steps = record.fields.iter().map(|field| {
        let name = &field.name;
        match (struct_field(fields, name), &field.default) {
            (Some((column, data_type)), _) => {
                let step = compile(&field.schema, max_default, data_type)
                    .map_err(|failure| failure.in_field(name))?;
                Ok(FieldStep::Column { column, name: Arc::clone(name), step })
            }
            (None, Some(_)) => {
                let bytes = encode_field(&record.name.0, field, max_default);
                Ok(FieldStep::Default(bytes.map_err(|error| RowFailure::new(error.to_string()))?))
            }
            (None, None) => Err(RowFailure::new("the column lacks it, and it has no default").in_field(name)),
        }
    });
    Ok(WriteKind::Record(steps.collect::<Result<_, _>>()?))
}

fn union(
    schema: &Schema,
    branches: &[Schema],
    max_default: usize,
    data_type: &DataType,
) -> Result<WriteKind, RowFailure> {
    let source = value_type(data_type);
    let DataType::Struct(fields) = source else {
        return match source {
            DataType::Null => Ok(WriteKind::Union(Vec::new())),
            _ => Err(mismatch(schema, data_type)),
        };
    };
    let mut members = Vec::new();
    let values = branches.iter().zip(0..).filter(|(branch, _)| !branch.is_null());
    for (at, (branch, number)) in values.enumerate() {
        let name = member_name(at);
        // A member that the column lacks is never the value.
        let Some((column, data_type)) = struct_field(fields, &name) else { continue };
        let step = compile(branch, max_default, data_type).map_err(|failure| failure.in_field(&name))?;
        members.push(Member { column, name, branch: number, step });
    }
    check_fields(fields, "the union", |name| members.iter().any(|member| member.name == name))?;
    Ok(WriteKind::Union(members))
}
