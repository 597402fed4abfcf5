//! Parses the text of a schema, with the schemas that it references.
//!
//! Invariants: the depth and the size of the result are bounded with all named types expanded. A recursive type is an
//! error for columns, because Arrow has none. No array item takes zero bytes, so a count cannot exceed the payload.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::aliases::Aliases;
use super::definitions::{Definitions, is_named_type, parse_json};
use super::names::{alias_names, full_name, qualify};
use super::parse_logical_type::logical_type;
use super::schema::{Enum, Field, Fixed, Kind, Name, Record, Recursion, Schema, primitive};
use super::{invalid, unsupported};
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::registered_schema::RegisteredSchema;
use crate::shape::{RECURSIVE, Shape, check_level};

/// Whether a record of a reader's schema may contain itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recursive {
    Allowed,
    Refused,
}

/// Parses a reader's schema. Also returns its aliases.
pub(super) fn parse_reader(
    schema: &RegisteredSchema,
    recursive: Recursive,
    limits: &SchemaLimits,
) -> Result<(Schema, Aliases), SchemaError> {
    let mut pass = Pass::new(Definitions::of(schema)?, None, recursive, limits);
    let schema = pass.root(schema)?;
    Ok((schema, pass.aliases))
}

/// Parses a writer's schema. Its types and fields get the reader's names. A record may contain itself, since the reader
/// may skip it.
pub(super) fn parse_writer(
    schema: &RegisteredSchema,
    reader: &Aliases,
    limits: &SchemaLimits,
) -> Result<Schema, SchemaError> {
    Pass::new(Definitions::of(schema)?, Some(reader), Recursive::Allowed, limits).root(schema)
}

type Parsed = Result<(Schema, Shape), SchemaError>;

struct Pass<'a> {
    definitions: Definitions,
    /// The reader's aliases, if this is a writer's schema.
    reader: Option<&'a Aliases>,
    recursive: Recursive,
    limits: &'a SchemaLimits,
    /// The aliases of this schema, if it is a reader's.
    aliases: Aliases,
    defined: HashMap<String, (Schema, Shape)>,
    /// The types that were parsed at their first use, before their definition.
    early: HashMap<String, Value>,
    /// The records whose definitions are being parsed, by their names here.
    open: Vec<(String, Arc<Recursion>)>,
}

impl<'a> Pass<'a> {
    fn new(
        definitions: Definitions,
        reader: Option<&'a Aliases>,
        recursive: Recursive,
        limits: &'a SchemaLimits,
    ) -> Self {
        let (aliases, open) = (Aliases::default(), Vec::new());
        let (defined, early) = (HashMap::new(), HashMap::new());
        Self { definitions, reader, recursive, limits, aliases, defined, early, open }
    }

    fn root(&mut self, schema: &RegisteredSchema) -> Result<Schema, SchemaError> {
        let (schema, shape) = self.schema(&parse_json(&schema.text)?, "", 1)?;
        shape.check(self.limits).map_err(unsupported)?;
        Ok(schema)
    }

    fn schema(&mut self, schema: &Value, namespace: &str, level: usize) -> Parsed {
        check_level(level).map_err(unsupported)?;
        match schema {
            Value::String(name) => match primitive(name) {
                Some(kind) => Ok((kind.into(), primitive_shape(name))),
                None => self.reference(name, namespace, level),
            },
            Value::Array(branches) => self.union(branches, namespace, level),
            Value::Object(object) => self.object(schema, object, namespace, level),
            _ => Err(invalid(format!("expected a type, found {}", short(schema)))),
        }
    }

    fn reference(&mut self, name: &str, namespace: &str, level: usize) -> Parsed {
        let qualified = qualify(name, namespace);
        // A name without a dot may also refer to a type without a namespace.
        for full in [qualified.as_str(), name] {
            if let Some((_, of)) = self.open.iter().find(|(open, _)| open == full) {
                if self.recursive == Recursive::Allowed {
                    // A value takes bytes: it ends only with a union, an array or a map.
                    return Ok((Kind::Recursive(Arc::clone(of)).into(), Shape::LEAF));
                }
                return Err(unsupported(format!("the type {full} {RECURSIVE}")));
            }
            if let Some((schema, shape)) = self.defined.get(full) {
                return Ok((schema.clone(), *shape));
            }
            if let Some((definition, namespace)) = self.definitions.take_referenced(full) {
                return self.schema(&definition, &namespace, level);
            }
        }
        if let Some((definition, namespace)) = self.definitions.take_own(&qualified) {
            let parsed = self.schema(&definition, &namespace, level)?;
            self.early.insert(qualified, definition);
            return Ok(parsed);
        }
        Err(invalid(format!("the type {qualified} is not defined in the schema or its references")))
    }

