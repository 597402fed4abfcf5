//! [`EventText`]: an event of the log as one line, which all programs print alike.

use std::fmt::{self, Write as _};

use tracing::Event;
use tracing::field::{Field, Visit};

/// An event as text: its message, its error after a colon, and its other fields as `name=value`.
#[derive(Debug, Default)]
pub struct EventText {
    message: String,
    error: String,
    fields: String,
}

impl EventText {
    /// The text of an event.
    #[must_use]
    pub fn of(event: &Event<'_>) -> Self {
        let mut text = Self::default();
        event.record(&mut text);
        text
    }

    /// The text as one line.
    #[must_use]
    pub fn into_line(self) -> String {
        self.message + &self.error + &self.fields
    }
}

impl Visit for EventText {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            "error" => write!(self.error, ": {value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}
