//! Whether a schema may be registered: its text is valid, and all that it refers to exists.
//!
//! Invariant: a registered schema was valid, so that it can be parsed again to be compared.

use std::collections::HashSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::avro::{self, AvroSchema};
use super::failure::RegistryFailure;
use super::json_schema;
use super::schemas::{RegistryReference, Schema, SchemaDocument};
use super::state::{Listed, RegistryState};

/// The largest number of schemas that one refers to, through all others.
const MAX_REFERENCES: usize = 1_000;

impl RegistryState {
    pub(super) fn validate(&self, document: &SchemaDocument) -> Result<(), RegistryFailure> {
        let SchemaDocument { schema_type, text, .. } = document;
        let checked = match schema_type.as_str() {
            "AVRO" => return self.parse_avro(document).map(drop),
            "JSON" => json_schema::check(text),
            "PROTOBUF" if is_protobuf(text) => Ok(()),
            "PROTOBUF" => Err("it is neither a file's text nor a descriptor".to_owned()),
            _ => {
                return Err(RegistryFailure::new(422, 42201, format!("Invalid schema type {schema_type}")));
            }
        };
        checked.map_err(|reason| RegistryFailure::invalid_schema(schema_type, &reason))?;
        self.referenced(document).map(drop)
    }

    pub(super) fn parse_avro(&self, document: &SchemaDocument) -> Result<AvroSchema, RegistryFailure> {
        let referenced = self.referenced(document)?;
        let texts: Vec<&str> = referenced.iter().map(|schema| schema.document.text.as_str()).collect();
        avro::parse(&document.text, &texts).map_err(|reason| RegistryFailure::invalid_schema("AVRO", &reason))
    }

    /// The schemas that one refers to, each after those that it refers to itself.
    fn referenced(&self, document: &SchemaDocument) -> Result<Vec<Arc<Schema>>, RegistryFailure> {
        let (mut seen, mut found) = (HashSet::new(), Vec::new());
        self.collect(&document.references, &mut seen, &mut found)?;
        Ok(found)
    }

    fn collect(
        &self,
        references: &[RegistryReference],
        seen: &mut HashSet<(String, i32)>,
        found: &mut Vec<Arc<Schema>>,
    ) -> Result<(), RegistryFailure> {
        for RegistryReference { name, subject, version } in references {
            if !seen.insert((subject.clone(), *version)) {
                continue;
            }
            if seen.len() > MAX_REFERENCES {
                let message = format!("Invalid schema, details: more than {MAX_REFERENCES} references");
                return Err(RegistryFailure::new(422, 42201, message));
            }
            let Some(known) = self.listed(subject, Listed::All).find(|it| it.number == *version) else {
                let message = format!(
                    "No schema reference found for subject \"{subject}\" and version {version} ({name})"
                );
                return Err(RegistryFailure::new(422, 42201, message));
            };
            self.collect(&known.schema.document.references, seen, found)?;
            found.push(Arc::clone(&known.schema));
        }
        Ok(())
    }
}

/// A file's text, or a descriptor in base64, as Confluent's serializers of Python register it.
fn is_protobuf(text: &str) -> bool {
    let is_text = text.contains("message") || text.contains("enum") || text.contains("syntax");
    is_text || (!text.is_empty() && STANDARD.decode(text).is_ok())
}