    fn union(&mut self, branches: &[Value], namespace: &str, level: usize) -> Parsed {
        if branches.is_empty() {
            return Err(unsupported("a union has no branches"));
        }
        let mut shapes = Vec::with_capacity(branches.len());
        let mut parsed: Vec<Schema> = Vec::with_capacity(branches.len());
        for branch in branches {
            if branch.is_array() {
                return Err(invalid("a union is directly inside another one"));
            }
            let (branch, shape) = self.schema(branch, namespace, level + 1)?;
            if parsed.iter().any(|other| other.name() == branch.name()) {
                return Err(invalid(format!("a union has the type {} twice", branch.name())));
            }
            parsed.push(branch);
            shapes.push(shape);
        }
        Ok((
            Kind::Union(Arc::new(parsed)).into(),
            Shape::of(&shapes, false, self.limits).map_err(unsupported)?,
        ))
    }

    fn object(
        &mut self,
        schema: &Value,
        object: &Map<String, Value>,
        namespace: &str,
        level: usize,
    ) -> Parsed {
        let ty = object.get("type").ok_or_else(|| invalid("an object has no \"type\""))?;
        if is_named_type(ty) {
            return self.named(schema, object, namespace, level);
        }
        let Value::String(name) = ty else { return self.schema(ty, namespace, level) };
        match name.as_str() {
            "array" => {
                let items = object.get("items").ok_or_else(|| invalid("an array has no \"items\""))?;
                let (items, shape) = self.schema(items, namespace, level + 1)?;
                if shape.may_be_empty {
                    return Err(unsupported("the items of an array take no bytes"));
                }
                Ok((
                    Kind::Array(Arc::new(items)).into(),
                    Shape::of(&[shape], false, self.limits).map_err(unsupported)?,
                ))
            }
            "map" => {
                let values = object.get("values").ok_or_else(|| invalid("a map has no \"values\""))?;
                let (values, shape) = self.schema(values, namespace, level + 1)?;
                Ok((
                    Kind::Map(Arc::new(values)).into(),
                    Shape::of(&[Shape::LEAF, shape], false, self.limits).map_err(unsupported)?,
                ))
            }
            name => match primitive(name) {
                Some(kind) => {
                    let logical = logical_type(&kind, object);
                    Ok((Schema { kind, logical, is_selected: true }, primitive_shape(name)))
                }
                None => self.reference(name, namespace, level),
            },
        }
    }

    fn named(
        &mut self,
        definition: &Value,
        object: &Map<String, Value>,
        namespace: &str,
        level: usize,
    ) -> Parsed {
        let (full, inner) = full_name(object, namespace)?;
        self.limits.check_name(&full).map_err(unsupported)?;
        if let Some((schema, shape)) = self.defined.get(&full)
            && self.early.get(&full) == Some(definition)
        {
            return Ok((schema.clone(), *shape));
        }
        if self.defined.contains_key(&full) || self.open.iter().any(|(open, _)| *open == full) {
            return Err(invalid(format!("the type {full} is defined twice")));
        }
        let name: Arc<str> = match self.reader {
            Some(reader) => reader.type_name(&full),
            None => full.as_str().into(),
        };
        if self.reader.is_none() {
            self.aliases.add_own_type(&name);
            for alias in alias_names(object) {
                self.aliases.add_type(qualify(alias, &inner), &name);
            }
        }
        let (kind, shape) = match object.get("type").and_then(Value::as_str) {
            Some("enum") => (Kind::Enum(Arc::new(self.symbols(name, object)?)), Shape::LEAF),
            Some("fixed") => {
                let size = object.get("size").and_then(Value::as_u64);
                let size = size.ok_or_else(|| invalid(format!("the fixed type {full} has no valid size")))?;
                let size = self.limits.check_fixed(&full, size).map_err(unsupported)?;
                let fixed = Fixed { name: Name(name), size };
                (Kind::Fixed(Arc::new(fixed)), Shape::fixed(size as u64))
            }
            _ => {
                let recursion = Arc::new(Recursion::new(Arc::clone(&name)));
                self.open.push((full.clone(), Arc::clone(&recursion)));
                let (record, shape) = self.record(name, object, &inner, level)?;
                self.open.pop();
                let record = Arc::new(record);
                recursion.close(&record);
                (Kind::Record(record), shape)
            }
        };
        let logical = logical_type(&kind, object);
        let schema = Schema { kind, logical, is_selected: true };
        self.defined.insert(full, (schema.clone(), shape));
        Ok((schema, shape))
    }

