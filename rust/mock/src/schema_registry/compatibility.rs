//! What a change of a subject would break, by its level of compatibility.
//!
//! Invariant: what the registry reports has the form of Confluent's: the differences, and then the version, its schema and
//! the level.

use super::avro;
use super::difference::Difference;
use super::failure::RegistryFailure;
use super::json_schema;
use super::levels::CompatibilityLevel;
use super::protobuf;
use super::schemas::SchemaDocument;
use super::state::{Listed, RegistryState, Version, Which};

/// The characters of an old schema that a report has.
const MAX_SCHEMA: usize = 10_000;

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
        let count = if self.settings.level(subject).is_transitive() { usize::MAX } else { 1 };
        let group = self.settings.group(subject);
        let property = |of: &SchemaDocument| group.map(|group| of.contract.property(group).cloned());
        let compared = self
            .listed(subject, Listed::Alive)
            .filter(|version| property(&version.schema.document) == property(document));
        for version in compared.rev().take(count) {
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
        let (level, number) = (self.settings.level(subject), earlier.number);
        let known = &earlier.schema.document;
        if self.refuses_changes(subject) && !document.is_same(known) {
            return Ok(vec![format!("The schema differs from version {number} of subject '{subject}'")]);
        }
        if level == CompatibilityLevel::None {
            return Ok(Vec::new());
        }
        let found = self.compare(level, self.settings.is_lenient(subject), known, document)?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let mut messages: Vec<String> = found.iter().map(Difference::to_string).collect();
        messages.push(format!("{{oldSchemaVersion: {number}}}"));
        messages.push(match known.text.char_indices().nth(MAX_SCHEMA) {
            None => format!("{{oldSchema: '{}'}}", known.text),
            Some((end, _)) => {
                let beginning = known.text.get(..end).unwrap_or_default();
                format!("{{oldSchema: <truncated> '{beginning}...'}}")
            }
        });
        messages.push(format!("{{compatibility: '{}'}}", level.name()));
        Ok(messages)
    }

    fn compare(
        &self,
        level: CompatibilityLevel,
        is_lenient: bool,
        known: &SchemaDocument,
        document: &SchemaDocument,
    ) -> Result<Vec<Difference>, RegistryFailure> {
        if known.schema_type != document.schema_type {
            let reason = format!("it was {}, and is {}", known.schema_type, document.schema_type);
            return Ok(vec![Difference::new("SCHEMA_TYPE_CHANGED", "/", reason)]);
        }
        match known.schema_type.as_str() {
            "AVRO" => {
                let (old, new) = (self.parse_avro(known)?, self.parse_avro(document)?);
                Ok(both_ways(level, &old, &new, |old, new| avro::differences(new, old)))
            }
            "JSON" => {
                let (old, new) = (self.parse_json(known)?, self.parse_json(document)?);
                Ok(both_ways(level, &old, &new, |old, new| json_schema::differences(old, new, is_lenient)))
            }
            _ => match (self.parse_protobuf(known)?, self.parse_protobuf(document)?) {
                (Some(old), Some(new)) => Ok(both_ways(level, &old, &new, protobuf::differences)),
                _ => Ok(Vec::new()),
            },
        }
    }
}

/// What a comparison of an old with a new schema finds in the directions of a level.
fn both_ways<T>(
    level: CompatibilityLevel,
    old: &T,
    new: &T,
    compare: impl Fn(&T, &T) -> Vec<Difference>,
) -> Vec<Difference> {
    let mut found = Vec::new();
    if level.is_backward() {
        found.extend(compare(old, new));
    }
    if level.is_forward() {
        found.extend(compare(new, old));
    }
    found
}
