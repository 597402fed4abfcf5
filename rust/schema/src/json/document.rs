//! A parsed JSON document that keeps the order of object keys.
//!
//! Invariant: the depth of a document is bounded, and so is every recursion over it.

use super::scanner::{Fault, Scanner};

/// The maximum nesting depth.
const MAX_DEPTH: usize = 128;

/// A value of a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Document {
    Null,
    Boolean(bool),
    /// The text of a number.
    Number(String),
    String(String),
    Array(Vec<Document>),
    Object(Vec<(String, Document)>),
}

impl Document {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let scanner = Scanner::new(bytes)?;
        let document = value(&scanner, 0)?;
        scanner.finish()?;
        Ok(document)
    }

    /// Returns the value of a key, or the last value if the key occurs several times.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the entries of an object. Other values have none.
    pub(super) fn entries(&self) -> &[(String, Self)] {
        match self {
            Self::Object(entries) => entries,
            _ => &[],
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }
}

fn value(scanner: &Scanner<'_>, depth: usize) -> Result<Document, Fault> {
    if depth > MAX_DEPTH {
        return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
    }
    match scanner.peek() {
        Some(b'n') => scanner.null().map(|()| Document::Null),
        Some(b't' | b'f') => scanner.boolean().map(Document::Boolean),
        Some(b'"') => Ok(Document::String(scanner.string("a string")?.into_owned())),
        Some(b'[') => {
            scanner.expect(b'[', "'['")?;
            let mut items = Vec::new();
            let mut more = !scanner.accept(b']');
            while more {
                items.push(value(scanner, depth + 1)?);
                more = scanner.next_item(b']')?;
            }
            Ok(Document::Array(items))
        }
        Some(b'{') => {
            scanner.expect(b'{', "'{'")?;
            let mut entries = Vec::new();
            let mut more = !scanner.accept(b'}');
            while more {
                let key = scanner.string("a key")?.into_owned();
                scanner.expect(b':', "':'")?;
                entries.push((key, value(scanner, depth + 1)?));
                more = scanner.next_item(b'}')?;
            }
            Ok(Document::Object(entries))
        }
        _ => Ok(Document::Number(scanner.number("a value")?.text.to_owned())),
    }
}
