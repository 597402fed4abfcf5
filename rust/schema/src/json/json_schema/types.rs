//! The set of JSON types that a schema allows.
//!
//! Invariant: integers and numbers with a fraction are separate members of the set; `number` stands for both.

use std::ops::{BitAnd, BitOr};

use crate::json::document::Document;
use crate::json::number;
use crate::json::scanner::Scanner;

/// A set of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const STRING: Self = Self(4);
    pub(super) const INTEGER: Self = Self(8);
    /// Numbers with a fraction.
    pub(super) const FRACTION: Self = Self(16);
    pub(super) const NUMBER: Self = Self(8 | 16);
    pub(super) const OBJECT: Self = Self(32);
    pub(super) const ARRAY: Self = Self(64);

    /// Returns the types with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "string" => Self::STRING,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "object" => Self::OBJECT,
            "array" => Self::ARRAY,
            _ => return None,
        })
    }

    /// Returns the type of a value.
    pub(super) fn of(value: &Document) -> Self {
        match value {
            Document::Null => Self::NULL,
            Document::Boolean(_) => Self::BOOLEAN,
            Document::String(_) => Self::STRING,
            Document::Array(_) => Self::ARRAY,
            Document::Object(_) => Self::OBJECT,
            Document::Number(text) => {
                let scanner = Scanner::new(text.as_bytes());
                let number =
                    scanner.and_then(|scanner| scanner.number("a number").map(|it| number::integer(&it)));
                match number {
                    Ok(Ok(_)) => Self::INTEGER,
                    _ => Self::FRACTION,
                }
            }
        }
    }

    pub(super) fn contains(self, other: Self) -> bool {
        self & other == other
    }

    pub(super) fn without_null(self) -> Self {
        Self(self.0 & !Self::NULL.0)
    }
}

impl BitOr for Types {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Types {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}
