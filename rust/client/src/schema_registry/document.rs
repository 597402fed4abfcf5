//! The JSON of the registry's API.
//!
//! Invariant: whatever a registry sends is read without a panic; fields that are missing or of another type
//! are errors that name the field.

use std::sync::Arc;

use bytes::Bytes;
use ottla_schema::{DataContract, Rule, SchemaId, SchemaType};
use serde_json::{Value, json};

use super::{Compatibility, NewSchema, ReferenceName, rules};
use crate::printable::printable;

/// Differences beyond this number are dropped.
const MAX_MESSAGES: usize = 100;

/// A schema as the registry describes it.
#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) subject: Option<Arc<str>>,
    pub(super) version: Option<i32>,
    pub(super) id: Option<u32>,
    pub(super) guid: Option<[u8; 16]>,
    pub(super) schema_type: SchemaType,
    pub(super) text: Arc<str>,
    pub(super) references: Vec<ReferenceName>,
    pub(super) rules: Vec<Rule>,
    pub(super) contract: DataContract,
}

impl Document {
    /// The bytes of its texts.
    pub(super) fn size(&self) -> usize {
        let names = self.references.iter().map(|it| it.name.len() + it.subject.len());
        let subject = self.subject.as_ref().map_or(0, |subject| subject.len());
        self.text.len() + subject + names.sum::<usize>() + self.contract.size()
    }
}

/// The body of a request about a schema.
pub(super) fn request(schema: &NewSchema) -> Bytes {
    let references: Vec<Value> = schema
        .references
        .iter()
        .map(|it| json!({"name": &*it.name, "subject": &*it.subject, "version": it.version}))
        .collect();
    let mut body = json!({"schema": &*schema.text});
    // Old registries know neither field, and Avro alone.
    if schema.schema_type != SchemaType::Avro {
        body["schemaType"] = schema.schema_type.name().into();
    }
    if !references.is_empty() {
        body["references"] = references.into();
    }
    let DataContract { metadata, rule_set } = &schema.contract;
    for (field, text) in [("metadata", metadata), ("ruleSet", rule_set)] {
        if let Some(text) = text {
            body[field] = serde_json::from_str(text).unwrap_or_else(|_| text.to_string().into());
        }
    }
    body.to_string().into()
}

/// Reads a schema.
pub(super) fn schema(body: &Value) -> Result<Document, String> {
    let text = body.get("schema").and_then(Value::as_str).ok_or("it has no field \"schema\" with a text")?;
    let schema_type = match body.get("schemaType") {
        None | Some(Value::Null) => SchemaType::Avro,
        Some(name) => {
            let name = name.as_str().unwrap_or_default();
            name.parse().map_err(|()| format!("its type \"{}\" is not known", printable(name)))?
        }
    };
    let references = match body.get("references") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.iter().map(reference).collect::<Result<_, _>>()?,
        Some(_) => return Err("its field \"references\" is not a list".to_owned()),
    };
    Ok(Document {
        subject: body.get("subject").and_then(Value::as_str).map(Arc::from),
        version: number(body, "version")?,
        id: number(body, "id")?,
        guid: body.get("guid").and_then(Value::as_str).and_then(SchemaId::parse_guid),
        schema_type,
        text: text.into(),
        references,
        rules: rules::of(body)?,
        contract: contract(body),
    })
}

/// Reads the id of the first content that Apicurio found, if any.
pub(super) fn content_id(body: &Value) -> Result<Option<u64>, String> {
    let versions = body.get("versions").and_then(Value::as_array).ok_or("it has no list \"versions\"")?;
    let Some(version) = versions.first() else { return Ok(None) };
    let id = version.get("contentId").and_then(Value::as_u64);
    id.map(Some).ok_or_else(|| "a version has no \"contentId\"".to_owned())
}

/// Reads the response to a registration of `schema`.
pub(super) fn registered(schema: &NewSchema) -> impl Fn(&Value) -> Result<Document, String> {
    |body| {
        Ok(Document {
            subject: None,
            version: number(body, "version")?,
            id: Some(number(body, "id")?.ok_or("it has no field \"id\"")?),
            guid: body.get("guid").and_then(Value::as_str).and_then(SchemaId::parse_guid),
            schema_type: schema.schema_type,
            text: Arc::clone(&schema.text),
            references: schema.references.clone(),
            rules: rules::of(body)?,
            contract: contract(body),
        })
    }
}

/// Reads the data contract of a schema.
fn contract(body: &Value) -> DataContract {
    let text = |field| match body.get(field) {
        Some(part @ Value::Object(_)) => Some(part.to_string().into()),
        _ => None,
    };
    DataContract { metadata: text("metadata"), rule_set: text("ruleSet") }
}

