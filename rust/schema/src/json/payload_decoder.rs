//! Decodes payloads with the crate arrow-json: this module passes rows to its tape as serde values, and arrow-json
//! builds the arrays.
//!
//! This module does not use arrow-json's own parser, which treats commas as white space, accepts the string `"1"` and
//! the number 1.5 as integers, and does not report which row is wrong.
//!
//! Invariants: each payload is exactly one value, with no byte left over. After an error arrow-json's decoder is
//! replaced, because its tape may hold a part of the row.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;
use arrow_schema::{ArrowError, DataType, Field};
use serde_core::Serialize;

use super::column_type::{decoded_type, to_column_type};
use super::row::Row;
use super::value_type::ValueType;
use crate::budget::Budget;
use crate::payloads::{
    BatchDecoder, DecodedPayloads, Payload, PayloadDecoder, PayloadError, decode_payloads,
};

/// The number of calls after an error that check their rows first.
const CHECKED_CALLS: u32 = 16;

/// The decoder of a reader's type.
#[derive(Debug)]
pub(super) struct JsonPayloadDecoder {
    value_type: Arc<ValueType>,
    data_type: DataType,
    decoded_type: DataType,
    /// `None` before the first row, and after an error.
    decoder: Option<Decoder>,
    /// The number of further calls that check their rows before decoding them. Malformed rows come in bursts, and
    /// replacing the decoder for each of them would be slow if the type is large.
    checked_calls: u32,
}

impl JsonPayloadDecoder {
    pub(super) fn new(value_type: &Arc<ValueType>, data_type: &DataType) -> Self {
        Self {
            value_type: Arc::clone(value_type),
            data_type: data_type.clone(),
            decoded_type: decoded_type(data_type),
            decoder: None,
            checked_calls: 0,
        }
    }

    fn build(&self) -> Result<Decoder, PayloadError> {
        // The batch size limits only arrow-json's own parser, but arrow-json reserves memory for it.
        let field = Field::new("value", self.decoded_type.clone(), true);
        let builder = ReaderBuilder::new_with_field(field).with_batch_size(1);
        builder.build_decoder().map_err(|error| whole(error.to_string()))
    }

    fn decode_all(
        &self,
        decoder: &mut Decoder,
        payloads: &[Payload<'_>],
        budget: &mut Budget,
    ) -> Result<ArrayRef, PayloadError> {
        let mut rows = 0;
        for (row, payload) in payloads.iter().enumerate() {
            if row > 0 && budget.is_spent() {
                break;
            }
            let decoded = decode_one(&self.value_type, decoder, payload, budget);
            budget.spend(decoded.map_err(|reason| PayloadError { row: Some(row), reason })?);
            rows = row + 1;
        }
        let batch = decoder.flush().map_err(|error| whole(error.to_string()))?;
        let column = batch.and_then(|batch| batch.columns().first().cloned());
        let column = column.filter(|column| column.len() == rows);
        let column = column.ok_or_else(|| whole("rows are missing".to_owned()))?;
        to_column_type(&column, &self.data_type).map_err(|error| whole(error.to_string()))
    }
}

fn whole(reason: String) -> PayloadError {
    PayloadError { row: None, reason }
}

fn new_row<'a>(value_type: &'a ValueType, payload: &Payload<'a>, budget: &Budget) -> Result<Row<'a>, String> {
    if payload.header_rest.is_some_and(|rest| !rest.is_empty()) {
        return Err("bytes are left after the schema id in the header".to_owned());
    }
    Row::new(payload.bytes, value_type, budget.row(payload.bytes))
}

/// Decodes a payload. Returns the column bytes that it takes.
fn decode_one(
    value_type: &ValueType,
    decoder: &mut Decoder,
    payload: &Payload<'_>,
    budget: &Budget,
) -> Result<usize, String> {
    let row = [new_row(value_type, payload, budget)?];
    let decoded = decoder.serialize(&row);
    let [row] = row;
    let Err(error) = decoded else { return Ok(row.spent()) };
    Err(row.into_fault().unwrap_or_else(|| error.to_string()))
}

/// Reads a payload without decoding it.
fn check_one(value_type: &ValueType, payload: &Payload<'_>, budget: &Budget) -> Result<(), String> {
    let row = new_row(value_type, payload, budget)?;
    let Err(error) = row.serialize(&mut serde_json::Serializer::new(io::sink())) else { return Ok(()) };
    Err(row.into_fault().unwrap_or_else(|| error.to_string()))
}

impl PayloadDecoder for JsonPayloadDecoder {
    fn decode(
        &mut self,
        payloads: &[Payload<'_>],
        budget: &mut Budget,
    ) -> Result<DecodedPayloads, ArrowError> {
        Ok(decode_payloads(self, payloads, budget))
    }
}

impl BatchDecoder for JsonPayloadDecoder {
    fn decode_batch(
        &mut self,
        payloads: &[Payload<'_>],
        budget: &mut Budget,
    ) -> Result<ArrayRef, PayloadError> {
        if self.checked_calls > 0 {
            for (row, payload) in payloads.iter().enumerate() {
                if let Err(reason) = check_one(&self.value_type, payload, budget) {
                    self.checked_calls = CHECKED_CALLS;
                    return Err(PayloadError { row: Some(row), reason });
                }
            }
            self.checked_calls -= 1;
        }
        let mut decoder = match self.decoder.take() {
            Some(decoder) => decoder,
            None => self.build()?,
        };
        let mut left = *budget;
        let decoded = catch_unwind(AssertUnwindSafe(|| self.decode_all(&mut decoder, payloads, &mut left)));
        let decoded = decoded.unwrap_or_else(|_| Err(whole("the JSON library failed on it".to_owned())));
        match &decoded {
            Ok(_) => {
                self.decoder = Some(decoder);
                *budget = left;
            }
            Err(_) => self.checked_calls = CHECKED_CALLS,
        }
        decoded
    }
}
