//! Reads the text of a schema, by the rules of Java's parser.
//!
//! Invariant: the depth of the result is that of the JSON text, which `serde_json` limits.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::default_value::check_defaults;
use super::{AvroSchema, Field, Kind, Named, Type};

type Object = Map<String, Value>;

/// Parses a schema. The texts that it refers to come first, each after those that it refers to itself.
///
/// # Errors
///
/// The reason why the schema is invalid.
pub(in super::super) fn parse(text: &str, referenced: &[&str]) -> Result<AvroSchema, String> {
    let mut parser = Parser { named: Vec::new(), by_name: HashMap::new() };
    for text in referenced {
        parser.schema(&json(text)?, "")?;
    }
    let own = parser.named.len();
    let root = parser.schema(&json(text)?, "")?;
    if let Some(missing) = parser.named.iter().find(|known| matches!(known.kind, Kind::Missing)) {
        return Err(format!("the type \"{}\" is not defined", missing.name));
    }
    check_defaults(&parser.named, own)?;
    Ok(AvroSchema { root, named: parser.named })
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))
}

struct Parser {
    named: Vec<Named>,
    by_name: HashMap<String, usize>,
}

impl Parser {
    fn schema(&mut self, schema: &Value, namespace: &str) -> Result<Type, String> {
        match schema {
            Value::String(name) => Ok(self.reference(name, namespace)),
            Value::Array(branches) => self.union(branches, namespace),
            Value::Object(object) => self.object(object, namespace),
            _ => Err(format!("a type is expected in place of {schema}")),
        }
    }

    fn reference(&mut self, name: &str, namespace: &str) -> Type {
        if let Some(primitive) = Type::primitive(name) {
            return primitive;
        }
        let qualified = qualify(name, namespace);
        // A name without a dot may also be that of a type without a namespace.
        let found = self.by_name.get(&qualified).or_else(|| self.by_name.get(name));
        // The definition may follow.
        Type::Named(found.copied().unwrap_or_else(|| self.add(qualified)))
    }

    fn add(&mut self, name: String) -> usize {
        let index = self.named.len();
        self.by_name.insert(name.clone(), index);
        self.named.push(Named { name, aliases: Vec::new(), kind: Kind::Missing });
        index
    }

    fn union(&mut self, branches: &[Value], namespace: &str) -> Result<Type, String> {
        let mut parsed: Vec<Type> = Vec::with_capacity(branches.len());
        let mut names = HashSet::new();
        for branch in branches {
            let branch = self.schema(branch, namespace)?;
            if matches!(branch, Type::Union(_)) {
                return Err("a union is directly inside another one".to_owned());
            }
            let name = branch.name(&self.named);
            if !names.insert(name.to_owned()) {
                return Err(format!("a union has the type \"{name}\" twice"));
            }
            parsed.push(branch);
        }
        Ok(Type::Union(parsed))
    }

    fn object(&mut self, object: &Object, namespace: &str) -> Result<Type, String> {
        let kind = object.get("type").ok_or("an object has no \"type\"")?;
        let Value::String(kind) = kind else { return self.schema(kind, namespace) };
        match kind.as_str() {
            "array" => {
                let items = object.get("items").ok_or("an array has no \"items\"")?;
                Ok(Type::Array(Box::new(self.schema(items, namespace)?)))
            }
            "map" => {
                let values = object.get("values").ok_or("a map has no \"values\"")?;
                Ok(Type::Map(Box::new(self.schema(values, namespace)?)))
            }
            "record" | "error" | "enum" | "fixed" => self.named(kind, object, namespace),
            name => Ok(self.reference(name, namespace)),
        }
    }

