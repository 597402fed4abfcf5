//! The traits that a format implements, and a loop that isolates malformed payloads if its decoder can only decode
//! all payloads of a call or none.
//!
//! Invariants: a malformed payload fails no other row. The work is bounded: a payload is decoded at most twice for
//! each time that the number of rows can be halved. Decoding ends after the row that spends the budget.

use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, DataType};

use crate::budget::Budget;
use crate::error::SchemaError;
use crate::limits::short_reason;
use crate::registered_schema::RegisteredSchema;

/// The bytes of a value after its schema id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Payload<'a> {
    pub(crate) bytes: &'a [u8],
    /// The rest of the header after the id.
    pub(crate) header_rest: Option<&'a [u8]>,
}

/// Decodes the payloads of one writer's schema.
pub(crate) trait PayloadDecoder: Send {
    /// Decodes payloads until the budget is spent, at least one. A malformed payload becomes an error of its row. The
    /// call itself fails only if the rows do not fit into arrays.
    fn decode(
        &mut self,
        payloads: &[Payload<'_>],
        budget: &mut Budget,
    ) -> Result<DecodedPayloads, ArrowError>;
}

/// A decoder that fails as a whole: it decodes all payloads of a call or none.
pub(crate) trait BatchDecoder {
    /// Decodes payloads until the budget is spent, at least one, and returns their rows as an array. A call that fails
    /// leaves no rows behind and spends nothing of the budget.
    fn decode_batch(
        &mut self,
        payloads: &[Payload<'_>],
        budget: &mut Budget,
    ) -> Result<ArrayRef, PayloadError>;
}

/// A compiled reader's schema.
pub(crate) trait ReaderSchema: Send {
    /// The type of the column.
    fn data_type(&self) -> &DataType;

    /// The minimum bytes of a row, null or not.
    fn row_bytes(&self) -> usize;

    /// Compiles the schema of a writer whose data this reader reads.
    fn writer(&self, schema: &RegisteredSchema) -> Result<Box<dyn PayloadDecoder>, SchemaError>;
}

/// The reason why payloads cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PayloadError {
    /// The index of the first malformed payload, if known.
    pub(crate) row: Option<usize>,
    /// What is wrong with it.
    pub(crate) reason: String,
}

/// The decoded rows of some payloads.
#[derive(Debug, Default)]
pub(crate) struct DecodedPayloads {
    /// Arrays of consecutive rows, each with the index of its first payload. A malformed payload has no row or a null
    /// row.
    pub(crate) arrays: Vec<(usize, ArrayRef)>,
    /// The malformed payloads, in order.
    pub(crate) errors: Vec<(usize, String)>,
    /// The number of payloads that were decoded before the budget was spent.
    pub(crate) payloads: usize,
}

/// The bytes that an error takes in addition to its message.
pub(crate) const ERROR_BYTES: usize = 64;

impl DecodedPayloads {
    /// Adds a malformed payload.
    pub(crate) fn add_error(&mut self, payload: usize, reason: String, budget: &mut Budget) {
        let reason = short_reason(reason);
        budget.spend(ERROR_BYTES + reason.len());
        self.errors.push((payload, reason));
    }
}

/// Decodes payloads. Malformed payloads become errors.
pub(crate) fn decode_payloads(
    decoder: &mut impl BatchDecoder,
    payloads: &[Payload<'_>],
    budget: &mut Budget,
) -> DecodedPayloads {
    let mut decoded = DecodedPayloads::default();
    // The ranges that have not been decoded yet, with the first one on top.
    let mut ranges: Vec<_> = std::iter::once(0..payloads.len()).collect();
    while let Some(range) = ranges.pop() {
        decoded.payloads = range.start;
        if range.start > 0 && budget.is_spent() {
            break;
        }
        let Some(part) = payloads.get(range.clone()).filter(|part| !part.is_empty()) else { continue };
        match decoder.decode_batch(part, budget) {
            Ok(array) => {
                decoded.payloads = range.start + array.len();
                decoded.arrays.push((range.start, array));
                if decoded.payloads < range.end {
                    break;
                }
            }
            Err(error) if part.len() == 1 => {
                decoded.add_error(range.start, error.reason, budget);
                decoded.payloads = range.end;
            }
            Err(PayloadError { row: Some(row), reason }) if row < part.len() => {
                let bad = range.start + row;
                decoded.add_error(bad, reason, budget);
                ranges.extend([bad + 1..range.end, range.start..bad]);
            }
            Err(_) => {
                let middle = range.start + part.len() / 2;
                ranges.extend([middle..range.end, range.start..middle]);
            }
        }
    }
    let end = decoded.payloads;
    decoded.errors.retain(|(row, _)| *row < end);
    decoded.errors.sort_by_key(|(row, _)| *row);
    decoded
}
