//! Decodes payloads to columns.
//!
//! Invariants: each payload is exactly one value, with no byte left over. A malformed row is removed from the columns
//! and becomes null. Decoding ends after the row that spends the budget, or before the row that the arrays cannot take.

use std::sync::Arc;

use arrow_schema::{ArrowError, DataType};

use super::column::Column;
use super::row::{Row, RowFault};
use super::value_type::ValueType;
use crate::budget::Budget;
use crate::payloads::{DecodedPayloads, Payload, PayloadDecoder};

/// The decoder of a reader's type.
#[derive(Debug)]
pub(super) struct JsonPayloadDecoder {
    value_type: Arc<ValueType>,
    data_type: DataType,
}

impl JsonPayloadDecoder {
    pub(super) fn new(value_type: &Arc<ValueType>, data_type: &DataType) -> Self {
        Self { value_type: Arc::clone(value_type), data_type: data_type.clone() }
    }

    /// Appends a payload to the column. Returns the column bytes that it takes.
    fn append(&self, column: &mut Column, payload: &Payload<'_>, budget: &Budget) -> Result<usize, RowFault> {
        if payload.header_rest.is_some_and(|rest| !rest.is_empty()) {
            return Err("bytes are left after the schema id in the header".to_owned().into());
        }
        let row = Row::new(payload.bytes, budget.row(payload.bytes))?;
        row.append(&self.value_type, column)
    }
}

impl PayloadDecoder for JsonPayloadDecoder {
    fn decode(
        &mut self,
        payloads: &[Payload<'_>],
        budget: &mut Budget,
    ) -> Result<DecodedPayloads, ArrowError> {
        let mut column = Column::new(&self.data_type, payloads.len())?;
        let mut decoded = DecodedPayloads::default();
        for (row, payload) in payloads.iter().enumerate() {
            if row > 0 && budget.is_spent() {
                break;
            }
            let reason = match self.append(&mut column, payload, budget) {
                Ok(bytes) => {
                    budget.spend(bytes);
                    decoded.payloads = row + 1;
                    continue;
                }
                Err(RowFault::Malformed(malformed)) => malformed.into_text(),
                Err(RowFault::Full) if row > 0 => {
                    column.truncate(row);
                    break;
                }
                Err(RowFault::Full) => "it does not fit into an Arrow array".to_owned(),
            };
            column.truncate(row);
            column.append_null();
            // A null takes as many bytes as a value.
            budget.spend(self.value_type.width);
            decoded.add_error(row, reason, budget);
            decoded.payloads = row + 1;
        }
        decoded.arrays.push((0, column.finish(&self.data_type)?));
        Ok(decoded)
    }
}
