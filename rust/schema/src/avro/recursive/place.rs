//! Where in an object an error is: the fields, items and keys that lead to it.
//!
//! Invariant: only errors pay for the text, which is cut in the middle like that of a `FieldError`.

use std::fmt;

use crate::row_failure::shown;

/// Of the path of a value that is nested deep, in characters.
const MAX_PATH: usize = 200;

/// A part of a place.
pub(super) enum Part<'a> {
    Field(&'a str),
    Item(usize),
    Key(&'a str),
}

/// A value that is read or written, and what in it is.
pub(super) trait Within {
    fn part(&self) -> Part<'_>;
}

/// The place of a value by those that are open around it.
pub(super) struct Place<'a, T>(pub(super) &'a [T]);

impl<T: Within> fmt::Display for Place<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for open in self.0 {
            text += &match open.part() {
                Part::Field(name) if text.is_empty() => name.to_owned(),
                Part::Field(name) => format!(".{name}"),
                Part::Item(at) => format!("[{at}]"),
                Part::Key(key) => format!("[{:?}]", shown(key)),
            };
        }
        // What is in the middle says the least.
        let half = (MAX_PATH - 1) / 2;
        let end = text.char_indices().nth(half).map(|(at, _)| at);
        let rest = text.char_indices().nth_back(half - 1).map(|(at, _)| at);
        match (end, rest) {
            (Some(end), Some(rest)) if text.chars().nth(MAX_PATH).is_some() => {
                let (begin, end) =
                    (text.get(..end).unwrap_or_default(), text.get(rest..).unwrap_or_default());
                write!(f, "{begin}…{end}")
            }
            _ => f.write_str(&text),
        }
    }
}
