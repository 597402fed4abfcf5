//! Decodes the payloads of a writer's schema into the columns of the reader's message.
//!
//! Invariants: all writers of a reader share its columns, which are empty between two calls. A row that fails is
//! removed from the columns and becomes null. Decoding ends after the row that spends the budget.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::ArrowError;

use super::column::message::MessageColumn;
use super::failure::Limits;
use super::input::Input;
use super::writer_messages::WriterMessages;
use crate::budget::Budget;
use crate::payloads::{DecodedPayloads, Payload, PayloadDecoder};

/// The columns of a reader's message.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) message: MessageColumn,
    /// Whether each string is checked on its own, because a malformed one was found.
    checks_text: bool,
}

impl Rows {
    pub(super) fn new(message: MessageColumn) -> Self {
        Self { message, checks_text: false }
    }

    /// Decodes payloads. `strip` removes the bytes that identify the message, or returns why they do not match.
    fn decode<'a>(
        &mut self,
        payloads: &[Payload<'a>],
        strip: impl Fn(&Payload<'a>) -> Result<&'a [u8], String>,
        budget: &mut Budget,
    ) -> Result<DecodedPayloads, ArrowError> {
        // An earlier call that panicked would have left rows behind. No cause of a panic is known.
        self.message.truncate(0);
        let before = *budget;
        let decoded = self.read_all(payloads, &strip, budget);
        let decoded = match decoded {
            // Arrow checks all strings of a column at once. If one is malformed, check each one.
            Err(_) if !self.checks_text => {
                self.checks_text = true;
                self.message.truncate(0);
                *budget = before;
                self.read_all(payloads, &strip, budget)
            }
            decoded => decoded,
        };
        decoded.inspect_err(|_| self.message.truncate(0))
    }

    fn read_all<'a>(
        &mut self,
        payloads: &[Payload<'a>],
        strip: impl Fn(&Payload<'a>) -> Result<&'a [u8], String>,
        budget: &mut Budget,
    ) -> Result<DecodedPayloads, ArrowError> {
        let mut decoded = DecodedPayloads::default();
        for (row, payload) in payloads.iter().enumerate() {
            if row > 0 && budget.is_spent() {
                break;
            }
            decoded.payloads = row + 1;
            // A malformed row becomes null, which takes as many bytes as a value.
            budget.spend(self.message.width());
            let bytes = match strip(payload) {
                Ok(bytes) => bytes,
                Err(reason) => {
                    decoded.add_error(row, reason, budget);
                    continue;
                }
            };
            let mut limits = Limits::new(bytes, budget.row(bytes), self.checks_text);
            let read = limits.take(self.message.width());
            let read = read.and_then(|()| self.message.read(row, 0, &mut Input::new(bytes), &mut limits));
            match read.and_then(|()| self.message.end_row(row)) {
                Ok(()) => budget.spend(limits.taken() - self.message.width()),
                Err(failure) if failure.is_overflow() => {
                    return Err(ArrowError::OffsetOverflowError(payloads.len()));
                }
                Err(failure) => {
                    self.message.truncate(row);
                    decoded.add_error(row, failure.to_string(), budget);
                }
            }
        }
        decoded.arrays.push((0, self.message.finish(decoded.payloads)?));
        Ok(decoded)
    }
}

/// The decoder of a writer's schema.
#[derive(Debug)]
pub(super) struct ProtobufPayloadDecoder {
    rows: Arc<Mutex<Rows>>,
    /// `None` if payloads do not identify their message.
    messages: Option<WriterMessages>,
}

impl ProtobufPayloadDecoder {
    pub(super) fn new(rows: Arc<Mutex<Rows>>, messages: Option<WriterMessages>) -> Self {
        Self { rows, messages }
    }
}

impl PayloadDecoder for ProtobufPayloadDecoder {
    fn decode(
        &mut self,
        payloads: &[Payload<'_>],
        budget: &mut Budget,
    ) -> Result<DecodedPayloads, ArrowError> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let messages = &self.messages;
        rows.decode(
            payloads,
            |payload| match (messages, payload.header_rest) {
                (None, _) => Ok(payload.bytes),
                (Some(messages), None) => messages.strip(payload.bytes),
                (Some(messages), Some(header)) => messages.strip_named(payload.bytes, header),
            },
            budget,
        )
    }
}
