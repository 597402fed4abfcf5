//! Makes an Avro schema self-contained: full names, references inlined at their first use, documentation and
//! unknown properties dropped, and the whole wrapped in a record with the one field `value`. A record of one
//! field is encoded as that field, so the wrapping changes no payload and allows any type at the top.
//!
//! Invariants: the result is bounded in depth and in size with all names expanded. A recursive type is an
//! error, as Arrow has none. No item of an array takes zero bytes, so a count cannot exceed the payload.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::logical_type::with_logical_type;
use super::{invalid, unsupported};
use crate::error::SchemaError;
use crate::registered_schema::RegisteredSchema;
use crate::shape::{MAX_DEPTH, Shape, check_level};

/// What a schema is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Its aliases are names of the writer's fields and types.
    Reader,
    /// Its aliases have no meaning.
    Writer,
}

/// Normalises a schema; returns its text.
pub(super) fn normalise(schema: &RegisteredSchema, role: Role) -> Result<String, SchemaError> {
    let mut pass = Pass { role, referenced: HashMap::new(), defined: HashMap::new(), open: Vec::new() };
    pass.collect_references(schema, 0)?;
    let root = parse(&schema.text)?;
    let (value, shape) = pass.schema(&root, "", 1)?;
    shape.check().map_err(unsupported)?;
    let field = json!({"name": "value", "type": value});
    Ok(json!({"type": "record", "name": "ottla.Column", "fields": [field]}).to_string())
}

fn parse(text: &str) -> Result<Value, SchemaError> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        // Registries hold primitive schemas also without quotes.
        Err(_) if is_primitive(text.trim()) => Ok(Value::String(text.trim().to_owned())),
        Err(error) => Err(invalid(format!("it is not JSON: {error}"))),
    }
}

fn is_primitive(name: &str) -> bool {
    matches!(name, "null" | "boolean" | "int" | "long" | "float" | "double" | "bytes" | "string")
}

fn primitive_shape(name: &str) -> Shape {
    Shape::fixed(u64::from(name != "null"))
}

struct Pass {
    role: Role,
    /// Definitions in referenced schemas that were not used yet, by full name, with their namespace.
    referenced: HashMap<String, (Value, String)>,
    defined: HashMap<String, Shape>,
    /// The names of the types that are being defined.
    open: Vec<String>,
}

impl Pass {
    /// Collects the named types of referenced schemas.
    fn collect_references(&mut self, schema: &RegisteredSchema, depth: usize) -> Result<(), SchemaError> {
        if depth > MAX_DEPTH {
            return Err(unsupported("its references are nested too deep"));
        }
        for reference in &schema.references {
            self.collect_references(&reference.schema, depth + 1)?;
            let root = parse(&reference.schema.text)?;
            self.collect_named(&root, "");
        }
        Ok(())
    }

    fn collect_named(&mut self, schema: &Value, namespace: &str) {
        match schema {
            Value::Array(branches) => {
                for branch in branches {
                    self.collect_named(branch, namespace);
                }
            }
            Value::Object(object) if object.get("type").is_some_and(is_named_type) => {
                if let Ok((full, inner)) = full_name(object, namespace) {
                    self.referenced.entry(full).or_insert_with(|| (schema.clone(), namespace.to_owned()));
                    let fields = object.get("fields").and_then(Value::as_array);
                    for field in fields.into_iter().flatten() {
                        if let Some(ty) = field.get("type") {
                            self.collect_named(ty, &inner);
                        }
                    }
                }
            }
            Value::Object(object) => {
                for key in ["type", "items", "values"] {
                    if let Some(inner) = object.get(key) {
                        self.collect_named(inner, namespace);
                    }
                }
            }
            _ => {}
        }
    }

