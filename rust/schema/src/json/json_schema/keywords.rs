//! The keywords of a schema, together with those of the schemas that it combines by `$ref`, `allOf`, `anyOf` and
//! `oneOf`.
//!
//! Invariant: no alternative is dropped. If the alternatives do not fit into one type, the whole value is mixed.

use std::collections::{HashMap, HashSet};

use super::references::Location;
use super::types::Types;
use super::{Compiler, MAX_NESTING, MAX_STEPS};
use crate::error::SchemaError;
use crate::json::document::Document;
use crate::json::{invalid, unsupported};

/// The keywords that affect the type.
#[derive(Debug, Default)]
pub(super) struct Keywords<'a> {
    /// The allowed types, or `None` if no keyword restricts them.
    pub(super) types: Option<Types>,
    /// The properties in the order of the text. A property may have several schemas.
    pub(super) properties: Vec<(&'a str, Vec<Location<'a>>)>,
    positions: HashMap<&'a str, usize>,
    pub(super) required: HashSet<&'a str>,
    pub(super) additional: Vec<Location<'a>>,
    pub(super) patterns: Vec<Location<'a>>,
    /// Whether no additional property is allowed.
    pub(super) is_closed: bool,
    pub(super) items: Vec<Location<'a>>,
    /// Whether items have different schemas by position.
    pub(super) is_tuple: bool,
    /// Whether there are alternatives of different types.
    pub(super) is_mixed: bool,
}

impl<'a> Keywords<'a> {
    /// Returns the types of values that are not null. If the schema names no types, the other keywords imply them.
    pub(super) fn value_types(&self) -> Option<Types> {
        match self.types {
            Some(types) => Some(types.without_null()),
            None if self.describes_objects() => Some(Types::OBJECT),
            None if self.is_tuple || !self.items.is_empty() => Some(Types::ARRAY),
            None => None,
        }
    }

    fn describes_objects(&self) -> bool {
        !(self.properties.is_empty() && self.additional.is_empty() && self.patterns.is_empty())
    }

    /// Returns whether the schema specifies more than the names of types.
    fn has_structure(&self) -> bool {
        self.describes_objects() || self.is_tuple || self.is_mixed || !self.items.is_empty()
    }

    fn restrict(&mut self, types: Types) {
        self.types = Some(self.types.map_or(types, |known| known & types));
    }

    fn add_property(&mut self, name: &'a str, schemas: impl IntoIterator<Item = Location<'a>>) {
        let at = *self.positions.entry(name).or_insert(self.properties.len());
        if at == self.properties.len() {
            self.properties.push((name, Vec::new()));
        }
        if let Some((_, known)) = self.properties.get_mut(at) {
            known.extend(schemas);
        }
    }

    /// Adds the keywords of another schema that values must also match.
    fn absorb(&mut self, other: Self) {
        if let Some(types) = other.types {
            self.restrict(types);
        }
        for (name, schemas) in other.properties {
            self.add_property(name, schemas);
        }
        self.required.extend(other.required);
        self.additional.extend(other.additional);
        self.patterns.extend(other.patterns);
        self.items.extend(other.items);
        self.is_closed |= other.is_closed;
        self.is_tuple |= other.is_tuple;
        self.is_mixed |= other.is_mixed;
    }
}

