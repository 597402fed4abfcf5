//! `SubscriptionArg`: the argument of `subscribe`, which `subscription()` returns.
//!
//! Invariant: a compiled pattern of Python means the same as a text with its flags.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::convert::errors;

/// Python's flags, as Java and RE2 write them; Python's others make no difference for names of topics.
const FLAGS: [(u32, char); 4] = [(2, 'i'), (8, 'm'), (16, 's'), (64, 'x')];

/// The topics or the pattern passed to `subscribe`.
#[derive(Clone)]
pub(super) enum SubscriptionArg {
    Topics(Vec<Arc<str>>),
    Pattern(String),
}

impl SubscriptionArg {
    /// Takes a text, or a compiled `re.Pattern` of one.
    pub(super) fn pattern(pattern: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = pattern.cast::<PyString>() {
            return Ok(Self::Pattern(text.extract()?));
        }
        let compiled = || -> PyResult<(String, u32)> {
            Ok((pattern.getattr("pattern")?.extract()?, pattern.getattr("flags")?.extract()?))
        };
        let Ok((text, flags)) = compiled() else {
            let ty = pattern.get_type().name()?;
            let message = format!("pattern is of type {ty}; expected str, or a compiled pattern of str");
            return Err(errors::argument_type(pattern.py(), message));
        };
        let letters: String =
            FLAGS.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, letter)| letter).collect();
        Ok(Self::Pattern(if letters.is_empty() { text } else { format!("(?{letters}){text}") }))
    }
}
