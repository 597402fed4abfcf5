//! Subjects, versions and schemas. No I/O.
//!
//! Invariants: the same schema has one id and one GUID in all subjects; ids count from 1 and are never used
//! again, nor are versions; global ids, of versions in all subjects, count from 1, too; a version that was deleted softly remains available by id and as a reference.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use serde_json::Value;

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

/// A schema in a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSchema {
    /// The subject.
    pub subject: String,
    /// The version in the subject.
    pub version: i32,
    /// The id.
    pub id: i32,
    /// Apicurio's global id of the version.
    pub global_id: i32,
    /// The GUID.
    pub guid: String,
    /// `AVRO`, `PROTOBUF` or `JSON`.
    pub schema_type: String,
    /// The text.
    pub text: String,
    /// The references.
    pub references: Vec<RegistryReference>,
}

/// A refused request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (status {status}, error {code})")]
pub struct RegistryFailure {
    /// The HTTP status.
    pub status: u16,
    /// Confluent's error code.
    pub code: i64,
    /// The message.
    pub message: String,
}

impl RegistryFailure {
    pub(super) fn new(status: u16, code: i64, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    fn no_subject(subject: &str) -> Self {
        Self::new(404, 40401, format!("Subject '{subject}' not found."))
    }

    fn no_version(version: i32) -> Self {
        Self::new(404, 40402, format!("Version {version} not found."))
    }

    fn no_schema() -> Self {
        Self::new(404, 40403, "Schema not found")
    }
}

/// A schema, whichever subjects have it.
#[derive(Debug)]
pub(super) struct Schema {
    pub(super) id: i32,
    pub(super) guid: String,
    pub(super) schema_type: String,
    pub(super) text: String,
    pub(super) references: Vec<RegistryReference>,
}

#[derive(Debug, Clone)]
struct Version {
    number: i32,
    global_id: i32,
    schema: Arc<Schema>,
    is_deleted: bool,
}

/// The registry's contents.
#[derive(Debug, Default)]
pub(super) struct RegistryState {
    schemas: Vec<Arc<Schema>>,
    subjects: BTreeMap<String, Vec<Version>>,
    /// The last global id.
    global_id: i32,
    /// Subjects that refuse changes.
    strict: HashSet<String>,
}

/// Which version of a subject a request is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    Latest,
    Number(i32),
}

impl RegistryState {
    pub(super) fn register(
        &mut self,
        subject: &str,
        schema_type: &str,
        text: &str,
        references: &[RegistryReference],
    ) -> Result<StoredSchema, RegistryFailure> {
        self.validate(schema_type, text, references)?;
        let known = self.find(schema_type, text, references);
        let versions = self.subjects.get(subject).map_or(&[][..], Vec::as_slice);
        if let Some(known) = &known
            && let Some(version) = versions.iter().find(|it| !it.is_deleted && it.schema.id == known.id)
        {
            return Ok(stored(subject, version));
        }
        if self.strict.contains(subject) && versions.iter().any(|version| !version.is_deleted) {
            let message = format!(
                "Schema being registered is incompatible with an earlier schema for subject \"{subject}\""
            );
            return Err(RegistryFailure::new(409, 409, message));
        }
        let schema = known.unwrap_or_else(|| self.add(schema_type, text, references));
        let versions = self.subjects.entry(subject.to_owned()).or_default();
        let number = versions.last().map_or(1, |last| last.number + 1);
        self.global_id = self.global_id.saturating_add(1);
        let version = Version { number, global_id: self.global_id, schema, is_deleted: false };
        let stored = stored(subject, &version);
        versions.push(version);
        Ok(stored)
    }

    fn add(&mut self, schema_type: &str, text: &str, references: &[RegistryReference]) -> Arc<Schema> {
        let schema = Arc::new(Schema {
            id: i32::try_from(self.schemas.len() + 1).unwrap_or(i32::MAX),
            guid: guid(schema_type, text, references),
            schema_type: schema_type.to_owned(),
            text: text.to_owned(),
            references: references.to_vec(),
        });
        self.schemas.push(Arc::clone(&schema));
        schema
    }

