//! Encodes Avro by hand, and columns of it, for tests; decodes columns of JSON.

use arrow_array::{Array, ArrayRef, BinaryArray, StructArray, cast::AsArray};
use arrow_schema::{DataType, Field};
use ottla_schema::{
    ColumnDecoder, DecodedColumn, Header, Projection, ReaderOptions, ReaderSource, RegisteredSchema,
    SchemaError, SchemaId, SchemaType, WireFormat,
};

pub(crate) fn avro(text: &str) -> RegisteredSchema {
    RegisteredSchema::new(SchemaType::Avro, text)
}

/// Runs a test on a stack of 512 KiB; of more if the code is not optimised, since its frames are several times larger.
/// An overflow ends the process.
pub(crate) fn on_small_stack<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let size = if cfg!(debug_assertions) { 4 << 20 } else { 512 << 10 };
    std::thread::Builder::new().stack_size(size).spawn(test).unwrap().join().unwrap()
}

/// An int or a long.
pub(crate) fn long(value: i64) -> Vec<u8> {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    let mut bytes = Vec::new();
    while rest >= 0x80 {
        bytes.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
    bytes
}

/// A string or bytes.
pub(crate) fn bytes(value: &[u8]) -> Vec<u8> {
    [&long(i64::try_from(value.len()).unwrap())[..], value].concat()
}

/// A value with its schema's id before it.
pub(crate) fn with_id(id: u32, parts: &[&[u8]]) -> Vec<u8> {
    [&[0][..], &id.to_be_bytes(), &parts.concat()].concat()
}

/// A decoder for a reader's schema, with writers' schemas by id.
pub(crate) fn decoder(reader: &str, writers: &[(u32, &str)]) -> ColumnDecoder {
    let mut decoder = try_decoder(reader).unwrap();
    for (id, writer) in writers {
        decoder.add(SchemaId::Id(*id), &avro(writer));
    }
    decoder
}

pub(crate) fn try_decoder(reader: &str) -> Result<ColumnDecoder, SchemaError> {
    ColumnDecoder::new(&avro(reader), WireFormat::Confluent, Header::Value)
}

/// Decodes rows with the schema `id` 1 and no header.
pub(crate) fn decode(decoder: &mut ColumnDecoder, rows: &[Option<Vec<u8>>]) -> DecodedColumn {
    let column: BinaryArray = rows.iter().map(Option::as_deref).collect();
    let decoded = decoder.decode(&column, None).unwrap();
    assert_eq!((decoded.array.len(), decoded.array.data_type()), (rows.len(), decoder.data_type()));
    for error in &decoded.errors {
        assert!(decoded.array.is_null(error.row), "{error}");
    }
    decoded
}

/// The decoded rows as a struct, all of them good.
pub(crate) fn decode_struct(decoder: &mut ColumnDecoder, rows: &[Option<Vec<u8>>]) -> StructArray {
    let decoded = decode(decoder, rows);
    assert_eq!(decoded.errors, []);
    decoded.array.as_struct().clone()
}

/// Why the only bad row is bad.
pub(crate) fn only_error(decoded: &DecodedColumn) -> (usize, String) {
    let [error] = decoded.errors.as_slice() else { panic!("{:?}", decoded.errors) };
    (error.row, error.to_string())
}

/// A decoder of JSON for a JSON Schema, without ids.
pub(crate) fn json_decoder(schema: &str) -> ColumnDecoder {
    let schema = RegisteredSchema::new(SchemaType::Json, schema);
    ColumnDecoder::new(&schema, WireFormat::None, Header::Value).unwrap()
}

/// A decoder of JSON for a type, without ids.
pub(crate) fn json_decoder_of(data_type: DataType) -> ColumnDecoder {
    let field = Field::new("value", data_type, true);
    new_json(&field).unwrap()
}

/// A decoder of JSON for the type of a field, without ids.
pub(crate) fn new_json(field: &Field) -> Result<ColumnDecoder, SchemaError> {
    let source = ReaderSource::JsonType(field);
    ColumnDecoder::with_options(source, &ReaderOptions::default(), WireFormat::None, Header::Value)
}

/// A decoder of JSON for some fields of a type, without ids.
pub(crate) fn projected_json(field: &Field, fields: &[&str]) -> Result<ColumnDecoder, SchemaError> {
    let projection = Some(Projection::new(fields.iter().copied())?.into());
    let options = ReaderOptions { projection, ..ReaderOptions::default() };
    ColumnDecoder::with_options(ReaderSource::JsonType(field), &options, WireFormat::None, Header::Value)
}

/// A decoder for some fields of a schema.
pub(crate) fn projected(
    schema: &RegisteredSchema,
    fields: &[&str],
    wire_format: WireFormat,
) -> Result<ColumnDecoder, SchemaError> {
    let projection = Some(Projection::new(fields.iter().copied())?.into());
    let options = ReaderOptions { projection, ..ReaderOptions::default() };
    ColumnDecoder::with_options(ReaderSource::Schema(schema), &options, wire_format, Header::Value)
}

/// Decodes texts, each of which is a row.
pub(crate) fn decode_texts(decoder: &mut ColumnDecoder, rows: &[&str]) -> DecodedColumn {
    let rows: Vec<_> = rows.iter().map(|row| Some(row.as_bytes().to_vec())).collect();
    decode(decoder, &rows)
}

/// Decodes texts, all of them good.
pub(crate) fn decode_good(decoder: &mut ColumnDecoder, rows: &[&str]) -> ArrayRef {
    let decoded = decode_texts(decoder, rows);
    assert_eq!(decoded.errors, []);
    decoded.array
}

/// Why a text alone is an error.
pub(crate) fn reason(decoder: &mut ColumnDecoder, row: &str) -> String {
    only_error(&decode_texts(decoder, &[row])).1
}
