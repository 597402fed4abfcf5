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
pub(crate) struct Unvalidated {
    groups: Vec<Group>,
    /// Those whose schemas are not known: they cannot be used, or were forgotten for the payloads of another reader.
    unknown: Vec<(Option<SchemaId>, Vec<u8>)>,
}

/// Why a payload is invalid that cannot be validated. That its schema cannot be used is said before.
const UNKNOWN: &str =
    "its schema was forgotten before the payload could be validated, since there are too many: read it again";

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
            let item = (id, payload.to_vec());
            let schema = match schemas {
                ValidatedSchemas::One(schema) => Some(schema),
                ValidatedSchemas::AsWritten(known) => id.and_then(|id| known.get(&id)),
            };
            let Some(schema) = schema else {
                self.unknown.push(item);
                continue;
            };
            match self.groups.iter_mut().find(|(known, _)| Arc::ptr_eq(known, schema)) {
                Some((_, payloads)) => payloads.push(item),
                None => self.groups.push((Arc::clone(schema), vec![item])),
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
        for (id, payload) in self.unknown {
            invalid.0.entry(payload).or_default().push((id, UNKNOWN.to_owned()));
        }
        for (schema, mut payloads) in self.groups {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    /// One payload with the id of a schema.
    struct OneRow;

    impl EncodedRows for OneRow {
        fn count(&self) -> usize {
            1
        }

        fn bytes(&self, _row: usize) -> Option<&[u8]> {
            Some(b"\0\0\0\0\x07{}")
        }

        fn header(&self, _row: usize, _name: &str) -> Option<&[u8]> {
            None
        }
    }

    #[derive(Debug)]
    struct AcceptsAll;

    impl PayloadValidator for AcceptsAll {
        fn validate(&self, _: &Arc<RegisteredSchema>, _: &[&[u8]]) -> Result<Vec<(usize, String)>> {
            Ok(Vec::new())
        }
    }

    /// Another reader of the same column may have forgotten the schema in the meantime.
    #[test]
    fn a_payload_whose_schema_was_forgotten_is_not_taken_for_valid() {
        let framing = (WireFormat::Confluent, Header::Value);
        let schema = Arc::new(RegisteredSchema::new(ottla_schema::SchemaType::Json, "{}"));
        for (known, expected) in [(vec![(SchemaId::Id(7), schema)], 0), (Vec::new(), 1)] {
            let mut unvalidated = Unvalidated::default();
            unvalidated.add(&ValidatedSchemas::AsWritten(known.into_iter().collect()), &OneRow, framing);
            let invalid = unvalidated.validate(&AcceptsAll, true).unwrap();
            assert_eq!(invalid.errors(&OneRow, 1, framing).len(), expected);
        }
    }
}
