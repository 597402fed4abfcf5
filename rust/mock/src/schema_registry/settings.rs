//! The settings of the registry, of contexts and of subjects, as the resource `/config` has them.
//!
//! The level, `alias`, `normalize`, `compatibilityGroup` and `compatibilityPolicy` have an effect; others are stored only.
//!
//! Invariants: a level that was never set is BACKWARD, as Confluent's. A subject without a setting has that of its context,
//! and otherwise the global one.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::failure::RegistryFailure;
use super::levels::CompatibilityLevel;
use super::subject_names::context_of;

/// The name of the level in requests, and in responses.
const REQUESTED: &str = "compatibility";
const LEVEL: &str = "compatibilityLevel";
/// The settings besides the level.
const OTHERS: [&str; 12] = [
    "alias",
    "aliasForDeks",
    "normalize",
    "validateFields",
    "validateNewSchemas",
    "validateRules",
    "compatibilityPolicy",
    "compatibilityGroup",
    "defaultMetadata",
    "overrideMetadata",
    "defaultRuleSet",
    "overrideRuleSet",
];

/// The settings of one subject, one context or all: the fields of a response.
type Fields = Map<String, Value>;

/// All settings.
#[derive(Debug, Default)]
pub(super) struct Settings {
    global: Fields,
    subjects: HashMap<String, Fields>,
}

impl Settings {
    /// Changes settings as a request says; null removes one.
    ///
    /// # Errors
    ///
    /// The level or the policy does not exist.
    pub(super) fn update(&mut self, subject: Option<&str>, request: &Value) -> Result<(), RegistryFailure> {
        let level = match request.get(REQUESTED) {
            None | Some(Value::Null) => None,
            Some(level) => Some(CompatibilityLevel::parse(level.as_str().unwrap_or_default())?),
        };
        if let Some(policy) = request.get("compatibilityPolicy").filter(|policy| !policy.is_null()) {
            let is_known = |name: &str| ["STRICT", "LENIENT"].contains(&name.to_uppercase().as_str());
            if !policy.as_str().is_some_and(is_known) {
                return Err(RegistryFailure::invalid_policy());
            }
        }
        let fields = self.fields_mut(subject);
        if let Some(level) = level {
            fields.insert(LEVEL.to_owned(), level.name().into());
        }
        for name in OTHERS {
            match request.get(name) {
                None => {}
                Some(Value::Null) => drop(fields.remove(name)),
                Some(value) => drop(fields.insert(name.to_owned(), value.clone())),
            }
        }
        Ok(())
    }

    pub(super) fn set_level(&mut self, subject: Option<&str>, level: CompatibilityLevel) {
        self.fields_mut(subject).insert(LEVEL.to_owned(), level.name().into());
    }

    fn fields_mut(&mut self, subject: Option<&str>) -> &mut Fields {
        match subject {
            Some(subject) => self.subjects.entry(subject.to_owned()).or_default(),
            None => &mut self.global,
        }
    }

    /// The settings of a subject if it has its own ones, or the global ones.
    pub(super) fn own(&self, subject: Option<&str>) -> Option<Value> {
        match subject {
            Some(subject) => self.subjects.get(subject).cloned().map(Value::Object),
            None => Some(self.with_level(self.global.clone())),
        }
    }

    /// All settings that apply to a subject.
    pub(super) fn in_scope(&self, subject: &str) -> Value {
        let scopes = [self.subjects.get(&context_of(subject)), self.subjects.get(subject)];
        let mut fields = self.global.clone();
        for scope in scopes.into_iter().flatten() {
            fields.extend(scope.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        self.with_level(fields)
    }

    fn with_level(&self, mut fields: Fields) -> Value {
        fields.entry(LEVEL).or_insert_with(|| CompatibilityLevel::default().name().into());
        Value::Object(fields)
    }

    /// Removes settings, and returns them if there were any.
    pub(super) fn reset(&mut self, subject: Option<&str>) -> Option<Value> {
        match subject {
            Some(subject) => self.subjects.remove(subject).map(Value::Object),
            None => {
                let fields = std::mem::take(&mut self.global);
                Some(self.with_level(fields))
            }
        }
    }

    /// The level that decides for a subject.
    pub(super) fn level(&self, subject: &str) -> CompatibilityLevel {
        let name = self.setting(subject, LEVEL).and_then(Value::as_str);
        name.and_then(|name| CompatibilityLevel::parse(name).ok()).unwrap_or_default()
    }

    /// Whether JSON Schemas may change in ways that break only unusual documents.
    pub(super) fn is_lenient(&self, subject: &str) -> bool {
        let policy = self.setting(subject, "compatibilityPolicy").and_then(Value::as_str);
        policy.is_some_and(|policy| policy.eq_ignore_ascii_case("LENIENT"))
    }

    /// Whether schemas are normalized without the request saying so.
    pub(super) fn normalizes(&self, subject: &str) -> bool {
        self.setting(subject, "normalize").and_then(Value::as_bool).unwrap_or(false)
    }

    /// The property of the metadata whose values separate versions that are compared.
    pub(super) fn group(&self, subject: &str) -> Option<&str> {
        self.setting(subject, "compatibilityGroup").and_then(Value::as_str)
    }

    /// The subject that a name stands for.
    pub(super) fn subject<'a>(&'a self, name: &'a str) -> &'a str {
        let alias = self.subjects.get(name).and_then(|fields| fields.get("alias")).and_then(Value::as_str);
        alias.filter(|alias| !alias.is_empty()).unwrap_or(name)
    }

    fn setting(&self, subject: &str, name: &str) -> Option<&Value> {
        let context = context_of(subject);
        let scopes = [self.subjects.get(subject), self.subjects.get(&context), Some(&self.global)];
        scopes.into_iter().flatten().find_map(|fields| fields.get(name))
    }
}