    fn named(&mut self, kind: &str, object: &Object, namespace: &str) -> Result<Type, String> {
        let name = text(object, "name")?.ok_or_else(|| format!("a type of kind \"{kind}\" has no name"))?;
        let namespace = text(object, "namespace")?.unwrap_or(namespace);
        let name = qualify(name, namespace);
        let (namespace, simple) = name.rsplit_once('.').unwrap_or(("", &name));
        check_name(simple)?;
        if namespace.is_empty() && Type::primitive(simple).is_some() {
            return Err(format!("a type has the name of the primitive type \"{simple}\""));
        }
        let aliases = aliases(object)?.iter().map(|alias| qualify_alias(alias, namespace)).collect();
        let index = self.by_name.get(&name).copied().unwrap_or_else(|| self.add(name.clone()));
        match self.named.get_mut(index) {
            Some(known) if matches!(known.kind, Kind::Missing) => {
                (known.aliases, known.kind) = (aliases, Kind::Open);
            }
            _ => return Err(format!("the type \"{name}\" is defined twice")),
        }
        let defined = match kind {
            "enum" => enumeration(object),
            "fixed" => {
                let size = object.get("size").and_then(Value::as_u64);
                size.map(Kind::Fixed).ok_or_else(|| "it has no valid \"size\"".to_owned())
            }
            _ => self.fields(object, namespace).map(Kind::Record),
        };
        let defined = defined.map_err(|reason| format!("{name}: {reason}"))?;
        if let Some(known) = self.named.get_mut(index) {
            known.kind = defined;
        }
        Ok(Type::Named(index))
    }

    fn fields(&mut self, object: &Object, namespace: &str) -> Result<Vec<Field>, String> {
        let listed = object.get("fields").and_then(Value::as_array).ok_or("it has no list of \"fields\"")?;
        let mut fields = Vec::with_capacity(listed.len());
        let mut names = HashSet::new();
        for field in listed {
            let field = field.as_object().ok_or("a field is not an object")?;
            let name = text(field, "name")?.ok_or("a field has no name")?;
            check_name(name)?;
            if !names.insert(name) {
                return Err(format!("the field \"{name}\" is defined twice"));
            }
            let schema = field.get("type").ok_or_else(|| format!("the field \"{name}\" has no \"type\""))?;
            let schema =
                self.schema(schema, namespace).map_err(|reason| format!("the field \"{name}\": {reason}"))?;
            fields.push(Field {
                name: name.to_owned(),
                aliases: aliases(field)?.into_iter().map(str::to_owned).collect(),
                schema,
                default: field.get("default").cloned(),
            });
        }
        Ok(fields)
    }
}

fn enumeration(object: &Object) -> Result<Kind, String> {
    let symbols = object.get("symbols").and_then(Value::as_array).ok_or("it has no list of \"symbols\"")?;
    let mut known = HashSet::new();
    for symbol in symbols {
        let symbol = symbol.as_str().ok_or("a symbol is not a text")?;
        check_name(symbol)?;
        if !known.insert(symbol.to_owned()) {
            return Err(format!("it has the symbol \"{symbol}\" twice"));
        }
    }
    let default = text(object, "default")?.map(str::to_owned);
    match &default {
        Some(default) if !known.contains(default) => {
            Err(format!("the default \"{default}\" is not one of its symbols"))
        }
        _ => Ok(Kind::Enum { symbols: known, default }),
    }
}

fn text<'a>(object: &'a Object, key: &str) -> Result<Option<&'a str>, String> {
    match object.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("\"{key}\" is not a text")),
    }
}

fn aliases(object: &Object) -> Result<Vec<&str>, String> {
    let invalid = || "\"aliases\" is not a list of names".to_owned();
    match object.get("aliases") {
        None => Ok(Vec::new()),
        Some(Value::Array(names)) => names.iter().map(|name| name.as_str().ok_or_else(invalid)).collect(),
        Some(_) => Err(invalid()),
    }
}

/// The full name of a type: a name with a dot has its namespace already.
fn qualify(name: &str, namespace: &str) -> String {
    match name.contains('.') || namespace.is_empty() {
        true => name.trim_start_matches('.').to_owned(),
        false => format!("{namespace}.{name}"),
    }
}

/// An alias without a namespace, of a type that has one, keeps its dot: in Java it is the alias of no writer's type.
fn qualify_alias(alias: &str, namespace: &str) -> String {
    let qualified = qualify(alias, namespace);
    if qualified.contains('.') || namespace.is_empty() { qualified } else { format!(".{qualified}") }
}

fn check_name(name: &str) -> Result<(), String> {
    let mut letters = name.chars();
    let is_valid = letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_');
    if is_valid { Ok(()) } else { Err(format!("\"{name}\" is not a name")) }
}
