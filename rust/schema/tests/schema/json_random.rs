//! Proves: random values of random types, written in random forms, are decoded to the values that serde_json reads.
//! The seeds are fixed.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use ottla_schema::{ColumnDecoder, infer_json_field};
use serde_json::{Map, Value};

use crate::json_generator::Random;
use crate::support::*;

/// The value of a row, as JSON.
fn read(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Int64 => Value::from(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::from(array.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => Value::from(array.as_boolean().value(row)),
        DataType::Utf8 => Value::from(array.as_string::<i32>().value(row)),
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            (0..items.len()).map(|at| read(&items, at)).collect()
        }
        DataType::Map(_, _) => {
            let entries = array.as_map().value(row);
            let keys = entries.column(0).as_string::<i32>();
            let entry = |at: usize| (keys.value(at).to_owned(), read(entries.column(1), at));
            let all: Map<String, Value> = (0..entries.len()).map(entry).collect();
            assert_eq!(all.len(), entries.len());
            Value::Object(all)
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            Value::Object(columns.map(|(field, column)| (field.name().clone(), read(column, row))).collect())
        }
        other => panic!("{other}"),
    }
}

fn decoder_of(field: &Field) -> ColumnDecoder {
    new_json(field).unwrap()
}

#[test]
fn random_values_are_what_serde_json_reads() {
    for seed in 1..=300 {
        let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let field = random.field("value".to_owned(), 3);
        let mut decoder = decoder_of(&field);
        for _ in 0..2 {
            let values: Vec<Value> = (0..random.below(30)).map(|_| random.value(&field)).collect();
            let rows: Vec<String> = values
                .iter()
                .map(|value| {
                    let mut text = String::new();
                    random.write(value, &field, &mut text);
                    text
                })
                .collect();
            let texts: Vec<&str> = rows.iter().map(String::as_str).collect();
            let array = decode_good(&mut decoder, &texts);
            for (row, value) in values.iter().enumerate() {
                assert_eq!(&read(&array, row), value, "seed {seed}: {}", rows[row]);
                // The writer of these tests is right.
                serde_json::from_str::<Value>(&rows[row]).unwrap();
            }
        }
    }
}

#[test]
fn inferred_types_hold_random_values() {
    for seed in 1..=100 {
        let mut random = Random(0x2545_f491_4f6c_dd1d_u64.wrapping_mul(seed));
        let samples: Vec<String> = (0..1 + random.below(8))
            .map(|_| {
                let field = random.field("value".to_owned(), 3);
                let mut text = String::new();
                let value = random.value(&field);
                random.write(&value, &field, &mut text);
                text
            })
            .collect();
        let samples: Vec<&str> = samples.iter().map(String::as_str).collect();
        // Random structs name a key twice if both are unknown, which a known key must not be.
        let samples: Vec<&str> =
            samples.into_iter().filter(|sample| sample.matches("\"unknown\"").count() < 2).collect();
        if samples.is_empty() {
            continue;
        }
        let field = infer_json_field(samples.iter().map(|sample| sample.as_bytes())).unwrap();
        decode_good(&mut decoder_of(&field), &samples);
    }
}

#[test]
fn every_truncation_is_an_error_and_every_changed_byte_has_one_meaning() {
    let text = r#"{"id": -12, "name": "a\u00e9\ud83d\ude00b", "price": 1.5e-3, "list": [{"x": 1}, {"x": 2}],
        "map": {"k": true, "l": null}, "unknown": [1, "x", {"a": null}], "text": [ 1, 2 ]}"#;
    let schema = r#"{"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"},
        "price": {"type": "number"}, "text": {},
        "list": {"items": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
        "map": {"additionalProperties": {"type": ["boolean", "null"]}}}, "required": ["id"]}"#;
    let mut decoder = json_decoder(schema);
    decode_good(&mut decoder, &[text]);
    let truncated: Vec<_> = (0..text.len()).map(|end| Some(text.as_bytes()[..end].to_vec())).collect();
    assert_eq!(decode(&mut decoder, &truncated).errors.len(), text.len());
    let mut random = Random(7);
    let bytes = b"\"\\{}[],:0e-+.nu \x00\x80\xff";
    let changed: Vec<Vec<u8>> = (0..text.len() * 8)
        .map(|_| {
            let mut row = text.as_bytes().to_vec();
            let at = random.below(row.len());
            row[at] = bytes[random.below(bytes.len())];
            row
        })
        .collect();
    let rows: Vec<_> = changed.iter().cloned().map(Some).collect();
    let decoded = decode(&mut decoder, &rows);
    for (row, bytes) in changed.iter().enumerate() {
        let error = decoded.errors.iter().find(|error| error.row == row);
        // A good row is JSON, and what is no JSON is an error. The other direction needs the type.
        if error.is_none() {
            let value: Value = serde_json::from_slice(bytes).unwrap();
            assert_eq!(
                decoded.array.as_struct().column(0).as_primitive::<Int64Type>().value(row),
                value["id"].as_i64().unwrap()
            );
        }
    }
    assert!((100..changed.len() - 100).contains(&decoded.errors.len()));
}

#[test]
fn any_json_is_text_as_serde_json_judges_it() {
    let mut decoder = json_decoder("{}");
    let mut random = Random(11);
    let tokens = [
        "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", "-0", "1.5", "2e3", "true", "false", "null",
        " ", "0", "-", ".", "\\",
    ];
    let mut good = 0;
    for _ in 0..200 {
        let rows: Vec<String> =
            (0..100).map(|_| (0..1 + random.below(7)).map(|_| random.pick(&tokens)).collect()).collect();
        let texts: Vec<&str> = rows.iter().map(String::as_str).collect();
        let decoded = decode_texts(&mut decoder, &texts);
        for (row, text) in texts.iter().enumerate() {
            let read = serde_json::from_str::<Value>(text);
            // It has a range, and says so before it looks at what follows; text has none.
            if read.as_ref().is_err_and(|error| error.to_string().contains("number out of range")) {
                continue;
            }
            let expected = read.is_ok();
            let found = !decoded.errors.iter().any(|error| error.row == row);
            assert_eq!(found, expected, "{text}");
            good += usize::from(found);
        }
    }
    assert!(good > 1_000, "{good}");
}
