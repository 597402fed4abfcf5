//! The JSON of requests and responses.

use bytes::Bytes;
use serde_json::{Value, json};

use super::contract::Contract;
use super::failure::RegistryFailure;
use super::import::Import;
use super::schemas::{RegistryReference, Schema, SchemaDocument};
use super::state::{StoredSchema, Which};

pub(super) fn which(version: &str) -> Result<Which, RegistryFailure> {
    match version {
        "latest" | "-1" => Ok(Which::Latest),
        number => number.parse().ok().filter(|number| *number > 0).map(Which::Number).ok_or_else(|| {
            let message = format!("The specified version '{number}' is not a valid version id.");
            RegistryFailure::new(422, 42202, message)
        }),
    }
}

/// The schema in the body of a request.
pub(super) fn schema_of(bytes: &Bytes) -> Result<SchemaDocument, RegistryFailure> {
    let invalid = || RegistryFailure::new(422, 42201, "Invalid schema: no text");
    let document = json_of(bytes)?;
    let text = document.get("schema").and_then(Value::as_str).ok_or_else(invalid)?;
    let schema_type = document.get("schemaType").and_then(Value::as_str).unwrap_or("AVRO");
    let items = document.get("references").and_then(Value::as_array).into_iter().flatten();
    let references = items.map(|item| {
        let field = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
        let version = item.get("version").and_then(Value::as_i64).and_then(|it| i32::try_from(it).ok());
        Some(RegistryReference { name: field("name")?, subject: field("subject")?, version: version? })
    });
    let references = references.collect::<Option<_>>().ok_or_else(invalid)?;
    let contract = Contract::of(&document)?;
    Ok(SchemaDocument::new(schema_type.to_owned(), text.to_owned(), references, contract))
}

/// The id and the version in the body of a registration.
pub(super) fn import_of(bytes: &Bytes) -> Result<Import, RegistryFailure> {
    let document = json_of(bytes)?;
    let number = |field: &str| {
        // Clients also send what means none.
        let given = document.get(field).and_then(Value::as_i64).filter(|number| *number > 0);
        given.and_then(|number| i32::try_from(number).ok())
    };
    Ok(Import { id: number("id"), version: number("version") })
}

/// The JSON of a body.
pub(super) fn json_of(bytes: &Bytes) -> Result<Value, RegistryFailure> {
    let failed = |error| RegistryFailure::new(400, 400, format!("Unable to process JSON: {error}"));
    serde_json::from_slice(bytes).map_err(failed)
}

/// The response to a look-up by id.
pub(super) fn by_id(schema: &Schema, text: &str) -> Value {
    let Schema { guid, document, .. } = schema;
    let mut found = json!({"schema": text, "guid": guid});
    add_type(&mut found, &document.schema_type, &document.references);
    document.contract.add_to(&mut found);
    found
}

/// The response to a look-up in a subject.
pub(super) fn in_subject(schema: &StoredSchema, text: &str) -> Value {
    let mut found = json!({
        "subject": schema.subject,
        "version": schema.version,
        "id": schema.id,
        "guid": schema.guid,
        "schema": text,
    });
    add_type(&mut found, &schema.schema_type, &schema.references);
    schema.contract.add_to(&mut found);
    found
}

/// A version in Apicurio's own API.
pub(super) fn apicurio_version(schema: &StoredSchema) -> Value {
    json!({
        "artifactId": schema.subject,
        "artifactType": schema.schema_type,
        "version": schema.version.to_string(),
        "globalId": schema.global_id,
        "contentId": schema.id,
        "state": "ENABLED",
    })
}

/// Adds what registries leave out for a plain Avro schema.
fn add_type(found: &mut Value, schema_type: &str, references: &[RegistryReference]) {
    if schema_type != "AVRO" {
        found["schemaType"] = schema_type.into();
    }
    if !references.is_empty() {
        let references: Vec<Value> = references
            .iter()
            .map(|it| json!({"name": it.name, "subject": it.subject, "version": it.version}))
            .collect();
        found["references"] = references.into();
    }
}
