//! Objects: which properties came and went, and which must be there.
//!
//! Invariant: a property may be removed if the new content model permits it, and added if the old one did not permit
//! another value in its place.

use serde_json::{Map, Value};

use super::super::super::difference::Difference;
use super::super::document::Node;
use super::content::{Content, Rest};
use super::shape::Shape;
use super::{Comparison, below};

const ADDITIONAL: &str = "additionalProperties";
const UNEVALUATED: &str = "unevaluatedProperties";

impl Comparison {
    pub(super) fn compare_objects(&mut self, old: Node<'_>, new: Node<'_>, at: &str) -> Vec<Difference> {
        let models = (
            Content::new(old.child(ADDITIONAL), old.child(UNEVALUATED)).with_patterns(self, old),
            Content::new(new.child(ADDITIONAL), new.child(UNEVALUATED)).with_patterns(self, new),
        );
        let (before, after) = (object_of(old, "properties"), object_of(new, "properties"));
        let mut found = Vec::new();
        let path = below(at, "properties");
        for (name, schema) in before.into_iter().flatten() {
            let (was, at) = (old.with(schema), below(&path, name));
            match after.and_then(|properties| properties.get(name)) {
                Some(schema) => {
                    let is = new.with(schema);
                    found.extend(self.compare(was, is, &at));
                    if !requires(old, name) && requires(new, name) && !has_default(is) {
                        let reason = "the property must be there now, and has no default";
                        found.push(Difference::new("REQUIRED_ATTRIBUTE_ADDED", &*at, reason));
                    }
                }
                None => found.extend(self.removed(was, name, &models.1, &at)),
            }
            if self.is_exhausted() {
                return vec![Difference::too_large(&at)];
            }
        }
        for (name, schema) in after.into_iter().flatten() {
            if before.is_none_or(|properties| !properties.contains_key(name)) {
                let (is, at) = (new.with(schema), below(&path, name));
                found.extend(self.added(is, name, requires(new, name), &models.0, &at));
            }
            if self.is_exhausted() {
                return vec![Difference::too_large(at)];
            }
        }
        for (keyword, name) in
            [(ADDITIONAL, "ADDITIONAL_PROPERTIES"), (UNEVALUATED, "UNEVALUATED_PROPERTIES")]
        {
            let (was, is) = (Rest::of(old.child(keyword)), Rest::of(new.child(keyword)));
            found.extend(self.compare_rest(was, is, name, &below(at, keyword)));
        }
        found.extend(self.compare_dependencies(old, new, at));
        found
    }

    fn removed(&mut self, was: Node<'_>, name: &str, model: &Content<'_>, at: &str) -> Vec<Difference> {
        if model.is_open() || matches!(Shape::of(was), Shape::Never) {
            return Vec::new();
        }
        let Some(covering) = model.covering(name) else {
            let reason = "the property is no longer permitted";
            return vec![Difference::new("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", at, reason)];
        };
        let mut found = self.compare(was, covering, at);
        if !found.is_empty() {
            let reason = "what covers the removed property does not permit its values";
            let kind = "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL";
            found.push(Difference::new(kind, at, reason));
        }
        found
    }

    fn added(
        &mut self,
        is: Node<'_>,
        name: &str,
        is_required: bool,
        model: &Content<'_>,
        at: &str,
    ) -> Vec<Difference> {
        if model.is_open() {
            if matches!(Shape::of(is), Shape::Any) {
                return Vec::new();
            }
            let kind = match (is_required, has_default(is)) {
                (false, _) => "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
                (true, true) => "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
                (true, false) => "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
            };
            return vec![Difference::new(
                kind,
                at,
                "documents may have the property with other values already",
            )];
        }
        let mut found = match model.covering(name) {
            Some(covering) => self.compare(covering, is, at),
            None => Vec::new(),
        };
        if !found.is_empty() {
            let kind = "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL";
            found.push(Difference::new(kind, at, "values that were permitted before are no longer"));
        }
        if is_required && !has_default(is) {
            let kind = "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL";
            found.push(Difference::new(kind, at, "documents without the property are no longer valid"));
        }
        found
    }

    /// Compares which properties require others, or that the object is valid by another schema.
    fn compare_dependencies(&mut self, old: Node<'_>, new: Node<'_>, at: &str) -> Vec<Difference> {
        let mut found = Vec::new();
        for keyword in ["dependencies", "dependentRequired", "dependentSchemas"] {
            let before = object_of(old, keyword);
            for (name, value) in object_of(new, keyword).into_iter().flatten() {
                let at = below(&below(at, keyword), name);
                let was = before.and_then(|dependencies| dependencies.get(name));
                match (was, value) {
                    (Some(Value::Array(was)), Value::Array(is)) => {
                        self.count(was.len().saturating_mul(is.len()));
                        if !self.is_exhausted() && is.iter().any(|property| !was.contains(property)) {
                            let reason = "the property requires more others";
                            found.push(Difference::new("DEPENDENCY_ARRAY_EXTENDED", at, reason));
                        }
                    }
                    (_, Value::Array(_)) => {
                        found.push(Difference::new(
                            "DEPENDENCY_ARRAY_ADDED",
                            at,
                            "the property requires others",
                        ));
                    }
                    (Some(was), is) if !was.is_array() => {
                        found.extend(self.compare(old.with(was), new.with(is), &at));
                    }
                    _ => {
                        let reason = "objects with the property must be valid by a schema now";
                        found.push(Difference::new("DEPENDENCY_SCHEMA_ADDED", at, reason));
                    }
                }
                if self.is_exhausted() {
                    return found;
                }
            }
        }
        found
    }
}

fn object_of<'a>(node: Node<'a>, keyword: &str) -> Option<&'a Map<String, Value>> {
    node.schema.get(keyword)?.as_object()
}

fn requires(node: Node<'_>, name: &str) -> bool {
    let names = node.schema.get("required").and_then(Value::as_array);
    names.is_some_and(|names| names.iter().any(|known| known == name))
}

fn has_default(node: Node<'_>) -> bool {
    node.resolve().is_ok_and(|node| node.schema.get("default").is_some())
}
