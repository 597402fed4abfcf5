//! A schema with the definitions of what it refers to in place of the names of references.
//!
//! Invariant: a type is defined once, where it is used first; nesting is bounded, beyond which names stay.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::Type;

/// The nesting that the JSON parser allows a reader of the result.
const MAX_DEPTH: usize = 100;

/// Puts the texts of named types in place of their names.
pub(in super::super) fn resolved(text: &str, definitions: &HashMap<&str, &str>) -> String {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    let Some(schema) = read(text) else { return text.to_owned() };
    let waiting = definitions.iter().filter_map(|(name, text)| Some(((*name).to_owned(), read(text)?)));
    Resolution { waiting: waiting.collect() }.resolve(schema, "", 0).to_string()
}

struct Resolution {
    /// The definitions that were not yet used.
    waiting: HashMap<String, Value>,
}

impl Resolution {
    fn resolve(&mut self, schema: Value, namespace: &str, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return schema;
        }
        match schema {
            Value::String(name) => {
                if Type::primitive(&name).is_some() {
                    return name.into();
                }
                let full = if name.contains('.') || namespace.is_empty() {
                    name.clone()
                } else {
                    format!("{namespace}.{name}")
                };
                match self.waiting.remove(&full) {
                    Some(definition) => self.resolve(definition, "", depth + 1),
                    None => name.into(),
                }
            }
            Value::Array(branches) => {
                branches.into_iter().map(|branch| self.resolve(branch, namespace, depth + 1)).collect()
            }
            Value::Object(fields) => Value::Object(self.resolve_parts(fields, namespace, depth)),
            other => other,
        }
    }

    fn resolve_parts(
        &mut self,
        mut parts: Map<String, Value>,
        namespace: &str,
        depth: usize,
    ) -> Map<String, Value> {
        let namespace = own_namespace(&parts).unwrap_or_else(|| namespace.to_owned());
        for key in ["type", "items", "values"] {
            // The name of a kind of type is no reference.
            let is_kind = |value: &Value| {
                let name = value.as_str().unwrap_or_default();
                key == "type" && ["record", "error", "enum", "fixed", "array", "map"].contains(&name)
            };
            if let Some(value) = parts.get_mut(key).filter(|value| !is_kind(value)) {
                *value = self.resolve(value.take(), &namespace, depth + 1);
            }
        }
        if let Some(Value::Array(fields)) = parts.get_mut("fields") {
            for field in fields.iter_mut().filter_map(Value::as_object_mut) {
                if let Some(ty) = field.get_mut("type") {
                    *ty = self.resolve(ty.take(), &namespace, depth + 1);
                }
            }
        }
        parts
    }
}

/// The namespace that the definition of a named type sets.
fn own_namespace(parts: &Map<String, Value>) -> Option<String> {
    let name = parts.get("name")?.as_str()?;
    match name.rsplit_once('.') {
        Some((namespace, _)) => Some(namespace.to_owned()),
        None => parts.get("namespace")?.as_str().map(str::to_owned),
    }
}