    fn find(&self, schema_type: &str, text: &str, references: &[RegistryReference]) -> Option<Arc<Schema>> {
        let same = |schema: &&Arc<Schema>| {
            schema.schema_type == schema_type
                && schema.references == references
                && is_same_text(&schema.text, text, schema_type)
        };
        self.schemas.iter().find(same).cloned()
    }

    fn validate(
        &self,
        schema_type: &str,
        text: &str,
        references: &[RegistryReference],
    ) -> Result<(), RegistryFailure> {
        let is_valid = match schema_type {
            "AVRO" => serde_json::from_str(text).is_ok_and(|schema: Value| {
                !matches!(schema, Value::Null | Value::Bool(_) | Value::Number(_))
            }),
            "JSON" => serde_json::from_str(text)
                .is_ok_and(|schema: Value| matches!(schema, Value::Object(_) | Value::Bool(_))),
            // A file's text, or a descriptor in base64, as Confluent's serializers of Python register it.
            "PROTOBUF" => {
                let is_text = text.contains("message") || text.contains("enum") || text.contains("syntax");
                is_text || (!text.is_empty() && STANDARD.decode(text).is_ok())
            }
            _ => {
                let message = format!("Invalid schema type {schema_type}");
                return Err(RegistryFailure::new(422, 42201, message));
            }
        };
        if !is_valid {
            let message = format!("Invalid schema of type {schema_type}, details: it cannot be parsed");
            return Err(RegistryFailure::new(422, 42201, message));
        }
        for RegistryReference { name, subject, version } in references {
            if self.version(subject, Which::Number(*version), true).is_err() {
                let message = format!(
                    "No schema reference found for subject \"{subject}\" and version {version} ({name})"
                );
                return Err(RegistryFailure::new(422, 42201, message));
            }
        }
        Ok(())
    }

    pub(super) fn refuse_changes(&mut self, subject: &str, refuse: bool) {
        if refuse {
            self.strict.insert(subject.to_owned());
        } else {
            self.strict.remove(subject);
        }
    }

    pub(super) fn refuses_changes(&self, subject: &str) -> bool {
        self.strict.contains(subject)
    }

    pub(super) fn by_id(&self, id: &str) -> Result<Arc<Schema>, RegistryFailure> {
        let found = self.schemas.iter().find(|schema| schema.id.to_string() == id);
        found.cloned().ok_or_else(RegistryFailure::no_schema)
    }

    pub(super) fn by_guid(&self, guid: &str) -> Result<Arc<Schema>, RegistryFailure> {
        let found = self.schemas.iter().find(|schema| schema.guid.eq_ignore_ascii_case(guid));
        found.cloned().ok_or_else(RegistryFailure::no_schema)
    }

    pub(super) fn by_global_id(&self, id: &str) -> Option<StoredSchema> {
        let mut all = self
            .subjects
            .iter()
            .flat_map(|(subject, versions)| versions.iter().map(move |version| (subject.as_str(), version)));
        let (subject, version) = all.find(|(_, version)| version.global_id.to_string() == id)?;
        Some(stored(subject, version))
    }

    pub(super) fn subjects(&self) -> Vec<String> {
        let alive = self.subjects.iter().filter(|(_, versions)| versions.iter().any(|it| !it.is_deleted));
        alive.map(|(subject, _)| subject.clone()).collect()
    }

    pub(super) fn versions(&self, subject: &str) -> Result<Vec<i32>, RegistryFailure> {
        let versions = self.subjects.get(subject).map_or(&[][..], Vec::as_slice);
        let alive: Vec<i32> = versions.iter().filter(|it| !it.is_deleted).map(|it| it.number).collect();
        if alive.is_empty() { Err(RegistryFailure::no_subject(subject)) } else { Ok(alive) }
    }

