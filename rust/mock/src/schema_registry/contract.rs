//! What a schema is registered with beside its text: the metadata and the rules of its data contract.
//!
//! Invariant: a schema that is registered without a part has that of the latest version, as in Confluent's registry.

use serde_json::{Value, json};

use super::failure::RegistryFailure;

/// Metadata and rules; null where there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contract {
    /// Properties, tags and sensitive names.
    pub metadata: Value,
    /// Lists of rules.
    pub rule_set: Value,
}

impl Contract {
    /// Reads the fields of a schema.
    pub(super) fn of(document: &Value) -> Result<Self, RegistryFailure> {
        let part = |field: &str| match document.get(field) {
            None | Some(Value::Null) => Ok(Value::Null),
            Some(value) if value.is_object() => Ok(value.clone()),
            Some(_) => Err(RegistryFailure::new(422, 42208, format!("Invalid {field}: it is not an object"))),
        };
        Ok(Self { metadata: part("metadata")?, rule_set: part("ruleSet")? })
    }

    /// Whether a request with `self` is about a schema with `other`: what it leaves out does not count.
    pub(super) fn matches(&self, other: &Self) -> bool {
        let is_same = |own: &Value, other: &Value| own.is_null() || own == other;
        is_same(&self.metadata, &other.metadata) && is_same(&self.rule_set, &other.rule_set)
    }

    /// With what it leaves out from an earlier version.
    pub(super) fn or(self, earlier: &Self) -> Self {
        let part = |own: Value, earlier: &Value| if own.is_null() { earlier.clone() } else { own };
        Self {
            metadata: part(self.metadata, &earlier.metadata),
            rule_set: part(self.rule_set, &earlier.rule_set),
        }
    }

    /// A property of the metadata.
    pub(super) fn property(&self, name: &str) -> Option<&Value> {
        self.metadata.get("properties")?.get(name)
    }

    /// Whether it has a rule of this type.
    pub(super) fn has_rule(&self, rule_type: &str) -> bool {
        let lists = self.rule_set.as_object().into_iter().flatten().filter_map(|(_, rules)| rules.as_array());
        lists.flatten().any(|rule| rule.get("type").and_then(Value::as_str) == Some(rule_type))
    }

    /// Adds the parts that there are to a response.
    pub(super) fn add_to(&self, response: &mut Value) {
        for (field, part) in [("metadata", &self.metadata), ("ruleSet", &self.rule_set)] {
            if !part.is_null() {
                response[field] = json!(part);
            }
        }
    }
}