/// Reads a list of names.
pub(super) fn names(body: &Value) -> Result<Vec<String>, String> {
    let names = body.as_array().ok_or("it is not a list")?;
    let text = |name: &Value| name.as_str().map(str::to_owned).ok_or("it has an item that is not a text");
    Ok(names.iter().map(text).collect::<Result<_, _>>()?)
}

/// Reads a list of versions.
pub(super) fn numbers(body: &Value) -> Result<Vec<i32>, String> {
    let numbers = body.as_array().ok_or("it is not a list")?;
    let version = |item: &Value| item.as_i64().and_then(|it| i32::try_from(it).ok()).filter(|it| *it > 0);
    let found: Option<Vec<i32>> = numbers.iter().map(version).collect();
    found.ok_or_else(|| "it has an item that is not a version".to_owned())
}

/// Reads a setting, which is one of these fields.
pub(super) fn setting(fields: &[&'static str]) -> impl Fn(&Value) -> Result<String, String> {
    move |body| {
        let found = fields.iter().find_map(|field| body.get(field).and_then(Value::as_str));
        found.map(printable).ok_or_else(|| format!("it has no field \"{}\"", fields.join("\" or \"")))
    }
}

/// Takes any document for a confirmation.
#[allow(clippy::unnecessary_wraps, reason = "other documents may be malformed")]
pub(super) fn any(_: &Value) -> Result<(), String> {
    Ok(())
}

/// Reads the result of a check.
pub(super) fn compatibility(body: &Value) -> Result<Compatibility, String> {
    let is_compatible = body.get("is_compatible").and_then(Value::as_bool);
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages.into_iter().flatten().filter_map(Value::as_str).take(MAX_MESSAGES);
    Ok(Compatibility {
        is_compatible: is_compatible.ok_or("it has no field \"is_compatible\"")?,
        messages: messages.map(printable).collect(),
    })
}

fn reference(item: &Value) -> Result<ReferenceName, String> {
    let text = |name: &str| item.get(name).and_then(Value::as_str).map(Arc::from);
    match (text("name"), text("subject"), number(item, "version")?) {
        (Some(name), Some(subject), Some(version)) => Ok(ReferenceName { name, subject, version }),
        _ => Err("one of its references has no name, subject or version".to_owned()),
    }
}

fn number<N: TryFrom<i64>>(body: &Value, name: &str) -> Result<Option<N>, String> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let number = value.as_i64().filter(|number| *number >= 0).and_then(|it| N::try_from(it).ok());
            number.map(Some).ok_or_else(|| format!("its field \"{name}\" is out of range"))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_is_missing_is_avro() {
        let document = schema(&json!({"schema": "\"string\"", "id": 3})).unwrap();
        assert_eq!((document.schema_type, document.id), (SchemaType::Avro, Some(3)));
        let text = "00112233-4455-6677-8899-aabbccddeeff";
        let document = schema(&json!({"schema": "x", "schemaType": "protobuf", "guid": text})).unwrap();
        assert_eq!(document.schema_type, SchemaType::Protobuf);
        assert_eq!(SchemaId::Guid(document.guid.unwrap()).to_string(), text);
    }

    #[test]
    fn malformed_documents_are_errors() {
        let cases = [
            json!([]),
            json!({"schema": 3}),
            json!({"schema": "x", "schemaType": "XML"}),
            json!({"schema": "x", "schemaType": 3}),
            json!({"schema": "x", "references": {}}),
            json!({"schema": "x", "references": [{"name": "a", "subject": "s"}]}),
            json!({"schema": "x", "id": -1}),
            json!({"schema": "x", "id": 4_294_967_296_u64}),
            json!({"schema": "x", "version": 2_147_483_648_u64}),
        ];
        for case in cases {
            assert!(schema(&case).is_err(), "{case}");
        }
        for case in [json!([]), json!({"versions": [{"contentId": "1"}]}), json!({"versions": [1]})] {
            assert!(content_id(&case).is_err(), "{case}");
        }
        assert_eq!(content_id(&json!({"versions": []})), Ok(None));
        assert!(names(&json!({})).is_err() && names(&json!([1])).is_err());
        for case in [json!({}), json!(["1"]), json!([0]), json!([2_147_483_648_u64])] {
            assert!(numbers(&case).is_err(), "{case}");
        }
        assert!(setting(&["mode"])(&json!({"mode": 1})).is_err() && setting(&["a"])(&json!([])).is_err());
        assert!(compatibility(&json!({"is_compatible": "yes"})).is_err());
    }
}
