//! The reason why a row, or a column's type, cannot be encoded, and the path to the value at fault.
//!
//! Invariant: only failures pay for the path, which is built as the error returns through the callers.

use std::borrow::Cow;
use std::fmt::Write;

use arrow_schema::DataType;

/// The number of a text's characters that error messages show.
const SHOWN: usize = 40;

/// The reason why a row cannot be encoded. It is boxed to keep results small.
#[derive(Debug)]
pub(crate) struct RowFailure(Box<Reason>);

#[derive(Debug)]
struct Reason {
    /// The parts of the path, the innermost first: `.field`, `[0]`, `["key"]`.
    path: Vec<String>,
    reason: Cow<'static, str>,
    is_full: bool,
}

impl RowFailure {
    #[cold]
    pub(crate) fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Reason { path: Vec::new(), reason: reason.into(), is_full: false }))
    }

    /// A value is null although its type is not nullable.
    #[cold]
    pub(crate) fn null() -> Self {
        Self::new("it is null, which its type does not allow")
    }

    /// A number is out of the range of its type.
    #[cold]
    pub(crate) fn range() -> Self {
        Self::new("it is beyond the range of its type")
    }

    /// An integer has more digits than a floating point number of its type.
    #[cold]
    pub(crate) fn inexact(value: i128) -> Self {
        Self::new(format!("{value} has more digits than its type"))
    }

    /// The type of the column does not match the schema.
    #[cold]
    pub(crate) fn type_mismatch(found: &DataType, expected: &DataType) -> Self {
        let hint = match (found, expected) {
            (DataType::Timestamp(_, None), DataType::Timestamp(_, Some(_))) => {
                "; give the timestamps a time zone, such as UTC"
            }
            (DataType::Timestamp(_, Some(_)), DataType::Timestamp(_, None)) => {
                "; make the timestamps local, without a time zone"
            }
            _ => "",
        };
        Self::new(format!("the column has the type {found}, but the schema needs {expected}{hint}"))
    }

    /// A step does not match its array.
    #[cold]
    pub(crate) fn internal() -> Self {
        Self::new("the encoder does not match its column")
    }

    /// The payloads do not fit into one array.
    #[cold]
    pub(crate) fn full() -> Self {
        let mut failure = Self::new("the payloads do not fit into one array");
        failure.0.is_full = true;
        failure
    }

    pub(crate) fn is_full(&self) -> bool {
        self.0.is_full
    }

    #[cold]
    pub(crate) fn in_field(mut self, name: &str) -> Self {
        self.0.path.push(format!(".{name}"));
        self
    }

    #[cold]
    pub(crate) fn in_item(mut self, at: usize) -> Self {
        self.0.path.push(format!("[{at}]"));
        self
    }

    /// Adds the items of a list to the path, without an index.
    #[cold]
    pub(crate) fn in_items(mut self) -> Self {
        self.0.path.push("[]".to_owned());
        self
    }

    #[cold]
    pub(crate) fn in_key(mut self, key: &str) -> Self {
        self.0.path.push(format!("[{:?}]", shown(key)));
        self
    }

    /// Returns the path and the reason. The path begins with `root`: `$` in JSON, `field ` elsewhere.
    pub(crate) fn describe(&self, root: &str) -> String {
        let mut message = String::new();
        if !self.0.path.is_empty() {
            self.0.path.iter().rev().for_each(|part| message.push_str(part));
            let place = match root {
                "$" => message.as_str(),
                _ => message.strip_prefix('.').unwrap_or(&message),
            };
            message = format!("{root}{place}: ");
        }
        let _ = write!(message, "{}", self.0.reason);
        message
    }
}

/// Returns the beginning of a text, for error messages.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()).into(),
        None => text.into(),
    }
}
