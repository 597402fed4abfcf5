//! Proves: a malformed row is an error of its own, which says what is wrong and where.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::DataType;
use ottla_schema::{ColumnDecoder, Header, RegisteredSchema, SchemaType, WireFormat};

use crate::support::*;

const SCHEMA: &str = r#"{"type": "object", "properties": {
    "id": {"type": "integer"}, "name": {"type": "string"}, "price": {"type": "number"}, "paid": {"type": "boolean"},
    "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
    "map": {"type": "object", "additionalProperties": {"type": "string"}},
    "any": {}}, "required": ["id"]}"#;

#[test]
fn each_malformed_row_says_what_is_wrong() {
    let mut decoder = json_decoder(SCHEMA);
    for (row, expected) in [
        // Not exactly one value.
        ("", "it ends where an object was expected"),
        ("  \n", "it ends where an object was expected"),
        (r#"{"id": 1} {"id": 2}"#, "bytes are left after the value, from byte 10 on"),
        (r#"{"id": 1},"#, "bytes are left after the value, from byte 9 on"),
        (r#"{"id": 1}x"#, "bytes are left after the value, from byte 9 on"),
        ("\u{feff}{\"id\": 1}", "expected an object, found '\\u{feff}' at byte 0"),
        // Wrong types.
        ("null", "it is null, which its type does not allow"),
        ("[]", "expected an object, found an array at byte 0"),
        ("7", "expected an object, found a number at byte 0"),
        (r#"{"id": "1"}"#, "$.id: expected an integer, found a string at byte 7"),
        (r#"{"id": true}"#, "$.id: expected an integer, found a boolean at byte 7"),
        (r#"{"id": 1.5}"#, "$.id: expected an integer, found 1.5"),
        (r#"{"id": {}}"#, "$.id: expected an integer, found an object at byte 7"),
        (r#"{"id": 1, "name": 7}"#, "$.name: expected a string, found a number at byte 18"),
        (r#"{"id": 1, "price": "7"}"#, "$.price: expected a number, found a string at byte 19"),
        (r#"{"id": 1, "paid": 0}"#, "$.paid: expected a boolean, found a number at byte 18"),
        (r#"{"id": 1, "paid": "true"}"#, "$.paid: expected a boolean, found a string at byte 18"),
        (r#"{"id": 1, "list": {"x": 1}}"#, "$.list: expected an array, found an object at byte 18"),
        (r#"{"id": 1, "map": []}"#, "$.map: expected an object, found an array at byte 17"),
        (
            r#"{"id": 1, "map": {"a": "b", "c": 1}}"#,
            "$.map[\"c\"]: expected a string, found a number at byte 33",
        ),
        // Missing, null and repeated keys.
        ("{}", "$.id: it is missing"),
        (r#"{"name": "x"}"#, "$.id: it is missing"),
        (r#"{"id": null}"#, "$.id: it is null, which its type does not allow"),
        (r#"{"id": 1, "list": [{"x": 1}, {}]}"#, "$.list[1].x: it is missing"),
        (r#"{"id": 1, "list": [{"x": 1}, null]}"#, "$.list[1]: it is null, which its type does not allow"),
        (r#"{"id": 1, "id": 1}"#, "$.id: the key occurs twice"),
        (r#"{"id": 1, "i\u0064": 1}"#, "$.id: the key occurs twice"),
        (r#"{"id": 1, "map": {"a": "b", "\u0061": "c"}}"#, "$.map[\"a\"]: the key occurs twice"),
        // Numbers.
        (r#"{"id": 9223372036854775808}"#, "$.id: 9223372036854775808 is beyond the range of its type"),
        (r#"{"id": 1e400}"#, "$.id: 1e400 is beyond the range of integers"),
        (r#"{"id": 1, "price": 1e400}"#, "$.price: 1e400 is beyond the range of doubles"),
        (r#"{"id": 1, "price": NaN}"#, "$.price: expected a number, found 'N' at byte 19"),
        (r#"{"id": 1, "price": -Infinity}"#, "$.price: expected a digit, found 'I' at byte 20"),
        (r#"{"id": 01}"#, "$.id: a number has leading zeros at byte 7"),
        (r#"{"id": +1}"#, "$.id: expected an integer, found '+' at byte 7"),
        (r#"{"id": 1, "price": .5}"#, "$.price: expected a number, found '.' at byte 19"),
        (r#"{"id": 1, "price": 1.}"#, "$.price: expected a digit, found '}' at byte 21"),
        (r#"{"id": 1, "price": 1e}"#, "$.price: expected a digit, found '}' at byte 21"),
        (r#"{"id": 1, "price": 0x10}"#, "expected ',' or '}', found 'x' at byte 20"),
        (r#"{"id": 1, "price": 1_0}"#, "expected ',' or '}', found '_' at byte 20"),
        // What arrow-json's own parser lets pass.
        (r#"{"id": 1 "name": "x"}"#, "expected ',' or '}', found a string at byte 9"),
        (r#"{"id": 1,,"name": "x"}"#, "expected a key, found ',' at byte 9"),
        (r#"{"id": 1,}"#, "expected a key, found '}' at byte 9"),
        (r#"{,"id": 1}"#, "expected a key, found ',' at byte 1"),
        (r#"{"id": 1, "any": [1 2]}"#, "$.any: expected ',' or ']', found a number at byte 20"),
        (r#"{"id": 1, "unknown": [1,]}"#, "expected a value, found ']' at byte 24"),
        (r#"{"id": 1, "unknown": 1-2}"#, "expected ',' or '}', found a number at byte 22"),
        (r#"{"id": 1, "unknown": nul}"#, "expected null, found 'n' at byte 21"),
        (r#"{"id": 1, "unknown": {1: 2}}"#, "expected a key, found a number at byte 22"),
        (r#"{'id': 1}"#, "expected a key, found '\\'' at byte 1"),
        (r#"{"id" 1}"#, "expected ':', found a number at byte 6"),
        // Strings.
        ("{\"id\": 1, \"name\": \"a\nb\"}", "$.name: a control character in a string at byte 20"),
        (r#"{"id": 1, "name": "\x"}"#, "$.name: an invalid escape at byte 19"),
        (r#"{"id": 1, "name": "\u12g4"}"#, "$.name: an invalid escape at byte 19"),
        (r#"{"id": 1, "name": "\ud800"}"#, "$.name: half of a surrogate pair at byte 19"),
        (r#"{"id": 1, "name": "\udc00\ud800"}"#, "$.name: half of a surrogate pair at byte 19"),
        (r#"{"id": 1, "name": "\ud800\u0041"}"#, "$.name: half of a surrogate pair at byte 19"),
        (r#"{"id": 1, "unknown": "\ud800"}"#, "half of a surrogate pair at byte 22"),
        (r#"{"id": 1, "name": "abc"#, "$.name: it ends within a string"),
        (r#"{"id": 1, "name": "abc\"#, "$.name: it ends within a string"),
    ] {
        assert_eq!(reason(&mut decoder, row), expected, "{row}");
    }
    let not_utf8 = decode(&mut decoder, &[Some(b"{\"id\": 1, \"name\": \"\xff\"}".to_vec())]);
    assert_eq!(only_error(&not_utf8).1, "it is not UTF-8 from byte 19 on");
    let given = |data_type, row| reason(&mut json_decoder_of(data_type), row);
    assert_eq!(given(DataType::Int8, "128"), "128 is beyond the range of its type");
    assert_eq!(given(DataType::UInt8, "-1"), "-1 is beyond the range of its type");
    assert_eq!(given(DataType::Float32, "3.5e38"), "3.5e38 is beyond the range of floats");
    assert_eq!(
        given(DataType::Decimal128(4, 2), "100"),
        "100 has more than 2 digits before the decimal point"
    );
    assert_eq!(
        given(DataType::Decimal128(4, 2), "0.125"),
        "0.125 has more than 2 digits after the decimal point"
    );
    assert_eq!(given(DataType::Decimal128(4, 2), r#"" 1""#), "\" 1\" is not a decimal");
    assert_eq!(given(DataType::Decimal128(4, 2), r#""x""#), "\"x\" is not a decimal");
    assert_eq!(given(DataType::Date32, r#""2023-02-29""#), "\"2023-02-29\" is not a date");
}

#[test]
fn a_malformed_row_costs_no_other_row() {
    let mut decoder = json_decoder(SCHEMA);
    let bad = ["{", "{}", r#"{"id": 1, "list": [{"x": 1}, {"x": {"y": 1}}]}"#, r#"{"id": "x"}"#, "", "\u{0}"];
    let mut rows = Vec::new();
    let mut expected = Vec::new();
    for row in 0..200 {
        let is_bad = row % 3 == 1 || (60..90).contains(&row);
        let text = if is_bad {
            bad[row % bad.len()].to_owned()
        } else {
            format!(r#"{{"id": {row}, "any": [{row}]}}"#)
        };
        if is_bad {
            expected.push(row);
        }
        rows.push(Some(text.into_bytes()));
    }
    let decoded = decode(&mut decoder, &rows);
    let errors: Vec<usize> = decoded.errors.iter().map(|error| error.row).collect();
    assert_eq!(errors, expected);
    let array = decoded.array.as_struct();
    let (ids, texts) = (array.column(0).as_primitive::<Int64Type>(), array.column(6).as_string::<i32>());
    for row in (0..200).filter(|row| !expected.contains(row)) {
        assert_eq!(
            (ids.value(row), texts.value(row)),
            (i64::try_from(row).unwrap(), format!("[{row}]").as_str())
        );
    }
}

#[test]
fn the_rest_of_a_header_is_an_error() {
    use std::sync::Arc;

    use arrow_array::{Array, BinaryArray, ListArray, StringArray, StructArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;

    let schema = RegisteredSchema::new(SchemaType::Json, r#"{"type": "integer"}"#);
    let mut decoder = ColumnDecoder::new(&schema, WireFormat::Confluent, Header::Key).unwrap();
    decoder.add(ottla_schema::SchemaId::Id(1), &schema);
    let values: [&[u8]; 2] = [&[0, 0, 0, 0, 1], &[0, 0, 0, 0, 1, 2]];
    let entries = StructArray::from(vec![
        (
            Arc::new(Field::new("key", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec!["__key_schema_id"; 2])) as _,
        ),
        (
            Arc::new(Field::new("value", DataType::Binary, true)),
            Arc::new(BinaryArray::from_iter_values(values)) as _,
        ),
    ]);
    let field = Arc::new(Field::new("item", entries.data_type().clone(), true));
    let headers = ListArray::new(field, OffsetBuffer::new(vec![0, 1, 2].into()), Arc::new(entries), None);
    let decoded = decoder.decode(&BinaryArray::from_iter_values(["7", "8"]), Some(&headers)).unwrap();
    assert_eq!(decoded.array.as_primitive::<Int64Type>().value(0), 7);
    assert_eq!(
        only_error(&decoded),
        (1, "schema 1: bytes are left after the schema id in the header".to_owned())
    );
}
