//! What a schema permits, in the form in which schemas are compared: one type, or a sum or product of others.
//!
//! Invariant: a sum or product has a member, and none twice.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::document::Node;

/// The keywords that imply a type where a schema does not name one.
const IMPLIED: [(&str, &[&str]); 4] = [
    (
        "object",
        &[
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
            "minProperties",
            "maxProperties",
            "propertyNames",
            "dependencies",
            "dependentRequired",
            "dependentSchemas",
            "unevaluatedProperties",
        ],
    ),
    (
        "array",
        &[
            "items",
            "prefixItems",
            "additionalItems",
            "minItems",
            "maxItems",
            "uniqueItems",
            "contains",
            "unevaluatedItems",
        ],
    ),
    ("string", &["minLength", "maxLength", "pattern"]),
    ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
];

/// What values a schema permits.
#[derive(Debug, Clone)]
pub(super) enum Shape<'a> {
    /// All.
    Any,
    /// None.
    Never,
    /// A `$ref` to something that is not known.
    Unresolved(&'a str),
    /// A schema whose shape is not yet known.
    Schema(Node<'a>),
    /// Those of a type, with the keywords of the schema.
    Typed(&'a str, Node<'a>),
    /// These values.
    Enum(Vec<&'a Value>),
    /// Those that another schema does not permit.
    Not(Node<'a>),
    /// Those that one of the members permits: any of them, or exactly one.
    Sum { is_exclusive: bool, members: Vec<Shape<'a>> },
    /// Those that all members permit.
    Product(Vec<Shape<'a>>),
}

impl<'a> Shape<'a> {
    /// The shape of a schema, whose members may be `Schema`.
    pub(super) fn of(node: Node<'a>) -> Self {
        let node = match node.resolve() {
            Ok(node) => node,
            Err(reference) => return Self::Unresolved(reference),
        };
        let keywords = match node.schema {
            Value::Bool(false) => return Self::Never,
            Value::Object(keywords) => keywords,
            _ => return Self::Any,
        };
        let mut parts: Vec<Self> = typed(keywords, node).into_iter().collect();
        if let Some(Value::Array(values)) = keywords.get("enum") {
            parts.push(Self::Enum(values.iter().collect()));
        } else if let Some(value) = keywords.get("const") {
            parts.push(Self::Enum(vec![value]));
        }
        parts.extend(node.child("not").map(Self::Not));
        let members = |keyword: &str| {
            let schemas = keywords.get(keyword).and_then(Value::as_array).into_iter().flatten();
            let different: HashSet<&Value> = schemas.clone().collect();
            let once = schemas.filter({
                let mut left = different;
                move |schema| left.remove(schema)
            });
            once.map(|schema| Self::Schema(node.with(schema))).collect::<Vec<_>>()
        };
        for (keyword, is_exclusive) in [("anyOf", false), ("oneOf", true)] {
            let members = members(keyword);
            if !members.is_empty() {
                parts.push(Self::Sum { is_exclusive, members });
            }
        }
        let all = members("allOf");
        match (parts.len(), all.is_empty()) {
            (0, true) => Self::Any,
            (1, true) => parts.remove(0),
            _ => {
                parts.extend(all);
                Self::Product(parts)
            }
        }
    }

    /// The members of a sum or product.
    pub(super) fn members(&self) -> Option<&[Self]> {
        match self {
            Self::Sum { members, .. } | Self::Product(members) => Some(members),
            _ => None,
        }
    }
}

/// The part of a schema with its types.
fn typed<'a>(keywords: &'a Map<String, Value>, node: Node<'a>) -> Option<Shape<'a>> {
    match keywords.get("type") {
        Some(Value::String(name)) => Some(Shape::Typed(name, node)),
        Some(Value::Array(names)) => {
            let mut members: Vec<Shape<'a>> =
                names.iter().filter_map(Value::as_str).map(|name| Shape::Typed(name, node)).collect();
            match members.len() {
                0 | 1 => members.pop(),
                _ => Some(Shape::Sum { is_exclusive: false, members }),
            }
        }
        _ => {
            let implies = |(_, implying): &&(&str, &[&str])| {
                implying.iter().any(|keyword| keywords.contains_key(*keyword))
            };
            IMPLIED.iter().find(implies).map(|(name, _)| Shape::Typed(name, node))
        }
    }
}
