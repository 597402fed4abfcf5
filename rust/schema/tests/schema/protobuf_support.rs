//! Encodes Protobuf by hand, and writes decoded rows as text, for tests.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use ottla_schema::{
    ColumnDecoder, DecodedColumn, Header, ReaderOptions, ReaderSource, RegisteredSchema, SchemaError,
    SchemaId, SchemaReference, SchemaType, WireFormat,
};

use crate::support::decode;

pub(crate) fn proto(text: &str) -> RegisteredSchema {
    RegisteredSchema::new(SchemaType::Protobuf, text)
}

/// A schema of proto3.
pub(crate) fn proto3(text: &str) -> String {
    format!("syntax = \"proto3\";\n{text}")
}

/// A schema with files that it imports.
pub(crate) fn with_imports(text: &str, imports: &[(&str, &RegisteredSchema)]) -> RegisteredSchema {
    let mut schema = proto(text);
    for (name, import) in imports {
        schema.references.push(SchemaReference { name: (*name).into(), schema: (*import).clone().into() });
    }
    schema
}

pub(crate) fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn tag(number: u32, wire: u32) -> Vec<u8> {
    varint(u64::from(number << 3 | wire))
}

/// A field that is a varint.
pub(crate) fn int(number: u32, value: i64) -> Vec<u8> {
    [tag(number, 0), varint(value.cast_unsigned())].concat()
}

pub(crate) fn fixed64(number: u32, value: [u8; 8]) -> Vec<u8> {
    [&tag(number, 1)[..], &value].concat()
}

pub(crate) fn fixed32(number: u32, value: [u8; 4]) -> Vec<u8> {
    [&tag(number, 5)[..], &value].concat()
}

/// A field of bytes, a text or a message.
pub(crate) fn len(number: u32, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    [&tag(number, 2)[..], &varint(value.len() as u64), value].concat()
}

pub(crate) fn group(number: u32, content: &[u8]) -> Vec<u8> {
    [&tag(number, 3)[..], content, &tag(number, 4)].concat()
}

/// A decoder of rows without an id.
pub(crate) fn plain(schema: &str) -> ColumnDecoder {
    try_plain(schema).unwrap()
}

pub(crate) fn try_plain(schema: &str) -> Result<ColumnDecoder, SchemaError> {
    ColumnDecoder::new(&proto(schema), WireFormat::None, Header::Value)
}

/// A decoder of a message, by its full name.
pub(crate) fn of_message(
    schema: &RegisteredSchema,
    message: &str,
    wire_format: WireFormat,
) -> Result<ColumnDecoder, SchemaError> {
    let options = ReaderOptions { message: Some(message.into()), ..ReaderOptions::default() };
    ColumnDecoder::with_options(ReaderSource::Schema(schema), &options, wire_format, Header::Value)
}

/// A decoder with writers' schemas by id.
pub(crate) fn registered(reader: &str, writers: &[(u32, &str)]) -> ColumnDecoder {
    let mut decoder = ColumnDecoder::new(&proto(reader), WireFormat::Confluent, Header::Value).unwrap();
    for (id, writer) in writers {
        decoder.add(SchemaId::Id(*id), &proto(writer));
    }
    decoder
}

/// The rows as texts.
pub(crate) fn rows(decoded: &DecodedColumn) -> Vec<String> {
    (0..decoded.array.len()).map(|row| render(&decoded.array, row)).collect()
}

/// Decodes one good row.
pub(crate) fn row(decoder: &mut ColumnDecoder, parts: &[Vec<u8>]) -> String {
    let decoded = decode(decoder, &[Some(parts.concat())]);
    assert_eq!(decoded.errors, []);
    rows(&decoded).remove(0)
}

/// Why one row is bad.
pub(crate) fn failure(decoder: &mut ColumnDecoder, parts: &[Vec<u8>]) -> String {
    let decoded = decode(decoder, &[Some(parts.concat())]);
    crate::support::only_error(&decoded).1
}

/// A value as text.
pub(crate) fn render(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return "null".to_owned();
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Decimal128(20, 0) => array.as_primitive::<Decimal128Type>().value(row).to_string(),
        DataType::Float32 => format!("{:?}", array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => format!("{:?}", array.as_primitive::<Float64Type>().value(row)),
        DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) if &**zone == "UTC" => {
            format!("{}us", array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            format!("{}us", array.as_primitive::<DurationMicrosecondType>().value(row))
        }
        DataType::Utf8 => format!("{:?}", array.as_string::<i32>().value(row)),
        DataType::Binary => format!("{:?}", array.as_binary::<i32>().value(row)),
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            let items: Vec<_> = (0..items.len()).map(|item| render(&items, item)).collect();
            format!("[{}]", items.join(", "))
        }
        DataType::Map(_, _) => {
            let entries = array.as_map().value(row);
            let entry = |at| format!("{}: {}", render(entries.column(0), at), render(entries.column(1), at));
            let mut entries: Vec<_> = (0..entries.len()).map(entry).collect();
            entries.sort();
            format!("{{{}}}", entries.join(", "))
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let values = columns.map(|(field, column)| format!("{}={}", field.name(), render(column, row)));
            format!("({})", values.collect::<Vec<_>>().join(" "))
        }
        other => panic!("{other} is no type of a column"),
    }
}