    fn symbols(&self, name: Arc<str>, object: &Map<String, Value>) -> Result<Enum, SchemaError> {
        let symbols = object.get("symbols").and_then(Value::as_array);
        let symbols = symbols.ok_or_else(|| invalid(format!("the enum {name} has no \"symbols\"")))?;
        let symbols: Option<Vec<Arc<str>>> =
            symbols.iter().map(|symbol| symbol.as_str().map(Arc::from)).collect();
        let symbols = symbols.ok_or_else(|| invalid(format!("a symbol of {name} is not a string")))?;
        symbols.iter().try_for_each(|symbol| self.limits.check_name(symbol)).map_err(unsupported)?;
        let default: Option<Arc<str>> = match (self.reader, object.get("default")) {
            (None, Some(Value::String(default))) => Some(default.as_str().into()),
            _ => None,
        };
        if let Some(default) = default.as_ref().filter(|default| !symbols.contains(default)) {
            return Err(invalid(format!("the default {default} of {name} is not one of its symbols")));
        }
        Ok(Enum { name: Name(name), symbols, default })
    }

    fn record(
        &mut self,
        record: Arc<str>,
        object: &Map<String, Value>,
        namespace: &str,
        level: usize,
    ) -> Result<(Record, Shape), SchemaError> {
        let fields = object.get("fields").and_then(Value::as_array);
        let fields = fields.ok_or_else(|| invalid(format!("the record {record} has no \"fields\"")))?;
        let mut parsed = Vec::with_capacity(fields.len());
        let mut shapes = Vec::with_capacity(fields.len());
        let mut by_name = HashMap::with_capacity(fields.len());
        let written: HashSet<&str> =
            fields.iter().filter_map(|field| field.get("name").and_then(Value::as_str)).collect();
        for field in fields {
            let name = field.get("name").and_then(Value::as_str);
            let name = name.ok_or_else(|| invalid(format!("a field of {record} has no name")))?;
            let ty = field.get("type").ok_or_else(|| invalid(format!("{record}.{name} has no type")))?;
            let (schema, shape) = self.schema(ty, namespace, level + 1)?;
            let (name, default) = match self.reader {
                Some(reader) => {
                    let renamed = reader.field_name(&record, name);
                    let is_written = *renamed != *name && written.contains(&*renamed);
                    // The writer's record also has a field of the reader's name, so the alias is another field.
                    (if is_written { Arc::from(name) } else { renamed }, None)
                }
                None => (Arc::from(name), field.get("default").cloned()),
            };
            if self.reader.is_none() {
                self.aliases.add_own_field(&record, &name);
                for alias in field.as_object().into_iter().flat_map(alias_names) {
                    self.aliases.add_field(&record, alias, &name);
                }
            }
            if by_name.insert(Arc::clone(&name), parsed.len()).is_some() {
                return Err(invalid(format!("the record {record} has the field {name} twice")));
            }
            shapes.push(shape.named(&name, self.limits).map_err(unsupported)?);
            parsed.push(Field { name, schema, default });
        }
        let may_be_empty = shapes.iter().all(|shape| shape.may_be_empty);
        Ok((
            Record { name: Name(record), fields: parsed, by_name, whole: None },
            Shape::of(&shapes, may_be_empty, self.limits).map_err(unsupported)?,
        ))
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn primitive_shape(name: &str) -> Shape {
    if name == "null" { Shape::EMPTY } else { Shape::LEAF }
}