impl<'a> Compiler<'a> {
    /// Adds the keywords of a schema.
    pub(super) fn collect(
        &mut self,
        at: &Location<'a>,
        keywords: &mut Keywords<'a>,
        path: &str,
    ) -> Result<(), SchemaError> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(unsupported(format!(
                "it has more than {MAX_STEPS} schemas, with references expanded"
            )));
        }
        if self.nesting >= MAX_NESTING {
            return Err(unsupported(format!("its schemas are nested more than {MAX_NESTING} levels deep")));
        }
        self.nesting += 1;
        let collected = match at.schema {
            Document::Boolean(true) => Ok(()),
            Document::Boolean(false) => {
                keywords.restrict(Types::NONE);
                Ok(())
            }
            Document::Object(_) => self.collect_object(at, keywords, path),
            _ => Err(invalid(format!("expected a schema at {path}"))),
        };
        self.nesting -= 1;
        collected
    }

    fn collect_object(
        &mut self,
        at: &Location<'a>,
        keywords: &mut Keywords<'a>,
        path: &str,
    ) -> Result<(), SchemaError> {
        let schema = at.schema;
        if let Some(reference) = schema.get("$ref").and_then(Document::as_str) {
            let target = self.library.resolve(at, reference, path)?;
            self.collect(&target, keywords, path)?;
            if !self.library.has_siblings(at) {
                return Ok(());
            }
        }
        // Their target depends on the schema through which this one was reached.
        keywords.is_mixed |= ["$dynamicRef", "$recursiveRef"].iter().any(|key| schema.get(key).is_some());
        if let Some(types) = schema.get("type") {
            let names = types.as_array().unwrap_or(std::slice::from_ref(types));
            let mut union = Types::NONE;
            for name in names {
                let named = name.as_str().and_then(Types::named);
                union = union | named.ok_or_else(|| invalid(format!("the type at {path} is unknown")))?;
            }
            keywords.restrict(union);
        }
        let values = schema.get("enum").and_then(Document::as_array);
        for values in [values, schema.get("const").map(std::slice::from_ref)].into_iter().flatten() {
            keywords.restrict(values.iter().map(Types::of).fold(Types::NONE, |union, ty| union | ty));
        }
        collect_object_keywords(at, keywords);
        collect_array_keywords(at, keywords);
        for part in schemas(at, "allOf", path)? {
            self.collect(&part, keywords, path)?;
        }
        for key in ["anyOf", "oneOf"] {
            let alternatives = schemas(at, key, path)?;
            if !alternatives.is_empty() {
                self.collect_alternatives(&alternatives, keywords, path)?;
            }
        }
        Ok(())
    }

    fn collect_alternatives(
        &mut self,
        alternatives: &[Location<'a>],
        keywords: &mut Keywords<'a>,
        path: &str,
    ) -> Result<(), SchemaError> {
        let mut null = Types::NONE;
        let mut rest = Vec::new();
        for alternative in alternatives {
            let mut branch = Keywords::default();
            self.collect(alternative, &mut branch, path)?;
            match branch.types {
                // The alternative adds at most a condition, such as "required".
                None if !branch.has_structure() => return Ok(()),
                Some(types) if types.without_null() == Types::NONE => null = null | types,
                _ => {
                    null = null | branch.types.unwrap_or(Types::NULL) & Types::NULL;
                    rest.push(branch);
                }
            }
        }
        let union = rest.iter().filter_map(Keywords::value_types).fold(null, |union, types| union | types);
        let has_structure = rest.iter().any(Keywords::has_structure);
        if rest.len() > 1 && has_structure && !self.are_same(&rest, path)? {
            keywords.is_mixed = true;
        }
        let mut rest = rest.into_iter();
        if let Some(mut first) = rest.next().filter(|_| has_structure) {
            first.types = None;
            for other in rest {
                first.required.retain(|name| other.required.contains(name));
            }
            keywords.absorb(first);
        }
        keywords.restrict(union);
        Ok(())
    }

    /// Returns whether all alternatives have the same type.
    fn are_same(&mut self, alternatives: &[Keywords<'a>], path: &str) -> Result<bool, SchemaError> {
        let was_comparing = std::mem::replace(&mut self.is_comparing, true);
        let mut fields = alternatives.iter().map(|alternative| {
            let field = self.column("value", alternative, path, 1)?;
            Ok(field.with_nullable(true))
        });
        let first = fields.next().transpose()?;
        let mut are_same = true;
        for field in fields {
            are_same &= Some(field?) == first;
            if !are_same {
                break;
            }
        }
        self.is_comparing = was_comparing;
        Ok(are_same)
    }
}

fn collect_object_keywords<'a>(at: &Location<'a>, keywords: &mut Keywords<'a>) {
    let schema = at.schema;
    for (name, property) in schema.get("properties").map(Document::entries).unwrap_or_default() {
        // A property that allows no value never occurs.
        if *property != Document::Boolean(false) {
            keywords.add_property(name, [at.inner(property)]);
        }
    }
    let required = schema.get("required").and_then(Document::as_array).unwrap_or_default();
    keywords.required.extend(required.iter().filter_map(Document::as_str));
    match schema.get("additionalProperties") {
        Some(Document::Boolean(false)) => keywords.is_closed = true,
        Some(values) => keywords.additional.push(at.inner(values)),
        None => {}
    }
    let patterns = schema.get("patternProperties").map(Document::entries).unwrap_or_default();
    keywords.patterns.extend(patterns.iter().map(|(_, values)| at.inner(values)));
}

fn collect_array_keywords<'a>(at: &Location<'a>, keywords: &mut Keywords<'a>) {
    let prefix = at.schema.get("prefixItems").and_then(Document::as_array).unwrap_or_default();
    keywords.is_tuple |= !prefix.is_empty();
    match at.schema.get("items") {
        Some(Document::Array(_)) => keywords.is_tuple = true,
        Some(Document::Boolean(false)) | None => {}
        Some(items) => keywords.items.push(at.inner(items)),
    }
}

/// Returns the schemas in a keyword's array.
fn schemas<'a>(at: &Location<'a>, key: &str, path: &str) -> Result<Vec<Location<'a>>, SchemaError> {
    match at.schema.get(key) {
        None => Ok(Vec::new()),
        Some(Document::Array(schemas)) => Ok(schemas.iter().map(|schema| at.inner(schema)).collect()),
        Some(_) => Err(invalid(format!("the {key} at {path} is not an array"))),
    }
}
