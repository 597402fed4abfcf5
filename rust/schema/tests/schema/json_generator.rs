//! Generates random types, values of them, and their JSON in random forms.

use std::fmt::Write;

use arrow_schema::{DataType, Field};
use serde_json::{Number, Value};

/// An xorshift generator.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    pub(crate) fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    pub(crate) fn field(&mut self, name: String, depth: usize) -> Field {
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

    pub(crate) fn value(&mut self, field: &Field) -> Value {
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
    pub(crate) fn write(&mut self, value: &Value, field: &Field, out: &mut String) {
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
