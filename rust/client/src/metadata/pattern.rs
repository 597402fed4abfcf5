//! Topic patterns as in the Java client: regular expressions that match a whole name.

use fancy_regex::RegexBuilder;

use super::Pattern;
use crate::error::{Error, Kind, Result};

/// Maximum number of steps that a pattern with look-around or back-references may take for one name.
/// Such patterns can take exponential time; names are short.
const BACKTRACK_LIMIT: usize = 100_000;

impl Pattern {
    /// Creates a pattern from a regular expression that must match a topic's whole name, as in Java's
    /// `subscribe(Pattern)`. Supports look-around and back-references.
    pub fn java(text: &str) -> Result<Self> {
        let wrong = |error: fancy_regex::Error| {
            Error::new(Kind::Config, format!("{text:?} is not a valid regular expression: {error}"))
        };
        // Compiled alone first, so that an unbalanced parenthesis is not closed by the one added below.
        fancy_regex::Regex::new(text).map_err(wrong)?;
        let whole = RegexBuilder::new(&format!(r"\A(?:{text})\z")).backtrack_limit(BACKTRACK_LIMIT).build();
        let whole = whole.map_err(wrong)?;
        let text = text.to_owned();
        Ok(Self::new(move |name| {
            whole.is_match(name).unwrap_or_else(|error| {
                tracing::warn!(target: "ottla.metadata", pattern = %text, topic = name, %error, "the pattern took too many steps: treated as no match");
                false
            })
        }))
    }
}