    pub(super) fn version(
        &self,
        subject: &str,
        which: Which,
        with_deleted: bool,
    ) -> Result<StoredSchema, RegistryFailure> {
        let versions = self.subjects.get(subject).map_or(&[][..], Vec::as_slice);
        let mut visible = versions.iter().filter(|it| with_deleted || !it.is_deleted).peekable();
        if visible.peek().is_none() {
            return Err(RegistryFailure::no_subject(subject));
        }
        let found = match which {
            Which::Latest => visible.last(),
            Which::Number(number) => visible.find(|it| it.number == number),
        };
        let number = if let Which::Number(number) = which { number } else { -1 };
        found.map(|it| stored(subject, it)).ok_or_else(|| RegistryFailure::no_version(number))
    }

    pub(super) fn lookup(
        &self,
        subject: &str,
        schema_type: &str,
        text: &str,
        references: &[RegistryReference],
    ) -> Result<StoredSchema, RegistryFailure> {
        self.versions(subject)?;
        let known = self.find(schema_type, text, references).ok_or_else(RegistryFailure::no_schema)?;
        let versions = self.subjects.get(subject).map_or(&[][..], Vec::as_slice);
        let found = versions.iter().find(|it| !it.is_deleted && it.schema.id == known.id);
        found.map(|it| stored(subject, it)).ok_or_else(RegistryFailure::no_schema)
    }

    /// The differences that make a schema incompatible.
    pub(super) fn check(
        &self,
        subject: &str,
        which: Which,
        schema_type: &str,
        text: &str,
        references: &[RegistryReference],
    ) -> Result<Vec<String>, RegistryFailure> {
        self.validate(schema_type, text, references)?;
        let earlier = self.version(subject, which, false)?;
        let is_same = earlier.schema_type == schema_type
            && earlier.references == references
            && is_same_text(&earlier.text, text, schema_type);
        if is_same || !self.strict.contains(subject) {
            return Ok(Vec::new());
        }
        Ok(vec![format!("The schema differs from version {} of subject '{subject}'", earlier.version)])
    }

    pub(super) fn delete_version(&mut self, subject: &str, version: i32) -> Result<(), RegistryFailure> {
        self.versions(subject)?;
        let versions = self.subjects.get_mut(subject).map_or(&mut [][..], Vec::as_mut_slice);
        let found = versions.iter_mut().find(|it| !it.is_deleted && it.number == version);
        found.ok_or_else(|| RegistryFailure::no_version(version))?.is_deleted = true;
        Ok(())
    }

    pub(super) fn delete_subject(&mut self, subject: &str) -> Result<Vec<i32>, RegistryFailure> {
        let alive = self.versions(subject)?;
        for version in self.subjects.get_mut(subject).map_or(&mut [][..], Vec::as_mut_slice) {
            version.is_deleted = true;
        }
        Ok(alive)
    }
}

fn stored(subject: &str, Version { number, global_id, schema, .. }: &Version) -> StoredSchema {
    StoredSchema {
        subject: subject.to_owned(),
        version: *number,
        id: schema.id,
        global_id: *global_id,
        guid: schema.guid.clone(),
        schema_type: schema.schema_type.clone(),
        text: schema.text.clone(),
        references: schema.references.clone(),
    }
}

/// Whether two texts are one schema. In JSON, white space does not count.
fn is_same_text(one: &str, other: &str, schema_type: &str) -> bool {
    let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
    match schema_type {
        "PROTOBUF" => one == other,
        _ => one == other || parse(one).is_some_and(|one| Some(one) == parse(other)),
    }
}

/// A GUID that depends on the schema alone, as Confluent's.
fn guid(schema_type: &str, text: &str, references: &[RegistryReference]) -> String {
    let whole = digest(&SHA256, format!("{schema_type}\n{references:?}\n{text}").as_bytes());
    let mut out = String::new();
    for (at, byte) in whole.as_ref().iter().take(16).enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        out.push_str(&format!("{byte:02x}"));
    }
    out
}
