//! Proves: random values of random types, written in random forms, are decoded to the values that serde_json reads.
//! The seeds are fixed.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use ottla_schema::{ColumnDecoder, Header, WireFormat, infer_json_field};
use serde_json::{Map, Number, Value};

use crate::support::*;

/// An xorshift generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn field(&mut self, name: String, depth: usize) -> Field {
        let nullable = self.one_in(2);
        let kinds = if depth == 0 { 4 } else { 7 };
        let data_type = match self.below(kinds) {
            0 => DataType::Int64,
            1 => DataType::Float64,
            2 => DataType::Boolean,
            3 => DataType::Utf8,
            4 => DataType::List(self.field("item".to_owned(), depth - 1).into()),
            5 => {
                let key = Field::new("key", DataType::Utf8, false);
                let value = self.field("value".to_owned(), depth - 1);
                let entries = DataType::Struct(vec![key, value].into());
                DataType::Map(Field::new("entries", entries, false).into(), false)
            }
            _ => {
                let most = if self.one_in(8) { 12 } else { 4 };
                let count = 1 + self.below(most);
                let odd = ["", "é", "a\"b", "\\", "\u{7f}", "😀", "\n", "plain name"];
                let fields = (0..count).map(|at| {
                    let name = format!("{}{at}", if self.one_in(3) { self.pick(&odd) } else { "k" });
                    self.field(name, depth - 1)
                });
                DataType::Struct(fields.collect())
            }
        };
        Field::new(name, data_type, nullable)
    }

    fn string(&mut self) -> String {
        let characters = [
            "a",
            "b",
            "\"",
            "\\",
            "/",
            "\n",
            "\u{1}",
            "\u{1f}",
            "é",
            "€",
            "😀",
            "\u{7f}",
            "\u{10ffff}",
            "\0",
            "long run of letters",
        ];
        (0..self.below(8)).map(|_| self.pick(&characters)).collect()
    }

    fn value(&mut self, field: &Field) -> Value {
        if field.is_nullable() && self.one_in(4) {
            return Value::Null;
        }
        match field.data_type() {
            DataType::Int64 => {
                let shift = self.below(64);
                Value::from(self.next().cast_signed() >> shift)
            }
            DataType::Float64 => {
                let value = match self.below(3) {
                    0 => f64::from_bits(self.next()),
                    1 => f64::from(self.next() as i32) / 100.0,
                    _ => f64::from(self.next() as i16),
                };
                Value::from(if value.is_finite() { value } else { 0.5 })
            }
            DataType::Boolean => Value::from(self.one_in(2)),
            DataType::Utf8 => Value::from(self.string()),
            DataType::List(item) => (0..self.below(4)).map(|_| self.value(item)).collect(),
            DataType::Map(entries, _) => {
                let DataType::Struct(fields) = entries.data_type() else { panic!("a struct") };
                let count = if self.one_in(10) { 40 } else { self.below(4) };
                let entries = (0..count).map(|_| (self.string(), self.value(&fields[1])));
                Value::Object(entries.collect())
            }
            DataType::Struct(fields) => {
                let entries = fields.iter().map(|field| (field.name().clone(), self.value(field)));
                Value::Object(entries.collect())
            }
            other => panic!("{other}"),
        }
    }

    fn space(&mut self, out: &mut String) {
        while self.one_in(4) {
            out.push_str(self.pick(&[" ", "\n", "\t", "\r", "   "]));
        }
    }

    fn write_string(&mut self, text: &str, out: &mut String) {
        out.push('"');
        for character in text.chars() {
            let must = matches!(character, '"' | '\\' | '\0'..'\u{20}');
            match character {
                '"' | '\\' | '/' if must || self.one_in(2) => write!(out, "\\{character}").unwrap(),
                '\n' if self.one_in(2) => out.push_str("\\n"),
                _ if must || self.one_in(4) => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        match self.one_in(2) {
                            true => write!(out, "\\u{unit:04x}").unwrap(),
                            false => write!(out, "\\u{unit:04X}").unwrap(),
                        }
                    }
                }
                _ => out.push(character),
            }
        }
        out.push('"');
    }

    fn write_number(&mut self, number: &Number, out: &mut String) {
        if let Some(value) = number.as_f64().filter(|_| number.is_f64()) {
            match self.below(3) {
                0 => write!(out, "{value:e}").unwrap(),
                1 => write!(out, "{value:E}").unwrap(),
                _ => write!(out, "{value}").unwrap(),
            }
            return;
        }
        let digits = number.to_string();
        match self.below(4) {
            0 => write!(out, "{digits}.000").unwrap(),
            1 if digits != "0" => write!(out, "{digits}00e-2").unwrap(),
            2 => write!(out, "{digits}.0E+00").unwrap(),
            _ => out.push_str(&digits),
        }
    }

    /// Writes a value; nulls may be left out of structs, whose keys come in any order, with unknown ones.
    fn write(&mut self, value: &Value, field: &Field, out: &mut String) {
        self.space(out);
        match (value, field.data_type()) {
            (Value::Number(number), _) => self.write_number(number, out),
            (Value::String(text), _) => self.write_string(text, out),
            (Value::Array(values), DataType::List(item)) => {
                out.push('[');
                for (at, value) in values.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    self.write(value, item, out);
                }
                self.space(out);
                out.push(']');
            }
            (Value::Object(object), data_type) => {
                let mut entries: Vec<(String, String)> = Vec::new();
                for (name, value) in object {
                    let inner = match data_type {
                        DataType::Struct(fields) => fields.find(name).unwrap().1,
                        DataType::Map(entries, _) => match entries.data_type() {
                            DataType::Struct(fields) => &fields[1],
                            other => panic!("{other}"),
                        },
                        other => panic!("{other}"),
                    };
                    let is_struct = matches!(data_type, DataType::Struct(_));
                    if is_struct && value.is_null() && self.one_in(2) {
                        continue;
                    }
                    let (mut key, mut text) = (String::new(), String::new());
                    self.write_string(name, &mut key);
                    self.write(value, inner, &mut text);
                    entries.push((key, text));
                    if is_struct && self.one_in(5) {
                        let unknown = [
                            "{}",
                            "[1, [true, {\"a\": null}], \"x\"]",
                            "-1.5e3",
                            "\"\\ud83d\\ude00\"",
                            "null",
                        ];
                        entries.push(("\"unknown\"".to_owned(), self.pick(&unknown).to_owned()));
                    }
                }
                if self.one_in(3) && matches!(data_type, DataType::Struct(_)) {
                    for at in (1..entries.len()).rev() {
                        entries.swap(at, self.below(at + 1));
                    }
                }
                out.push('{');
                for (at, (key, text)) in entries.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    self.space(out);
                    out.push_str(key);
                    self.space(out);
                    write!(out, ":{text}").unwrap();
                    self.space(out);
                }
                out.push('}');
            }
            (value, _) => write!(out, "{value}").unwrap(),
        }
        self.space(out);
    }
}

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
    ColumnDecoder::new_json(field, WireFormat::None, Header::Value).unwrap()
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
