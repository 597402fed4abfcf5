//! Why a value of an Arrow column has no Python object, and where in the value.
//!
//! Invariant: only failures cost something for their place, which is collected on the way out.

use std::fmt::Write;

use pyo3::PyErr;

/// Why a value has no Python object. It is boxed, so that results stay small.
#[derive(Debug)]
pub(crate) struct NoObject(Box<Cause>);

#[derive(Debug)]
enum Cause {
    /// Python raised an exception.
    Python(PyErr),
    /// Python has no such value.
    Value {
        /// The parts of the place, the innermost first: `.field`, `[0]`, `["key"]`.
        path: Vec<String>,
        reason: String,
    },
}

impl From<PyErr> for NoObject {
    fn from(error: PyErr) -> Self {
        Self(Box::new(Cause::Python(error)))
    }
}

impl NoObject {
    #[cold]
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(Box::new(Cause::Value { path: Vec::new(), reason: reason.into() }))
    }

    #[cold]
    pub(crate) fn within(mut self, part: impl FnOnce() -> String) -> Self {
        if let Cause::Value { path, .. } = &mut *self.0 {
            path.push(part());
        }
        self
    }

    /// Returns the reason after the place, or the exception that Python raised.
    pub(crate) fn reason(self) -> Result<String, PyErr> {
        let (path, reason) = match *self.0 {
            Cause::Python(error) => return Err(error),
            Cause::Value { path, reason } => (path, reason),
        };
        let place: String = path.iter().rev().map(String::as_str).collect();
        let mut message = String::new();
        if !place.is_empty() {
            let _ = write!(message, "field {}: ", place.strip_prefix('.').unwrap_or(&place));
        }
        message.push_str(&reason);
        Ok(message)
    }
}
