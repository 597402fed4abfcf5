//! A schema with the schemas that it refers to, and the resolution of `$ref`.
//!
//! Invariant: chains of references are followed a bounded number of steps.

use serde_json::Value;

/// A chain of `$ref` that is longer counts as unresolved.
const MAX_HOPS: usize = 32;

/// A schema and those that it refers to.
#[derive(Debug)]
pub(in super::super) struct JsonSchema {
    root: Value,
    /// By the names of the references.
    referenced: Vec<(String, Value)>,
}

/// A schema in a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) schema: &'a Value,
    document: &'a Value,
    all: &'a JsonSchema,
}

impl JsonSchema {
    /// Reads a text, and those that it refers to by name.
    pub(in super::super) fn parse(text: &str, referenced: &[(&str, &str)]) -> Result<Self, String> {
        let read = |text: &str| {
            serde_json::from_str::<Value>(text).map_err(|error| format!("it is not JSON: {error}"))
        };
        let named = referenced.iter().map(|(name, text)| Ok(((*name).to_owned(), read(text)?)));
        Ok(Self { root: read(text)?, referenced: named.collect::<Result<_, String>>()? })
    }

    pub(super) fn root(&self) -> Node<'_> {
        Node { schema: &self.root, document: &self.root, all: self }
    }
}

impl<'a> Node<'a> {
    /// A schema in the same document.
    pub(super) fn with(self, schema: &'a Value) -> Self {
        Self { schema, ..self }
    }

    /// The schema of a keyword.
    pub(super) fn child(self, keyword: &str) -> Option<Self> {
        self.schema.get(keyword).map(|schema| self.with(schema))
    }

    /// Follows `$ref`.
    ///
    /// # Errors
    ///
    /// The reference that cannot be resolved.
    pub(super) fn resolve(self) -> Result<Self, &'a str> {
        let mut node = self;
        let mut last = "";
        for _ in 0..MAX_HOPS {
            let Some(reference) = node.schema.get("$ref").and_then(Value::as_str) else { return Ok(node) };
            last = reference;
            node = node.target(reference).ok_or(reference)?;
        }
        Err(last)
    }

    fn target(self, reference: &str) -> Option<Self> {
        let (name, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let document = if name.is_empty() || id(self.document) == Some(name) {
            self.document
        } else {
            let named = |(known, document): &&(String, Value)| known == name || id(document) == Some(name);
            self.all.referenced.iter().find(named).map(|(_, document)| document)?
        };
        let schema = match fragment {
            "" => document,
            pointer if pointer.starts_with('/') => {
                let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8_lossy();
                document.pointer(&decoded)?
            }
            anchor => anchored(document, anchor)?,
        };
        Some(Self { schema, document, all: self.all })
    }
}

fn id(document: &Value) -> Option<&str> {
    document.get("$id").or_else(|| document.get("id"))?.as_str()
}

/// The definition with this anchor.
fn anchored<'a>(document: &'a Value, anchor: &str) -> Option<&'a Value> {
    let is_it = |schema: &&Value| {
        schema.get("$anchor").and_then(Value::as_str) == Some(anchor)
            || id(schema).and_then(|id| id.strip_prefix('#')) == Some(anchor)
    };
    let definitions = ["definitions", "$defs"].iter().filter_map(|key| document.get(key)?.as_object());
    definitions.flat_map(|named| named.values()).find(is_it)
}
