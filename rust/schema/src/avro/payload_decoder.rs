//! Decodes the payloads of one writer's schema.
//!
//! Invariant: each payload is one value, with no byte missing or left over. After an error the columns are
//! dropped, because they have a part of the row.

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use super::column::Column;
use super::fault::Fault;
use super::input::Input;
use super::step::Step;
use crate::payloads::{Payload, PayloadDecoder, PayloadError};

/// The decoder of one writer's schema.
#[derive(Debug)]
pub(super) struct AvroPayloadDecoder {
    pub(super) step: Step,
    pub(super) data_type: DataType,
    /// Whether the reader's values may be null.
    pub(super) is_nullable: bool,
}

impl AvroPayloadDecoder {
    fn decode_one(&self, column: &mut Column, payload: &Payload<'_>) -> Result<(), Fault> {
        let mut input = Input::new(payload.bytes);
        self.step.run(column, &mut input)?;
        if input.is_empty() { Ok(()) } else { Err(Fault::Rest) }
    }
}

impl PayloadDecoder for AvroPayloadDecoder {
    fn decode(&mut self, payloads: &[Payload<'_>]) -> Result<ArrayRef, PayloadError> {
        let whole = |reason: String| PayloadError { row: None, reason };
        let column = Column::new(&self.data_type, self.is_nullable, payloads.len());
        let mut column = column.map_err(|error| whole(error.to_string()))?;
        for (row, payload) in payloads.iter().enumerate() {
            if payload.header_rest.is_some_and(|rest| !rest.is_empty()) {
                let reason = "bytes are left after the schema's id in the header".to_owned();
                return Err(PayloadError { row: Some(row), reason });
            }
            self.decode_one(&mut column, payload).map_err(|fault| {
                // It takes fewer rows, not this one.
                let row = (!matches!(fault, Fault::Full)).then_some(row);
                PayloadError { row, reason: fault.to_string() }
            })?;
        }
        column.finish(&self.data_type).map_err(|error| whole(error.to_string()))
    }
}