    fn schema(
        &mut self,
        schema: &Value,
        namespace: &str,
        level: usize,
    ) -> Result<(Value, Shape), SchemaError> {
        check_level(level).map_err(unsupported)?;
        match schema {
            Value::String(name) if is_primitive(name) => Ok((schema.clone(), primitive_shape(name))),
            Value::String(name) => self.reference(name, namespace, level),
            Value::Array(branches) => self.union(branches, namespace, level),
            Value::Object(object) => self.object(object, namespace, level),
            _ => Err(invalid(format!("expected a type, found {}", short(schema)))),
        }
    }

    fn reference(
        &mut self,
        name: &str,
        namespace: &str,
        level: usize,
    ) -> Result<(Value, Shape), SchemaError> {
        let qualified = qualify(name, namespace);
        // A name without a dot may also be one without a namespace.
        for full in [qualified.as_str(), name] {
            if self.open.iter().any(|open| open == full) {
                return Err(unsupported(format!(
                    "the type {full} is recursive, which Arrow has no type for"
                )));
            }
            if let Some(shape) = self.defined.get(full) {
                return Ok((Value::String(full.to_owned()), *shape));
            }
            if let Some((definition, namespace)) = self.referenced.remove(full) {
                return self.schema(&definition, &namespace, level);
            }
        }
        Err(invalid(format!("the type {qualified} is not defined, nor in a reference of the schema")))
    }

    fn union(
        &mut self,
        branches: &[Value],
        namespace: &str,
        level: usize,
    ) -> Result<(Value, Shape), SchemaError> {
        if branches.is_empty() {
            return Err(unsupported("a union has no branches"));
        }
        let mut shapes = Vec::with_capacity(branches.len());
        let mut normalised = Vec::with_capacity(branches.len());
        for branch in branches {
            if branch.is_array() {
                return Err(invalid("a union is directly inside another one"));
            }
            let (branch, shape) = self.schema(branch, namespace, level + 1)?;
            normalised.push(branch);
            shapes.push(shape);
        }
        Ok((Value::Array(normalised), Shape::of(&shapes, false).map_err(unsupported)?))
    }

    fn object(
        &mut self,
        object: &Map<String, Value>,
        namespace: &str,
        level: usize,
    ) -> Result<(Value, Shape), SchemaError> {
        let ty = object.get("type").ok_or_else(|| invalid("an object has no \"type\""))?;
        let Value::String(kind) = ty else { return self.schema(ty, namespace, level) };
        match kind.as_str() {
            "record" | "error" | "enum" | "fixed" => self.named(kind, object, namespace, level),
            "array" => {
                let items = object.get("items").ok_or_else(|| invalid("an array has no \"items\""))?;
                let (items, shape) = self.schema(items, namespace, level + 1)?;
                if shape.may_be_empty {
                    return Err(unsupported("the items of an array take no bytes"));
                }
                let shape = Shape::of(&[shape], false).map_err(unsupported)?;
                Ok((json!({"type": "array", "items": items}), shape))
            }
            "map" => {
                let values = object.get("values").ok_or_else(|| invalid("a map has no \"values\""))?;
                let (values, shape) = self.schema(values, namespace, level + 1)?;
                let shape = Shape::of(&[Shape::LEAF, shape], false).map_err(unsupported)?;
                Ok((json!({"type": "map", "values": values}), shape))
            }
            primitive if is_primitive(primitive) => {
                Ok((with_logical_type(primitive, object, None), primitive_shape(primitive)))
            }
            name => self.reference(name, namespace, level),
        }
    }

