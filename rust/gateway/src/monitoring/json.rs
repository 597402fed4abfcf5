//! [`Json`]: documents whose fields keep their order.
//!
//! Invariant: the text is ASCII, so that what clients choose cannot control a terminal.

use std::fmt::Write as _;

/// A value of JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// Nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A floating-point number; one that is not finite becomes null.
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object, with its fields in order.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// An object.
    pub fn object<K: Into<String>>(fields: impl IntoIterator<Item = (K, Json)>) -> Self {
        Self::Object(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// A list.
    pub fn list(items: impl IntoIterator<Item = impl Into<Json>>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }

    /// The value as one line.
    #[must_use]
    pub fn line(&self) -> String {
        self.text(None)
    }

    /// The value as several lines, indented by two spaces.
    #[must_use]
    pub fn indented(&self) -> String {
        self.text(Some(0))
    }

    fn text(&self, indent: Option<usize>) -> String {
        let mut text = String::new();
        self.write(&mut text, indent);
        text
    }

    fn write(&self, out: &mut String, indent: Option<usize>) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            // Writing to a string does not fail.
            Self::Int(number) => _ = write!(out, "{number}"),
            Self::Float(number) if number.is_finite() => _ = write!(out, "{number:?}"),
            Self::Float(_) => out.push_str("null"),
            Self::Text(text) => write_text(out, text),
            Self::List(items) => {
                write_items(out, indent, "[]", items, |out, item, indent| item.write(out, indent))
            }
            Self::Object(fields) => write_items(out, indent, "{}", fields, |out, (name, value), indent| {
                write_text(out, name);
                out.push_str(": ");
                value.write(out, indent);
            }),
        }
    }
}

fn write_items<T>(
    out: &mut String,
    indent: Option<usize>,
    brackets: &str,
    items: &[T],
    write: impl Fn(&mut String, &T, Option<usize>),
) {
    let (open, close) = brackets.split_at(1);
    out.push_str(open);
    let inner = indent.map(|indent| indent + 2);
    let new_line = |out: &mut String, indent: Option<usize>| {
        if let Some(indent) = indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
        }
    };
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            out.push_str(if indent.is_some() { "," } else { ", " });
        }
        new_line(out, inner);
        write(out, item, inner);
    }
    if !items.is_empty() {
        new_line(out, indent);
    }
    out.push_str(close);
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Json {
    fn from(number: u64) -> Self {
        Self::Int(number.into())
    }
}

impl From<i32> for Json {
    fn from(number: i32) -> Self {
        Self::Int(number.into())
    }
}

impl From<f64> for Json {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn text_as_other_commands_print_it() {
        let document = Json::object([
            ("b", Json::list([1, -2])),
            ("a", Json::object([("x\"\\", Json::from("é\u{1f600}\u{7f}\n"))])),
            ("empty", Json::List(Vec::new())),
            ("numbers", Json::List(vec![Json::Float(1.0), Json::Float(f64::NAN), u64::MAX.into()])),
            ("rest", Json::List(vec![Json::Null, Json::Bool(true), None::<i32>.into()])),
        ]);
        assert_eq!(
            document.line(),
            r#"{"b": [1, -2], "a": {"x\"\\": "\u00e9\ud83d\ude00\u007f\n"}, "empty": [], "numbers": [1.0, null, 18446744073709551615], "rest": [null, true, null]}"#
        );
        let short = Json::object([("a", Json::list([1, 2])), ("b", Json::Object(Vec::new()))]);
        assert_eq!(short.indented(), "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {}\n}");
    }
}
