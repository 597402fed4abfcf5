//! Decodes the payloads of one writer's schema.
//!
//! Invariant: each payload is exactly one value, with no byte missing or left over. After an error the columns are
//! dropped, because they hold a part of the row. Columns reserve room for about as many rows as will be decoded, so
//! many malformed rows do not cost much.

use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, DataType};

use super::column::Column;
use super::fault::Fault;
use super::input::Input;
use super::resolve::Resolved;
use crate::budget::Budget;
use crate::payloads::{
    BatchDecoder, DecodedPayloads, Payload, PayloadDecoder, PayloadError, decode_payloads,
};

/// The smallest number of rows that columns reserve room for.
const MIN_ROWS: usize = 64;

/// The decoder of one writer's schema.
#[derive(Debug)]
pub(super) struct AvroPayloadDecoder {
    resolved: Resolved,
    data_type: DataType,
    /// Whether the reader's values may be null.
    is_nullable: bool,
    /// The largest number of rows to reserve room for.
    expected_rows: usize,
}

impl AvroPayloadDecoder {
    pub(super) fn new(resolved: Resolved, data_type: DataType, is_nullable: bool) -> Self {
        Self { resolved, data_type, is_nullable, expected_rows: usize::MAX }
    }

    /// Decodes a payload. Returns the column bytes that it takes.
    fn decode_one(
        &self,
        column: &mut Column,
        payload: &Payload<'_>,
        budget: &Budget,
    ) -> Result<usize, Fault> {
        if payload.header_rest.is_some_and(|rest| !rest.is_empty()) {
            return Err(Fault::HeaderRest);
        }
        let input = Input::new(payload.bytes, budget.row(payload.bytes));
        let mut input = input.with_skips(&self.resolved.skips);
        input.spend(column.width)?;
        self.resolved.step.run(column, &mut input)?;
        if input.is_empty() { Ok(input.spent()) } else { Err(Fault::Rest) }
    }
}

impl PayloadDecoder for AvroPayloadDecoder {
    fn decode(
        &mut self,
        payloads: &[Payload<'_>],
        budget: &mut Budget,
    ) -> Result<DecodedPayloads, ArrowError> {
        Ok(decode_payloads(self, payloads, budget))
    }
}

impl BatchDecoder for AvroPayloadDecoder {
    fn decode_batch(
        &mut self,
        payloads: &[Payload<'_>],
        budget: &mut Budget,
    ) -> Result<ArrayRef, PayloadError> {
        let whole = |reason: String| PayloadError { row: None, reason };
        let rows = payloads.len().min(self.expected_rows);
        let column = Column::new(&self.data_type, self.is_nullable, rows);
        let mut column = column.map_err(|error| whole(error.to_string()))?;
        let mut left = *budget;
        for (row, payload) in payloads.iter().enumerate() {
            if row > 0 && left.is_spent() {
                break;
            }
            let decoded = self.decode_one(&mut column, payload, budget);
            left.spend(decoded.map_err(|fault| {
                self.expected_rows = row.saturating_mul(2).max(MIN_ROWS);
                // The row is not at fault: fewer rows may fit.
                let row = (!matches!(fault, Fault::Full)).then_some(row);
                PayloadError { row, reason: fault.to_string() }
            })?);
        }
        self.expected_rows = payloads.len().saturating_mul(2).max(self.expected_rows);
        let array = column.finish(&self.data_type).map_err(|error| whole(error.to_string()))?;
        *budget = left;
        Ok(array)
    }
}
