//! Levels of compatibility, and what a change of a subject would break.
//!
//! Invariant: a level that was never set is BACKWARD, as Confluent's. Only Avro has rules here; of JSON Schema and
//! Protobuf, the mock compares the type alone.

use std::collections::HashMap;

use super::avro;
use super::failure::RegistryFailure;
use super::schemas::SchemaDocument;
use super::state::{Listed, RegistryState, Version, Which};

/// Which changes a subject accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompatibilityLevel {
    /// All of them.
    None,
    /// The new schema can read data of the latest one.
    #[default]
    Backward,
    /// The new schema can read data of all earlier ones.
    BackwardTransitive,
    /// The latest schema can read data of the new one.
    Forward,
    /// All earlier schemas can read data of the new one.
    ForwardTransitive,
    /// Both ways with the latest schema.
    Full,
    /// Both ways with all earlier schemas.
    FullTransitive,
}

impl CompatibilityLevel {
    const ALL: [(Self, &'static str); 7] = [
        (Self::None, "NONE"),
        (Self::Backward, "BACKWARD"),
        (Self::BackwardTransitive, "BACKWARD_TRANSITIVE"),
        (Self::Forward, "FORWARD"),
        (Self::ForwardTransitive, "FORWARD_TRANSITIVE"),
        (Self::Full, "FULL"),
        (Self::FullTransitive, "FULL_TRANSITIVE"),
    ];

    /// The level with this name, in whichever case.
    ///
    /// # Errors
    ///
    /// There is no such level.
    pub fn parse(name: &str) -> Result<Self, RegistryFailure> {
        let found = Self::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(name));
        found.map(|(level, _)| *level).ok_or_else(RegistryFailure::invalid_level)
    }

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(level, _)| *level == self).map_or("", |(_, name)| name)
    }

    fn is_transitive(self) -> bool {
        matches!(self, Self::BackwardTransitive | Self::ForwardTransitive | Self::FullTransitive)
    }

    fn is_backward(self) -> bool {
        matches!(self, Self::Backward | Self::BackwardTransitive | Self::Full | Self::FullTransitive)
    }

    fn is_forward(self) -> bool {
        matches!(self, Self::Forward | Self::ForwardTransitive | Self::Full | Self::FullTransitive)
    }
}

/// The level of all subjects, and those of some.
#[derive(Debug, Default)]
pub(super) struct Levels {
    global: CompatibilityLevel,
    subjects: HashMap<String, CompatibilityLevel>,
}

impl Levels {
    /// The level of a subject if it has its own one, or the global one.
    pub(super) fn own(&self, subject: Option<&str>) -> Option<CompatibilityLevel> {
        match subject {
            Some(subject) => self.subjects.get(subject).copied(),
            None => Some(self.global),
        }
    }

    /// The level that decides for a subject.
    pub(super) fn effective(&self, subject: &str) -> CompatibilityLevel {
        self.own(Some(subject)).unwrap_or(self.global)
    }

    pub(super) fn set(&mut self, subject: Option<&str>, level: CompatibilityLevel) {
        match subject {
            Some(subject) => drop(self.subjects.insert(subject.to_owned(), level)),
            None => self.global = level,
        }
    }

    /// Resets a level, and returns it if there was one.
    pub(super) fn reset(&mut self, subject: Option<&str>) -> Option<CompatibilityLevel> {
        match subject {
            Some(subject) => self.subjects.remove(subject),
            None => Some(std::mem::take(&mut self.global)),
        }
    }
}

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
        if self.refuses_changes(subject) && !known.is_same(document) {
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
