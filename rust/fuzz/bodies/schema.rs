//! Payloads of a schema registry, decoded to columns and encoded again: any bytes as the rows of a fixed schema, and
//! any text as a schema.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use ottla_schema::{
    ColumnDecoder, ColumnEncoder, Header, Projection, ReaderOptions, ReaderSource, RegisteredSchema,
    SchemaId, SchemaType, WireFormat,
};

/// A schema with columns of many kinds.
pub const AVRO: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "id", "type": "long"},
    {"name": "u", "type": ["null", "int", "string", {"type": "array", "items": "double"}]},
    {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
    {"name": "m", "type": {"type": "map", "values": {"type": "fixed", "name": "F", "size": 3}}},
    {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 3}},
    {"name": "s", "type": ["null", "string"]}]}"#;

/// As [`AVRO`].
pub const PROTOBUF: &str = r#"syntax = "proto2";
    import "google/protobuf/struct.proto"; import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";
    message M { optional int32 a = 1; optional string b = 2; repeated I c = 3; map<string, I> d = 4;
      oneof o { I e = 5; sint64 f = 6; } optional google.protobuf.Struct g = 7; optional fixed64 h = 8;
      optional google.protobuf.Timestamp i = 9; optional google.protobuf.StringValue j = 10;
      repeated uint64 k = 11; optional group L = 12 { optional float x = 1; repeated E y = 2; }
      optional E m = 13; map<int32, sint32> n = 14; }
    message I { optional bool x = 1; repeated bytes y = 2; oneof p { fixed32 z = 3; double w = 4; } }
    enum E { A = 0; B = 1; }"#;

/// As [`AVRO`].
pub const JSON: &str = r#"{"type": "object", "required": ["i", "q"], "properties": {
    "i": {"type": "integer"}, "n": {"type": ["number", "null"]}, "s": {"type": "string"}, "b": {"type": "boolean"},
    "l": {"items": {"items": {"type": ["integer", "null"]}}}, "m": {"additionalProperties": {"type": "number"}},
    "o": {"properties": {"x": {"type": "string"}, "y\"": {"type": "integer"}}, "required": ["x"]},
    "q": {"type": ["string", "null"]}, "t": {}, "u": {"type": ["integer", "string"]}}}"#;

/// Decodes Avro. The first byte says what the others are: rows of lengths that they begin with, or a schema.
pub fn schema_avro(data: &[u8]) {
    check(data, SchemaType::Avro, AVRO);
}

/// Decodes Protobuf, as [`schema_avro`] does it.
pub fn schema_protobuf(data: &[u8]) {
    check(data, SchemaType::Protobuf, PROTOBUF);
}

/// Decodes JSON, as [`schema_avro`] does it.
pub fn schema_json(data: &[u8]) {
    check(data, SchemaType::Json, JSON);
}

fn check(data: &[u8], schema_type: SchemaType, schema: &str) {
    let [kind, data @ ..] = data else { return };
    match kind % 4 {
        0 => rows(data, &RegisteredSchema::new(schema_type, schema), WireFormat::None),
        1 => rows(data, &RegisteredSchema::new(schema_type, schema), WireFormat::Confluent),
        // A schema up to a zero byte, and rows of it.
        _ => {
            let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
            let (text, data) = data.split_at(end);
            let Ok(text) = std::str::from_utf8(text) else { return };
            rows(data, &RegisteredSchema::new(schema_type, text), WireFormat::None);
        }
    }
}

/// Decodes rows, whole and some fields of them.
fn rows(mut data: &[u8], schema: &RegisteredSchema, wire_format: WireFormat) {
    let Ok(mut decoder) = ColumnDecoder::new(schema, wire_format, Header::Value) else { return };
    let mut rows = Vec::new();
    while let [length, rest @ ..] = data {
        let (row, rest) = rest.split_at(rest.len().min(usize::from(*length)));
        rows.push(row);
        data = rest;
    }
    let decoded = check_rows(&mut decoder, &rows, schema);
    encode(&decoded, schema);
    let whole = decoder.decode(&BinaryArray::from_iter_values([b""]), None).expect("one row fits").array;
    let names = whole.as_struct_opt().map(|whole| whole.column_names()).unwrap_or_default();
    for name in [names.first(), names.get(names.len() / 2)].into_iter().flatten() {
        let name = format!("`{}`", name.replace('`', "``"));
        let projection = Projection::new([&*name]).expect("a quoted name");
        let options = ReaderOptions { projection: Some(projection.into()), ..ReaderOptions::default() };
        let source = ReaderSource::Schema(schema);
        let decoder = ColumnDecoder::with_options(source, &options, wire_format, Header::Value);
        check_rows(&mut decoder.expect("a part of a usable schema"), &rows, schema);
    }
}

/// Decodes rows together and each alone, which gives the same. Only the first ones are decoded if a schema multiplies
/// their bytes.
fn check_rows(decoder: &mut ColumnDecoder, rows: &[&[u8]], schema: &RegisteredSchema) -> ArrayRef {
    let column = BinaryArray::from_iter_values(rows);
    for id in decoder.missing(&column, None) {
        match id {
            SchemaId::Id(1..4) => decoder.add(id, schema),
            _ => decoder.add_failure(id, "unknown"),
        }
    }
    let decoded = decoder.decode(&column, None).expect("a few rows fit into an array");
    assert_eq!(decoded.array.data_type(), decoder.data_type());
    assert!(decoded.array.len() <= rows.len() && decoded.array.is_empty() == rows.is_empty());
    decoded.array.to_data().validate_full().expect("a valid array");
    let mut errors = decoded.errors.iter().peekable();
    for (row, bytes) in rows.iter().take(decoded.array.len()).enumerate() {
        let error = errors.next_if(|error| error.row == row);
        assert!(error.is_none() || decoded.array.is_null(row), "row {row} is bad, but not null");
        let alone = decoder.decode(&BinaryArray::from_iter_values([bytes]), None).expect("one row fits");
        let reason = alone.errors.first().map(|error| &error.reason);
        assert_eq!(reason, error.map(|error| &error.reason));
        assert!(alone.array.to_data() == decoded.array.slice(row, 1).to_data(), "row {row} differs alone");
    }
    assert!(errors.next().is_none(), "an error of no row");
    decoded.array
}

/// Encodes what was decoded, which is decoded to the same.
fn encode(array: &ArrayRef, schema: &RegisteredSchema) {
    let encoder = ColumnEncoder::new(schema, array.data_type()).expect("the type is that of the schema");
    let encoded = encoder.encode(array, &[]).expect("a few rows fit into an array");
    assert_eq!(encoded.errors, []);
    let decoder = ColumnDecoder::new(schema, WireFormat::None, Header::Value);
    let decoded = decoder.map(|mut decoder| decoder.decode(&encoded.payloads, None));
    let decoded = decoded.expect("the schema is good").expect("a few rows fit into an array");
    assert_eq!(decoded.errors, []);
    assert!(decoded.array.to_data() == array.to_data(), "{array:?} became {:?}", decoded.array);
}
