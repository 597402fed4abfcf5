//! The validation of payloads against their schemas, beyond what their types check. The validator is the application's.
//!
//! Invariants: a validator is called without locks of the client, since it may wait for locks of the application; a
//! payload that it refuses is an error of its row. Whether a payload is valid depends on its bytes and its schema alone.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use ottla_schema::{EncodedRows, Header, RegisteredSchema, RowError, SchemaId, WireFormat};

use crate::error::{Kind, Result};

/// The bytes that a validator is passed at once, about.
const BATCH_BYTES: usize = 8 << 20;

/// Validates payloads.
pub trait PayloadValidator: Debug + Send + Sync {
    /// Returns the indexes of the payloads that are invalid, and the reasons.
    ///
    /// # Errors
    /// [`Kind::Schema`]: the schema cannot be validated with.
    fn validate(&self, schema: &Arc<RegisteredSchema>, payloads: &[&[u8]]) -> Result<Vec<(usize, String)>>;
}

/// The schemas that the payloads of a column are validated against.
#[derive(Debug)]
pub(super) enum ValidatedSchemas {
    One(Arc<RegisteredSchema>),
    AsWritten(HashMap<SchemaId, Arc<RegisteredSchema>>),
}

/// The payloads with one schema, and the ids that they name.
type Group = (Arc<RegisteredSchema>, Vec<(Option<SchemaId>, Vec<u8>)>);

/// Payloads that are to be validated, by schema.
#[derive(Debug, Default)]
pub(crate) struct Unvalidated(Vec<Group>);

/// The payloads of some rows that are invalid, and why.
#[derive(Debug, Default)]
pub struct InvalidPayloads(HashMap<Vec<u8>, Vec<(Option<SchemaId>, String)>>);

impl Unvalidated {
    /// Adds the payloads of rows. Those that cannot be decoded are left out.
    pub(super) fn add(
        &mut self,
        schemas: &ValidatedSchemas,
        rows: &dyn EncodedRows,
        (wire_format, header): (WireFormat, Header),
    ) {
        for row in 0..rows.count() {
            let Some((id, payload)) = payload(rows, row, wire_format, header) else { continue };
            let schema = match (schemas, id) {
                (ValidatedSchemas::One(schema), _) => schema,
                (ValidatedSchemas::AsWritten(known), Some(id)) => match known.get(&id) {
                    Some(schema) => schema,
                    None => continue,
                },
                (ValidatedSchemas::AsWritten(_), None) => continue,
            };
            let item = (id, payload.to_vec());
            match self.0.iter_mut().find(|(known, _)| Arc::ptr_eq(known, schema)) {
                Some((_, payloads)) => payloads.push(item),
                None => self.0.push((Arc::clone(schema), vec![item])),
            }
        }
    }

    /// Validates the payloads. With `is_as_written`, a schema that cannot be validated with is an error of its rows.
    pub(super) fn validate(
        self,
        validator: &dyn PayloadValidator,
        is_as_written: bool,
    ) -> Result<InvalidPayloads> {
        let mut invalid = InvalidPayloads::default();
        for (schema, mut payloads) in self.0 {
            while !payloads.is_empty() {
                let mut bytes = 0;
                let is_next = |(_, payload): &&(_, Vec<u8>)| {
                    let is_next = bytes < BATCH_BYTES;
                    bytes += payload.len();
                    is_next
                };
                let rest = payloads.split_off(payloads.iter().take_while(is_next).count());
                let batch: Vec<&[u8]> = payloads.iter().map(|(_, payload)| payload.as_slice()).collect();
                let found = match validator.validate(&schema, &batch) {
                    Err(error) if is_as_written && error.kind() == Kind::Schema => {
                        (0..batch.len()).map(|at| (at, error.message().to_owned())).collect()
                    }
                    found => found?,
                };
                for (at, reason) in found {
                    if let Some((id, payload)) = payloads.get(at) {
                        invalid.0.entry(payload.clone()).or_default().push((*id, reason));
                    }
                }
                payloads = rest;
            }
        }
        Ok(invalid)
    }
}

impl InvalidPayloads {
    /// The errors of the first `count` rows.
    pub(super) fn errors(
        &self,
        rows: &dyn EncodedRows,
        count: usize,
        (wire_format, header): (WireFormat, Header),
    ) -> Vec<RowError> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let error = |row| {
            let (schema_id, payload) = payload(rows, row, wire_format, header)?;
            let (_, reason) = self.0.get(payload)?.iter().find(|(id, _)| *id == schema_id)?;
            Some(RowError { row, schema_id, reason: reason.clone() })
        };
        (0..count).filter_map(error).collect()
    }
}

fn payload(
    rows: &dyn EncodedRows,
    row: usize,
    wire_format: WireFormat,
    header: Header,
) -> Option<(Option<SchemaId>, &[u8])> {
    let framed = wire_format.split(rows.bytes(row)?, header, |name| rows.header(row, name)).ok()?;
    Some((framed.id, framed.payload))
}
