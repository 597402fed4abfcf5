//! Whether a schema may be registered: its text is valid, and all that it refers to exists.
//!
//! Invariant: a registered schema was valid, so that it can be parsed again to be compared.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ottla_schema::{RegisteredSchema, SchemaError, SchemaReference, SchemaType, protobuf_file};
use prost_reflect::FileDescriptor;

use super::avro::{self, AvroSchema};
use super::failure::RegistryFailure;
use super::json_schema::{self, JsonSchema};
use super::schemas::{RegistryReference, Schema, SchemaDocument};
use super::state::{Listed, RegistryState};

/// The largest number of schemas that one refers to, through all others.
const MAX_REFERENCES: usize = 1_000;

/// A schema that another one refers to, directly or through others.
struct Referenced<'a> {
    name: &'a str,
    subject: &'a str,
    version: i32,
    schema: &'a Arc<Schema>,
}

impl RegistryState {
    pub(super) fn validate(&self, document: &SchemaDocument) -> Result<(), RegistryFailure> {
        match document.schema_type.as_str() {
            "AVRO" => self.parse_avro(document).map(drop),
            "JSON" => {
                json_schema::check(&document.text).map_err(invalid("JSON"))?;
                self.parse_json(document).map(drop)
            }
            "PROTOBUF" => self.parse_protobuf(document).map(drop),
            other => Err(RegistryFailure::new(422, 42201, format!("Invalid schema type {other}"))),
        }
    }

    pub(super) fn parse_avro(&self, document: &SchemaDocument) -> Result<AvroSchema, RegistryFailure> {
        let referenced = self.referenced(document)?;
        let texts: Vec<&str> = referenced.iter().map(|it| it.schema.document.text.as_str()).collect();
        avro::parse(&document.text, &texts).map_err(invalid("AVRO"))
    }

    pub(super) fn parse_json(&self, document: &SchemaDocument) -> Result<JsonSchema, RegistryFailure> {
        let referenced = self.referenced(document)?;
        let named: Vec<(&str, &str)> =
            referenced.iter().map(|it| (it.name, it.schema.document.text.as_str())).collect();
        JsonSchema::parse(&document.text, &named).map_err(invalid("JSON"))
    }

    /// The texts of the schemas that one refers to, by the names of the references.
    pub(super) fn referenced_texts(
        &self,
        document: &SchemaDocument,
    ) -> Result<Vec<(String, String)>, RegistryFailure> {
        let referenced = self.referenced(document)?;
        let named = |it: Referenced<'_>| (it.name.to_owned(), it.schema.document.text.clone());
        Ok(referenced.into_iter().map(named).collect())
    }

    /// The file that a schema defines; none of what the compiler does not support, such as an edition: it counts as
    /// valid, and as compatible.
    pub(super) fn parse_protobuf(
        &self,
        document: &SchemaDocument,
    ) -> Result<Option<FileDescriptor>, RegistryFailure> {
        let referenced = self.referenced(document)?;
        let mut built: HashMap<(&str, i32), Arc<RegisteredSchema>> = HashMap::new();
        for Referenced { subject, version, schema, .. } in referenced {
            let of = registered(&schema.document, &built);
            built.insert((subject, version), Arc::new(of));
        }
        match protobuf_file(&registered(document, &built)) {
            Ok(file) => Ok(Some(file)),
            Err(SchemaError::Unsupported { .. }) => Ok(None),
            Err(error) => Err(RegistryFailure::invalid_schema("PROTOBUF", &error.to_string())),
        }
    }

    /// The schemas that one refers to, each after those that it refers to itself.
    fn referenced<'a>(
        &'a self,
        document: &'a SchemaDocument,
    ) -> Result<Vec<Referenced<'a>>, RegistryFailure> {
        let (mut seen, mut found) = (HashSet::new(), Vec::new());
        self.collect(&document.references, &mut seen, &mut found)?;
        Ok(found)
    }

    fn collect<'a>(
        &'a self,
        references: &'a [RegistryReference],
        seen: &mut HashSet<(&'a str, i32)>,
        found: &mut Vec<Referenced<'a>>,
    ) -> Result<(), RegistryFailure> {
        for RegistryReference { name, subject, version } in references {
            if !seen.insert((subject, *version)) {
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
            found.push(Referenced { name, subject, version: *version, schema: &known.schema });
        }
        Ok(())
    }
}

fn invalid(schema_type: &'static str) -> impl Fn(String) -> RegistryFailure {
    move |reason| RegistryFailure::invalid_schema(schema_type, &reason)
}

/// A schema of Protobuf with those that it refers to, which were built before.
fn registered(
    document: &SchemaDocument,
    built: &HashMap<(&str, i32), Arc<RegisteredSchema>>,
) -> RegisteredSchema {
    let mut schema = RegisteredSchema::new(SchemaType::Protobuf, document.text.as_str());
    schema.references = document
        .references
        .iter()
        .filter_map(|it| {
            let schema = Arc::clone(built.get(&(it.subject.as_str(), it.version))?);
            Some(SchemaReference { name: it.name.as_str().into(), schema })
        })
        .collect();
    schema
}