    fn named(
        &mut self,
        kind: &str,
        object: &Map<String, Value>,
        namespace: &str,
        level: usize,
    ) -> Result<(Value, Shape), SchemaError> {
        let (full, inner) = full_name(object, namespace)?;
        if self.defined.contains_key(&full) || self.open.contains(&full) {
            return Err(invalid(format!("the type {full} is defined twice")));
        }
        let mut out = Map::new();
        let (namespace, name) = full.rsplit_once('.').unwrap_or(("", &full));
        out.insert("name".into(), name.into());
        out.insert("namespace".into(), namespace.into());
        self.add_aliases(&mut out, object, |alias| qualify(alias, &inner));
        let shape = match kind {
            "enum" => {
                out.insert("type".into(), "enum".into());
                for key in ["symbols", "default"] {
                    if let Some(value) = object.get(key) {
                        out.insert(key.into(), value.clone());
                    }
                }
                Shape::LEAF
            }
            "fixed" => {
                let size = object.get("size").and_then(Value::as_u64);
                let size = size.filter(|size| *size <= i32::MAX as u64);
                let size = size.ok_or_else(|| invalid(format!("the fixed type {full} has no valid size")))?;
                let Value::Object(fixed) = with_logical_type("fixed", object, Some(size)) else {
                    return Err(invalid(format!("the fixed type {full}")));
                };
                out.extend(fixed);
                out.insert("size".into(), size.into());
                Shape::fixed(size)
            }
            _ => {
                out.insert("type".into(), "record".into());
                self.open.push(full.clone());
                let (fields, shape) = self.fields(&full, object, &inner, level)?;
                self.open.pop();
                out.insert("fields".into(), fields.into());
                shape
            }
        };
        self.defined.insert(full, shape);
        Ok((Value::Object(out), shape))
    }

    fn fields(
        &mut self,
        record: &str,
        object: &Map<String, Value>,
        namespace: &str,
        level: usize,
    ) -> Result<(Vec<Value>, Shape), SchemaError> {
        let fields = object.get("fields").and_then(Value::as_array);
        let fields = fields.ok_or_else(|| invalid(format!("the record {record} has no \"fields\"")))?;
        if fields.is_empty() && self.role == Role::Reader {
            return Err(unsupported(format!("the record {record} has no fields")));
        }
        let mut normalised = Vec::with_capacity(fields.len());
        let mut shapes = Vec::with_capacity(fields.len());
        for field in fields {
            let name = field.get("name").and_then(Value::as_str);
            let name = name.ok_or_else(|| invalid(format!("a field of {record} has no name")))?;
            let ty = field.get("type").ok_or_else(|| invalid(format!("{record}.{name} has no type")))?;
            let (ty, shape) = self.schema(ty, namespace, level + 1)?;
            let mut out = Map::new();
            out.insert("name".into(), name.into());
            out.insert("type".into(), ty);
            if let (Some(default), Role::Reader) = (field.get("default"), self.role) {
                out.insert("default".into(), default.clone());
            }
            if let Value::Object(field) = field {
                self.add_aliases(&mut out, field, str::to_owned);
            }
            normalised.push(Value::Object(out));
            shapes.push(shape);
        }
        let may_be_empty = shapes.iter().all(|shape| shape.may_be_empty);
        Ok((normalised, Shape::of(&shapes, may_be_empty).map_err(unsupported)?))
    }

    fn add_aliases(
        &self,
        out: &mut Map<String, Value>,
        object: &Map<String, Value>,
        convert: impl Fn(&str) -> String,
    ) {
        let aliases = object.get("aliases").and_then(Value::as_array).filter(|_| self.role == Role::Reader);
        if let Some(aliases) = aliases {
            let aliases: Vec<String> = aliases.iter().filter_map(Value::as_str).map(convert).collect();
            out.insert("aliases".into(), aliases.into());
        }
    }
}

fn is_named_type(ty: &Value) -> bool {
    matches!(ty.as_str(), Some("record" | "error" | "enum" | "fixed"))
}

/// The full name of a definition, and the namespace inside it.
fn full_name(object: &Map<String, Value>, namespace: &str) -> Result<(String, String), SchemaError> {
    let name = object.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| invalid("a named type has no name"))?;
    let own = object.get("namespace").and_then(Value::as_str).unwrap_or(namespace);
    let full = qualify(name, own);
    let inner = full.rsplit_once('.').map_or("", |(namespace, _)| namespace).to_owned();
    Ok((full, inner))
}

fn qualify(name: &str, namespace: &str) -> String {
    match name.contains('.') || namespace.is_empty() {
        true => name.trim_start_matches('.').to_owned(),
        false => format!("{namespace}.{name}"),
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
