//! Decodes payloads of many writers' schemas to a recursive reader's schema: a column of values in the reader's encoding.
//!
//! Invariant: a value of the column is one that [`AvroObjects`] decodes, unless a logical type does not hold it.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{ArrowError, DataType};

use super::objects::AvroObjects;
use super::transcode::Transcoder;
use crate::avro::aliases::Aliases;
use crate::avro::fault::Fault;
use crate::avro::input::Input;
use crate::avro::parse::{Recursive, parse_reader};
use crate::avro::resolve::{Resolved, resolve};
use crate::avro::schema::Schema;
use crate::avro::writer_of;
use crate::budget::Budget;
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::payload_encoder::MAX_BYTES;
use crate::payloads::{
    BatchDecoder, DecodedPayloads, Payload, PayloadDecoder, PayloadError, ReaderSchema, decode_payloads,
};
use crate::registered_schema::RegisteredSchema;

/// A recursive reader's schema.
#[derive(Debug)]
pub(crate) struct RecursiveReader {
    schema: Arc<Schema>,
    aliases: Aliases,
    limits: SchemaLimits,
}

impl RecursiveReader {
    /// Compiles a reader's schema; `None` if it is not recursive.
    pub(crate) fn compile(
        schema: &RegisteredSchema,
        limits: &SchemaLimits,
    ) -> Result<Option<Self>, SchemaError> {
        let (schema, aliases) = parse_reader(schema, Recursive::Allowed, limits)?;
        Ok(AvroObjects::of(&schema, limits)?.map(|_| Self {
            schema: Arc::new(schema),
            aliases,
            limits: *limits,
        }))
    }
}

impl ReaderSchema for RecursiveReader {
    fn data_type(&self) -> &DataType {
        &DataType::Binary
    }

    fn row_bytes(&self) -> usize {
        size_of::<i32>()
    }

    fn writer(&self, schema: &RegisteredSchema) -> Result<Box<dyn PayloadDecoder>, SchemaError> {
        let writer = writer_of(schema, &self.schema, &self.aliases, &self.limits)?;
        let resolved = resolve(&writer, &self.schema, &self.limits)?;
        Ok(Box::new(RecursiveDecoder { resolved, reader: Arc::clone(&self.schema) }))
    }
}

/// The decoder of one writer's schema.
struct RecursiveDecoder {
    resolved: Resolved,
    reader: Arc<Schema>,
}

impl RecursiveDecoder {
    /// Decodes a payload. Returns the bytes that it takes.
    fn decode_one<'a>(
        &'a self,
        transcoder: &Transcoder<'a>,
        payload: &Payload<'a>,
        budget: &Budget,
        out: &mut Vec<u8>,
    ) -> Result<usize, Fault> {
        if payload.header_rest.is_some_and(|rest| !rest.is_empty()) {
            return Err(Fault::HeaderRest);
        }
        let input = Input::new(payload.bytes, budget.row(payload.bytes));
        let mut input = input.with_skips(&self.resolved.skips);
        input.spend(size_of::<i32>())?;
        transcoder.run(&mut input, out)?;
        if input.is_empty() { Ok(input.spent()) } else { Err(Fault::Rest) }
    }
}

impl PayloadDecoder for RecursiveDecoder {
    fn decode(
        &mut self,
        payloads: &[Payload<'_>],
        budget: &mut Budget,
    ) -> Result<DecodedPayloads, ArrowError> {
        Ok(decode_payloads(self, payloads, budget))
    }
}

impl BatchDecoder for RecursiveDecoder {
    fn decode_batch(
        &mut self,
        payloads: &[Payload<'_>],
        budget: &mut Budget,
    ) -> Result<ArrayRef, PayloadError> {
        let mut values = BinaryBuilder::new();
        let mut left = *budget;
        let mut out = Vec::new();
        let transcoder = Transcoder::new(&self.resolved, &self.reader);
        for (row, payload) in payloads.iter().enumerate() {
            if row > 0 && left.is_spent() {
                break;
            }
            out.clear();
            let failed = |reason: String, row| PayloadError { row, reason };
            let spent = self.decode_one(&transcoder, payload, budget, &mut out);
            left.spend(spent.map_err(|fault| failed(fault.to_string(), Some(row)))?);
            if values.values_slice().len() + out.len() > MAX_BYTES {
                // The row is not at fault: fewer rows may fit.
                return Err(failed(Fault::Full.to_string(), None));
            }
            values.append_value(&out);
        }
        *budget = left;
        let array = values.finish();
        debug_assert!(array.len() <= payloads.len());
        Ok(Arc::new(array))
    }
}
