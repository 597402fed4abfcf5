//! The routes of the registry: functions from request and state to response.
//!
//! Invariant: errors have Confluent's statuses and codes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};

use super::RegistryAuth;
use super::state::{RegistryFailure, RegistryReference, RegistryState, Schema, StoredSchema, Which};

type Outcome = Result<Value, RegistryFailure>;

/// A request, decoded.
#[derive(Debug)]
pub(super) struct ApiRequest<'a> {
    pub(super) method: &'a str,
    /// Without the query.
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) body: &'a Bytes,
}

/// A schema in the body of a request.
struct Body {
    schema_type: String,
    text: String,
    references: Vec<RegistryReference>,
}

/// Whether a request's header `Authorization` has the required credentials.
pub(super) fn is_authorized(auth: Option<&RegistryAuth>, header: Option<&str>) -> bool {
    let Some(auth) = auth else { return true };
    let expected = match auth {
        RegistryAuth::Basic(user, password) => {
            format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
        }
        RegistryAuth::Bearer(token) => format!("Bearer {token}"),
    };
    header == Some(expected.as_str())
}

/// Handles a request.
pub(super) fn handle(state: &mut RegistryState, request: &ApiRequest<'_>) -> Outcome {
    let segments: Vec<String> = request
        .path
        .trim_matches('/')
        .split('/')
        .map(|segment| decode(segment).unwrap_or_default())
        .collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let with_deleted = request.query.split('&').any(|pair| pair == "deleted=true");
    match (request.method, segments.as_slice()) {
        ("GET", [""]) => Ok(json!({})),
        ("GET", ["schemas", "types"]) => Ok(json!(["JSON", "PROTOBUF", "AVRO"])),
        ("GET", ["schemas", "ids", id]) => state.by_id(id).map(|schema| by_id(&schema)),
        ("GET", ["schemas", "guids", guid]) => state.by_guid(guid).map(|schema| by_id(&schema)),
        ("GET", ["subjects"]) => Ok(json!(state.subjects())),
        ("GET", ["subjects", subject, "versions"]) => state.versions(subject).map(|found| json!(found)),
        ("GET", ["subjects", subject, "versions", version]) => {
            state.version(subject, which(version)?, with_deleted).map(|found| in_subject(&found))
        }
        ("POST", ["subjects", subject]) => {
            let Body { schema_type, text, references } = body(request.body)?;
            state.lookup(subject, &schema_type, &text, &references).map(|found| in_subject(&found))
        }
        ("POST", ["subjects", subject, "versions"]) => {
            let Body { schema_type, text, references } = body(request.body)?;
            state.register(subject, &schema_type, &text, &references).map(|found| json!({"id": found.id}))
        }
        ("DELETE", ["subjects", subject]) => state.delete_subject(subject).map(|found| json!(found)),
        ("DELETE", ["subjects", subject, "versions", version]) => {
            let number = state.version(subject, which(version)?, false)?.version;
            state.delete_version(subject, number).map(|()| json!(number))
        }
        ("POST", ["compatibility", "subjects", subject, "versions", rest @ ..]) if rest.len() < 2 => {
            let which = which(rest.first().copied().unwrap_or("latest"))?;
            let Body { schema_type, text, references } = body(request.body)?;
            let messages = state.check(subject, which, &schema_type, &text, &references)?;
            Ok(json!({"is_compatible": messages.is_empty(), "messages": messages}))
        }
        ("GET", ["config", subject]) => {
            let level = if state.refuses_changes(subject) { "FULL" } else { "NONE" };
            Ok(json!({"compatibilityLevel": level}))
        }
        ("PUT", ["config", subject]) => {
            let document: Value = serde_json::from_slice(request.body).unwrap_or_default();
            let level = document.get("compatibility").and_then(Value::as_str);
            let level =
                level.ok_or_else(|| RegistryFailure::new(422, 42203, "Invalid compatibility level"))?;
            state.refuse_changes(subject, level != "NONE");
            Ok(json!({"compatibility": level}))
        }
        _ => Err(RegistryFailure::new(404, 404, "HTTP 404 Not Found")),
    }
}

/// Handles a request to Apicurio's own API.
pub(super) fn handle_apicurio(state: &RegistryState, request: &ApiRequest<'_>) -> Outcome {
    let global_id = request.query.split('&').find_map(|pair| pair.strip_prefix("globalId="));
    match (request.method, request.path, global_id) {
        ("GET", "/search/versions", Some(id)) => {
            let found: Vec<Value> = state.by_global_id(id).iter().map(version).collect();
            Ok(json!({"count": found.len(), "versions": found}))
        }
        _ => Err(RegistryFailure::new(404, 404, "HTTP 404 Not Found")),
    }
}

/// A version in Apicurio's own API.
fn version(schema: &StoredSchema) -> Value {
    json!({
        "artifactId": schema.subject,
        "artifactType": schema.schema_type,
        "version": schema.version.to_string(),
        "globalId": schema.global_id,
        "contentId": schema.id,
        "state": "ENABLED",
    })
}

fn which(version: &str) -> Result<Which, RegistryFailure> {
    match version {
        "latest" | "-1" => Ok(Which::Latest),
        number => number.parse().ok().filter(|number| *number > 0).map(Which::Number).ok_or_else(|| {
            let message = format!("The specified version '{number}' is not a valid version id.");
            RegistryFailure::new(422, 42202, message)
        }),
    }
}

fn body(bytes: &Bytes) -> Result<Body, RegistryFailure> {
    let invalid = || RegistryFailure::new(422, 42201, "Invalid schema: no text");
    let document: Value = serde_json::from_slice(bytes)
        .map_err(|error| RegistryFailure::new(400, 400, format!("Unable to process JSON: {error}")))?;
    let text = document.get("schema").and_then(Value::as_str).ok_or_else(invalid)?;
    let schema_type = document.get("schemaType").and_then(Value::as_str).unwrap_or("AVRO");
    let items = document.get("references").and_then(Value::as_array).into_iter().flatten();
    let references = items.map(|item| {
        let field = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
        let version = item.get("version").and_then(Value::as_i64).and_then(|it| i32::try_from(it).ok());
        Some(RegistryReference { name: field("name")?, subject: field("subject")?, version: version? })
    });
    Ok(Body {
        schema_type: schema_type.to_owned(),
        text: text.to_owned(),
        references: references.collect::<Option<_>>().ok_or_else(invalid)?,
    })
}

/// The response to a look-up by id.
fn by_id(schema: &Schema) -> Value {
    let mut found = json!({"schema": schema.text, "guid": schema.guid});
    add_type(&mut found, &schema.schema_type, &schema.references);
    found
}

/// The response to a look-up in a subject.
fn in_subject(schema: &StoredSchema) -> Value {
    let mut found = json!({
        "subject": schema.subject,
        "version": schema.version,
        "id": schema.id,
        "guid": schema.guid,
        "schema": schema.text,
    });
    add_type(&mut found, &schema.schema_type, &schema.references);
    found
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

/// Decodes percent-encoded text.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?].map(|digit| char::from(digit).to_digit(16));
                let [Some(high), Some(low)] = digits else { return None };
                bytes.push(u8::try_from(high * 16 + low).ok()?);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}
