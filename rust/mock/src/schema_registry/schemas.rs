//! Schemas by id and GUID, whichever subjects of their context have them.
//!
//! Invariants: in a context, the same schema has one id, and ids count from 1 and are never used again, but for those that
//! clients choose in the mode `IMPORT`; the same schema has one GUID.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use ring::digest::{SHA256, digest};
use serde_json::Value;

use super::contract::Contract;
use super::failure::RegistryFailure;

/// A reference to another schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryReference {
    /// The name in the referring text.
    pub name: String,
    /// The subject.
    pub subject: String,
    /// The version in the subject.
    pub version: i32,
}

/// A schema as clients send it.
#[derive(Debug, Clone)]
pub(super) struct SchemaDocument {
    pub(super) schema_type: String,
    pub(super) text: String,
    pub(super) references: Vec<RegistryReference>,
    pub(super) contract: Contract,
    /// The text, once it was compared with another one; `None` inside if it is not JSON. A new schema is compared
    /// with all of its subject.
    json: OnceLock<Option<Value>>,
}

impl SchemaDocument {
    pub(super) fn new(
        schema_type: String,
        text: String,
        references: Vec<RegistryReference>,
        contract: Contract,
    ) -> Self {
        Self { schema_type, text, references, contract, json: OnceLock::new() }
    }

    fn json(&self) -> Option<&Value> {
        self.json.get_or_init(|| serde_json::from_str(&self.text).ok()).as_ref()
    }

    /// Whether a request with `self` is about the schema `other`. In JSON, white space does not count.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_same_text = || match self.schema_type.as_str() {
            "PROTOBUF" => self.text == other.text,
            _ => self.text == other.text || self.json().is_some_and(|one| Some(one) == other.json()),
        };
        self.schema_type == other.schema_type
            && self.references == other.references
            && self.contract.matches(&other.contract)
            && is_same_text()
    }

    /// What two ways to write a schema have in common: white space, the order of keys and of references do not count,
    /// nor comments in Protobuf.
    pub(super) fn normalized(&self) -> (String, String, Vec<String>) {
        let text = match self.schema_type.as_str() {
            "PROTOBUF" => {
                let lines = self.text.lines().map(|line| line.split("//").next().unwrap_or_default());
                lines.flat_map(str::split_whitespace).collect()
            }
            _ => serde_json::from_str::<Value>(&self.text).map_or_else(
                |_| self.text.clone(),
                |mut document| {
                    qualify(&mut document);
                    document.to_string()
                },
            ),
        };
        let mut references: Vec<String> = self.references.iter().map(|it| format!("{it:?}")).collect();
        references.sort_unstable();
        (self.schema_type.clone(), text, references)
    }

    /// A GUID that depends on the schema alone, as Confluent's.
    fn guid(&self) -> String {
        let Self { schema_type, text, references, contract, .. } = self;
        let mut identity = format!("{schema_type}\n{references:?}\n{text}");
        if *contract != Contract::default() {
            identity.push_str(&format!("{contract:?}"));
        }
        let whole = digest(&SHA256, identity.as_bytes());
        let mut out = String::new();
        for (at, byte) in whole.as_ref().iter().take(16).enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                out.push('-');
            }
            out.push_str(&format!("{byte:02x}"));
        }
        out
    }
}

/// Writes the name of a named type of Avro in one form, with its namespace.
fn qualify(document: &mut Value) {
    let Some(fields) = document.as_object_mut() else { return };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    if let (Some(name), Some(namespace)) = (text(fields.get("name")), text(fields.get("namespace")))
        && !name.contains('.')
    {
        fields.insert("name".to_owned(), format!("{namespace}.{name}").into());
        fields.remove("namespace");
    }
}

/// A schema with its identity.
#[derive(Debug)]
pub(super) struct Schema {
    /// As `context_of` returns it.
    pub(super) context: String,
    pub(super) id: i32,
    pub(super) guid: String,
    pub(super) document: SchemaDocument,
}

/// All schemas.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    known: Vec<Arc<Schema>>,
    /// By context.
    last_ids: HashMap<String, i32>,
}

impl Schemas {
    pub(super) fn find(&self, context: &str, document: &SchemaDocument) -> Option<Arc<Schema>> {
        let is_it = |schema: &&Arc<Schema>| {
            schema.context == context
                && document.contract == schema.document.contract
                && document.is_same(&schema.document)
        };
        self.known.iter().find(is_it).cloned()
    }

    /// Adds a schema, with an id that the client chose or with the next one.
    pub(super) fn add(&mut self, context: &str, document: SchemaDocument, id: Option<i32>) -> Arc<Schema> {
        let last = self.last_ids.entry(context.to_owned()).or_default();
        let id = id.unwrap_or(last.saturating_add(1));
        *last = id.max(*last);
        let (context, guid) = (context.to_owned(), document.guid());
        let schema = Arc::new(Schema { context, id, guid, document });
        self.known.push(Arc::clone(&schema));
        schema
    }

    pub(super) fn by_id(&self, context: &str, id: &str) -> Result<Arc<Schema>, RegistryFailure> {
        let is_it = |schema: &&Arc<Schema>| schema.context == context && schema.id.to_string() == id;
        self.known.iter().find(is_it).cloned().ok_or_else(RegistryFailure::no_schema)
    }

    /// The schema with a GUID in each context that has it, one at least.
    pub(super) fn by_guid(&self, guid: &str) -> Result<Vec<Arc<Schema>>, RegistryFailure> {
        let found = self.known.iter().filter(|schema| schema.guid.eq_ignore_ascii_case(guid));
        let found: Vec<Arc<Schema>> = found.cloned().collect();
        if found.is_empty() { Err(RegistryFailure::no_schema()) } else { Ok(found) }
    }

    /// The largest id of a context; 0 without any.
    pub(super) fn last_id(&self, context: &str) -> i32 {
        self.last_ids.get(context).copied().unwrap_or_default()
    }

    /// Forgets the schemas that this function does not want.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&Schema) -> bool) {
        self.known.retain(|schema| is_kept(schema));
    }
}
