//! Patterns of topic names as the Java client has them: regular expressions for the whole name.

use fancy_regex::RegexBuilder;

use super::Pattern;
use crate::error::{Error, Kind, Result};

/// Steps that a pattern with look-around or back-references may take for one name. Such patterns can
/// take exponential time; names are short.
const BACKTRACK_LIMIT: usize = 100_000;

impl Pattern {
    /// The topics whose whole name a regular expression matches, as Java's `subscribe(Pattern)` has
    /// it; look-around and back-references are understood.
    pub fn java(text: &str) -> Result<Self> {
        let wrong = |error: fancy_regex::Error| {
            Error::new(Kind::Config, format!("{text:?} is no regular expression: {error}"))
        };
        // First by itself, so that an unbalanced parenthesis does not find its other half here.
        fancy_regex::Regex::new(text).map_err(wrong)?;
        let whole = RegexBuilder::new(&format!(r"\A(?:{text})\z")).backtrack_limit(BACKTRACK_LIMIT).build();
        let whole = whole.map_err(wrong)?;
        let text = text.to_owned();
        Ok(Self::new(move |name| {
            whole.is_match(name).unwrap_or_else(|error| {
                tracing::warn!(target: "ottla.metadata", pattern = %text, topic = name, %error, "taken for no match");
                false
            })
        }))
    }
}
