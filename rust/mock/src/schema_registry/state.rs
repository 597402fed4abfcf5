//! Subjects and their versions. No I/O.
//!
//! Invariants: a version's number is the next after the last one of its subject; global ids, of versions in all
//! subjects, count from 1 and are never used again; a version that was deleted softly remains available by id and as
//! a reference.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::contract::Contract;
use super::failure::RegistryFailure;
use super::import::Import;
use super::modes::Modes;
use super::schemas::{RegistryReference, Schema, SchemaDocument, Schemas};
use super::settings::Settings;
use super::subject_names::context_of;

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
    /// Metadata and rules.
    pub contract: Contract,
}

impl StoredSchema {
    pub(super) fn document(&self) -> SchemaDocument {
        let Self { schema_type, text, references, contract, .. } = self.clone();
        SchemaDocument::new(schema_type, text, references, contract)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Version {
    pub(super) number: i32,
    pub(super) global_id: i32,
    pub(super) schema: Arc<Schema>,
    pub(super) is_deleted: bool,
}

/// The registry's contents.
#[derive(Debug, Default)]
pub(super) struct RegistryState {
    pub(super) schemas: Schemas,
    /// No subject is without versions.
    pub(super) subjects: BTreeMap<String, Vec<Version>>,
    /// The last global id.
    global_id: i32,
    /// Subjects that refuse changes.
    strict: HashSet<String>,
    pub(super) settings: Settings,
    pub(super) modes: Modes,
}

/// Which version of a subject a request is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    Latest,
    Number(i32),
}

/// Which versions a request is about: those that are alive, those that were deleted softly, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listed {
    Alive,
    Deleted,
    All,
}

impl Listed {
    pub(super) fn has(self, version: &Version) -> bool {
        match self {
            Self::Alive => !version.is_deleted,
            Self::Deleted => version.is_deleted,
            Self::All => true,
        }
    }
}

impl RegistryState {
    /// Registers a schema as a client does: if the subject's level of compatibility allows it.
    pub(super) fn register_compatible(
        &mut self,
        subject: &str,
        document: SchemaDocument,
        import: Import,
        normalize: bool,
    ) -> Result<StoredSchema, RegistryFailure> {
        self.validate(&document)?;
        if import != Import::default() {
            self.check_import(subject, &document, import)?;
            return self.register(subject, document, import);
        }
        if normalize && let Ok(found) = self.lookup(subject, &document, Listed::Alive, true) {
            return Ok(found);
        }
        if self.alive_version(subject, &document).is_none() {
            self.check_mode(subject, true)?;
            let differences = self.differences_from_earlier(subject, &document)?;
            if !differences.is_empty() {
                return Err(RegistryFailure::incompatible(subject, &differences));
            }
        }
        self.register(subject, document, import)
    }

    /// Registers a schema, whatever the level of compatibility.
    pub(super) fn register(
        &mut self,
        subject: &str,
        mut document: SchemaDocument,
        import: Import,
    ) -> Result<StoredSchema, RegistryFailure> {
        self.validate(&document)?;
        if let Some(version) = self.alive_version(subject, &document) {
            return Ok(stored(subject, version));
        }
        if self.strict.contains(subject) && self.listed(subject, Listed::Alive).next().is_some() {
            return Err(RegistryFailure::incompatible(subject, &["the subject refuses changes".to_owned()]));
        }
        if let Some(latest) = self.listed(subject, Listed::Alive).last() {
            document.contract = document.contract.or(&latest.schema.document.contract);
        }
        let context = context_of(subject);
        let known = self.schemas.find(&context, &document).filter(|known| import.is_id(known.id));
        let schema = known.unwrap_or_else(|| self.schemas.add(&context, document, import.id));
        let versions = self.subjects.entry(subject.to_owned()).or_default();
        let number = import.version.unwrap_or_else(|| versions.last().map_or(1, |last| last.number + 1));
        self.global_id = self.global_id.saturating_add(1);
        let version = Version { number, global_id: self.global_id, schema, is_deleted: false };
        let stored = stored(subject, &version);
        versions.push(version);
        versions.sort_by_key(|version| version.number);
        Ok(stored)
    }

    fn alive_version(&self, subject: &str, document: &SchemaDocument) -> Option<&Version> {
        self.listed(subject, Listed::Alive).find(|version| document.is_same(&version.schema.document))
    }

    /// Makes a subject refuse schemas that differ from its latest version, or accept all again.
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

