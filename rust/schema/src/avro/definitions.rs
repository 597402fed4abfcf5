//! The definitions of named types, from referenced schemas and from the schema itself. A schema may use its own types
//! before it defines them.
//!
//! Invariants: each definition is taken at most once. A referenced schema is read once, however many schemas reference
//! it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::names::full_name;
use super::schema::primitive;
use super::{invalid, unsupported};
use crate::error::SchemaError;
use crate::registered_schema::RegisteredSchema;
use crate::shape::MAX_DEPTH;

/// Definitions by full name, each with its enclosing namespace.
type ByName = HashMap<String, (Value, String)>;

pub(super) struct Definitions {
    referenced: ByName,
    own: ByName,
}

/// The JSON of a schema's text.
pub(super) fn parse_json(text: &str) -> Result<Value, SchemaError> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        // Registries also contain primitive schemas without quotes.
        Err(_) if primitive(text.trim()).is_some() => Ok(Value::String(text.trim().to_owned())),
        Err(error) => Err(invalid(format!("it is not JSON: {error}"))),
    }
}

pub(super) fn is_named_type(ty: &Value) -> bool {
    matches!(ty.as_str(), Some("record" | "error" | "enum" | "fixed"))
}

impl Definitions {
    /// Collects the definitions of a schema.
    pub(super) fn of(schema: &RegisteredSchema) -> Result<Self, SchemaError> {
        let mut definitions = Self { referenced: HashMap::new(), own: HashMap::new() };
        collect_references(&mut definitions.referenced, schema, &mut HashSet::new(), 0)?;
        collect(&mut definitions.own, &parse_json(&schema.text)?, "", 0);
        Ok(definitions)
    }

    /// Takes a definition of a referenced schema.
    pub(super) fn take_referenced(&mut self, full: &str) -> Option<(Value, String)> {
        self.referenced.remove(full)
    }

    /// Takes a definition of the schema itself.
    pub(super) fn take_own(&mut self, full: &str) -> Option<(Value, String)> {
        self.own.remove(full)
    }
}

fn collect_references(
    out: &mut ByName,
    schema: &RegisteredSchema,
    read: &mut HashSet<*const RegisteredSchema>,
    depth: usize,
) -> Result<(), SchemaError> {
    if depth > MAX_DEPTH {
        return Err(unsupported("its references are nested too deep"));
    }
    for reference in &schema.references {
        if !read.insert(Arc::as_ptr(&reference.schema)) {
            continue;
        }
        collect_references(out, &reference.schema, read, depth + 1)?;
        collect(out, &parse_json(&reference.schema.text)?, "", 0);
    }
    Ok(())
}

fn collect(out: &mut ByName, schema: &Value, namespace: &str, depth: usize) {
    // Parsing will reject deeper nesting anyway.
    if depth > MAX_DEPTH {
        return;
    }
    match schema {
        Value::Array(branches) => {
            for branch in branches {
                collect(out, branch, namespace, depth + 1);
            }
        }
        Value::Object(object) if object.get("type").is_some_and(is_named_type) => {
            if let Ok((full, inner)) = full_name(object, namespace) {
                out.entry(full).or_insert_with(|| (schema.clone(), namespace.to_owned()));
                let fields = object.get("fields").and_then(Value::as_array);
                for field in fields.into_iter().flatten() {
                    if let Some(ty) = field.get("type") {
                        collect(out, ty, &inner, depth + 1);
                    }
                }
            }
        }
        Value::Object(object) => {
            for key in ["type", "items", "values"] {
                if let Some(inner) = object.get(key) {
                    collect(out, inner, namespace, depth + 1);
                }
            }
        }
        _ => {}
    }
}
