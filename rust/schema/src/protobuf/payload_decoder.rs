//! Decodes the payloads of a writer's schema into the columns of the reader's message.
//!
//! Invariants: all writers of a reader share its columns, which are empty between two calls. A row that fails
//! is removed from the columns and null.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ArrayRef;
use arrow_schema::ArrowError;

use super::failure::Limits;
use super::input::Input;
use super::message_column::MessageColumn;
use super::writer_messages::WriterMessages;
use crate::payloads::{DecodedPayloads, Payload, PayloadDecoder};

/// The columns of a reader's message.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) message: MessageColumn,
    /// Whether each text is checked, since a malformed one was found.
    checks_text: bool,
}

impl Rows {
    pub(super) fn new(message: MessageColumn) -> Self {
        Self { message, checks_text: false }
    }

    /// Decodes payloads, or returns why their indexes are not those of the message.
    fn decode<'a>(
        &mut self,
        payloads: &[Payload<'a>],
        strip: impl Fn(&Payload<'a>) -> Result<&'a [u8], String>,
    ) -> Result<DecodedPayloads, ArrowError> {
        // A panic, which nothing is known to cause, would have left rows behind.
        self.message.truncate(0);
        let mut errors = Vec::new();
        let decoded = self.read_all(payloads, &strip, &mut errors);
        let decoded = match decoded {
            // Arrow checks all texts of a column at once. If one is malformed, check each one.
            Err(_) if !self.checks_text => {
                self.checks_text = true;
                self.message.truncate(0);
                errors.clear();
                self.read_all(payloads, &strip, &mut errors)
            }
            decoded => decoded,
        };
        match decoded {
            Ok(array) => Ok(DecodedPayloads { arrays: vec![(0, array)], errors }),
            Err(error) => {
                self.message.truncate(0);
                Err(error)
            }
        }
    }

    fn read_all<'a>(
        &mut self,
        payloads: &[Payload<'a>],
        strip: impl Fn(&Payload<'a>) -> Result<&'a [u8], String>,
        errors: &mut Vec<(usize, String)>,
    ) -> Result<ArrayRef, ArrowError> {
        for (row, payload) in payloads.iter().enumerate() {
            let bytes = match strip(payload) {
                Ok(bytes) => bytes,
                Err(reason) => {
                    errors.push((row, reason));
                    continue;
                }
            };
            let mut limits = Limits::new(bytes, self.checks_text);
            let read = self.message.read(row, 0, &mut Input::new(bytes), &mut limits);
            if let Err(failure) = read.and_then(|()| self.message.end_row(row)) {
                if failure.is_overflow() {
                    return Err(ArrowError::OffsetOverflowError(payloads.len()));
                }
                self.message.truncate(row);
                errors.push((row, failure.to_string()));
            }
        }
        self.message.finish(payloads.len())
    }
}

/// The decoder of a writer's schema.
#[derive(Debug)]
pub(super) struct ProtobufPayloadDecoder {
    rows: Arc<Mutex<Rows>>,
    /// `None` if payloads do not say which message they are.
    messages: Option<WriterMessages>,
}

impl ProtobufPayloadDecoder {
    pub(super) fn new(rows: Arc<Mutex<Rows>>, messages: Option<WriterMessages>) -> Self {
        Self { rows, messages }
    }
}

impl PayloadDecoder for ProtobufPayloadDecoder {
    fn decode(&mut self, payloads: &[Payload<'_>]) -> Result<DecodedPayloads, ArrowError> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.decode(payloads, |payload| match (&self.messages, payload.header_rest) {
            (None, _) => Ok(payload.bytes),
            (Some(messages), None) => messages.strip(payload.bytes),
            (Some(messages), Some(header)) => messages.strip_named(payload.bytes, header),
        })
    }
}