    /// The versions of a subject, the earliest first.
    pub(super) fn listed(&self, subject: &str, listed: Listed) -> impl DoubleEndedIterator<Item = &Version> {
        let versions = self.subjects.get(subject).map_or(&[][..], Vec::as_slice);
        versions.iter().filter(move |version| listed.has(version))
    }

    /// The names of the subjects that have such versions.
    pub(super) fn subjects(&self, listed: Listed) -> Vec<String> {
        let has_some = |versions: &[Version]| match listed {
            // A subject is deleted when all of its versions are.
            Listed::Deleted => versions.iter().all(|version| version.is_deleted),
            _ => versions.iter().any(|version| listed.has(version)),
        };
        let found = self.subjects.iter().filter(|(_, versions)| has_some(versions));
        found.map(|(subject, _)| subject.clone()).collect()
    }

    pub(super) fn versions(&self, subject: &str, listed: Listed) -> Result<Vec<i32>, RegistryFailure> {
        let found: Vec<i32> = self.listed(subject, listed).map(|version| version.number).collect();
        if found.is_empty() { Err(RegistryFailure::no_subject(subject)) } else { Ok(found) }
    }

    pub(super) fn version(
        &self,
        subject: &str,
        which: Which,
        listed: Listed,
    ) -> Result<StoredSchema, RegistryFailure> {
        let mut visible = self.listed(subject, listed).peekable();
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
        document: &SchemaDocument,
        listed: Listed,
        normalize: bool,
    ) -> Result<StoredSchema, RegistryFailure> {
        self.versions(subject, listed)?;
        self.validate(document)?;
        let is_same = |known: &SchemaDocument| {
            let is_normal =
                || document.contract.matches(&known.contract) && known.normalized() == document.normalized();
            document.is_same(known) || (normalize && is_normal())
        };
        let found = self.listed(subject, listed).find(|it| is_same(&it.schema.document));
        found.map(|it| stored(subject, it)).ok_or_else(RegistryFailure::no_schema)
    }

    /// The versions that have a schema, in all subjects.
    pub(super) fn places(
        &self,
        context: &str,
        id: &str,
        listed: Listed,
    ) -> Result<Vec<StoredSchema>, RegistryFailure> {
        let schema = self.schemas.by_id(context, id)?;
        let all = self.all_versions().filter(|(_, it)| Arc::ptr_eq(&it.schema, &schema) && listed.has(it));
        Ok(all.map(|(subject, version)| stored(subject, version)).collect())
    }

    pub(super) fn by_global_id(&self, id: &str) -> Option<StoredSchema> {
        let (subject, version) = self.all_versions().find(|(_, it)| it.global_id.to_string() == id)?;
        Some(stored(subject, version))
    }

    /// The latest version whose metadata has these properties.
    pub(super) fn with_metadata(
        &self,
        subject: &str,
        properties: &[(&str, &str)],
        listed: Listed,
    ) -> Result<StoredSchema, RegistryFailure> {
        self.versions(subject, listed)?;
        let has_all = |version: &&Version| {
            let contract = &version.schema.document.contract;
            properties
                .iter()
                .all(|(name, value)| contract.property(name).and_then(Value::as_str) == Some(value))
        };
        let found = self.listed(subject, listed).rev().find(has_all);
        found.map(|version| stored(subject, version)).ok_or_else(RegistryFailure::no_schema)
    }

    /// The versions of all subjects.
    pub(super) fn stored_versions(&self, listed: Listed) -> Vec<StoredSchema> {
        let found = self.all_versions().filter(|(_, version)| listed.has(version));
        found.map(|(subject, version)| stored(subject, version)).collect()
    }

    /// All versions, with their subjects.
    pub(super) fn all_versions(&self) -> impl Iterator<Item = (&str, &Version)> {
        let subjects = self.subjects.iter();
        subjects.flat_map(|(subject, versions)| versions.iter().map(move |it| (subject.as_str(), it)))
    }
}

fn stored(subject: &str, Version { number, global_id, schema, .. }: &Version) -> StoredSchema {
    let SchemaDocument { schema_type, text, references, contract, .. } = &schema.document;
    StoredSchema {
        subject: subject.to_owned(),
        version: *number,
        id: schema.id,
        global_id: *global_id,
        guid: schema.guid.clone(),
        schema_type: schema_type.clone(),
        text: text.clone(),
        references: references.clone(),
        contract: contract.clone(),
    }
}
