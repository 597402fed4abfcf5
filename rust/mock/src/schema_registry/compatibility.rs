//! What a change of a subject would break, by its level of compatibility.
//!
//! Invariant: only Avro has rules here; of JSON Schema and Protobuf, the mock compares the type alone.

use super::avro;
use super::failure::RegistryFailure;
use super::levels::CompatibilityLevel;
use super::schemas::SchemaDocument;
use super::state::{Listed, RegistryState, Version, Which};

impl RegistryState {
    /// What makes a schema incompatible with one version, or with those that the level is about.
    pub(super) fn check(
        &self,
        subject: &str,
        which: Option<Which>,
        document: &SchemaDocument,
    ) -> Result<Vec<String>, RegistryFailure> {
        self.validate(document)?;
        let Some(which) = which else { return self.differences_from_earlier(subject, document) };
        let number = self.version(subject, which, Listed::Alive)?.version;
        let Some(version) = self.listed(subject, Listed::Alive).find(|it| it.number == number) else {
            return Err(RegistryFailure::no_version(number));
        };
        self.differences(subject, version, document)
    }

    /// What makes a schema incompatible with the versions that the level is about, the latest first.
    pub(super) fn differences_from_earlier(
        &self,
        subject: &str,
        document: &SchemaDocument,
    ) -> Result<Vec<String>, RegistryFailure> {
        let count = if self.levels.effective(subject).is_transitive() { usize::MAX } else { 1 };
        for version in self.listed(subject, Listed::Alive).rev().take(count) {
            let found = self.differences(subject, version, document)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    fn differences(
        &self,
        subject: &str,
        earlier: &Version,
        document: &SchemaDocument,
    ) -> Result<Vec<String>, RegistryFailure> {
        let (level, number) = (self.levels.effective(subject), earlier.number);
        let known = &earlier.schema.document;
        if self.refuses_changes(subject) && !document.is_same(known) {
            return Ok(vec![format!("The schema differs from version {number} of subject '{subject}'")]);
        }
        if level == CompatibilityLevel::None {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        if known.schema_type != document.schema_type {
            found.push(format!("its type is {}, not {}", document.schema_type, known.schema_type));
        } else if known.schema_type == "AVRO" {
            let (new, old) = (self.parse_avro(document)?, self.parse_avro(known)?);
            if level.is_backward() {
                found.extend(avro::differences(&new, &old));
            }
            if level.is_forward() {
                found.extend(avro::differences(&old, &new));
            }
        }
        if !found.is_empty() {
            found.push(format!("compared with version {number} by level {}", level.name()));
        }
        Ok(found)
    }
}
