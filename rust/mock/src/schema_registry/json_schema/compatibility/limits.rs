//! Keywords with one value: limits of lengths, counts and numbers, and patterns.

use serde_json::Value;

use super::super::super::difference::Difference;
use super::super::document::Node;
use super::below;

/// A keyword, Confluent's name for it, and whether it is an upper limit.
type Limit = (&'static str, &'static str, bool);

/// The limits of each type.
const LIMITS: [(&str, &[Limit]); 4] = [
    ("string", &[("maxLength", "MAX_LENGTH", true), ("minLength", "MIN_LENGTH", false)]),
    (
        "number",
        &[
            ("maximum", "MAXIMUM", true),
            ("minimum", "MINIMUM", false),
            ("exclusiveMaximum", "EXCLUSIVE_MAXIMUM", true),
            ("exclusiveMinimum", "EXCLUSIVE_MINIMUM", false),
        ],
    ),
    ("object", &[("maxProperties", "MAX_PROPERTIES", true), ("minProperties", "MIN_PROPERTIES", false)]),
    (
        "array",
        &[
            ("maxItems", "MAX_ITEMS", true),
            ("minItems", "MIN_ITEMS", false),
            ("maxContains", "MAX_CONTAINS", true),
            ("minContains", "MIN_CONTAINS", false),
        ],
    ),
];

/// The differences in the keywords of a type, but for those that have schemas.
pub(super) fn differences(ty: &str, old: Node<'_>, new: Node<'_>, at: &str) -> Vec<Difference> {
    let ty = if ty == "integer" { "number" } else { ty };
    let limits = LIMITS.iter().find(|(known, _)| *known == ty).map_or(&[][..], |(_, limits)| limits);
    let mut found: Vec<Difference> =
        limits.iter().filter_map(|limit| changed(*limit, old, new, at)).collect();
    match ty {
        "string" => found.extend(pattern(old, new, at)),
        "number" => found.extend(multiple(old, new, at)),
        "array" => {
            let is_unique = |node: Node<'_>| node.schema.get("uniqueItems") == Some(&Value::Bool(true));
            if !is_unique(old) && is_unique(new) {
                let at = below(at, "uniqueItems");
                found.push(Difference::new("UNIQUE_ITEMS_ADDED", at, "items must be unique now"));
            }
        }
        _ => {}
    }
    found
}

fn changed(limit: Limit, old: Node<'_>, new: Node<'_>, at: &str) -> Option<Difference> {
    let (keyword, name, is_upper) = limit;
    let value = |node: Node<'_>| match node.schema.get(keyword) {
        // In draft 4, it makes the other limit exclusive.
        Some(Value::Bool(true)) => {
            let other = if is_upper { "maximum" } else { "minimum" };
            node.schema.get(other).and_then(Value::as_f64)
        }
        value => value.and_then(Value::as_f64),
    };
    let (change, reason) = match (value(old), value(new)) {
        (None, Some(new)) => ("ADDED", format!("{new} is a new limit")),
        (Some(old), Some(new)) if is_upper && new < old => {
            ("DECREASED", format!("it was {old}, and is {new}"))
        }
        (Some(old), Some(new)) if !is_upper && new > old => {
            ("INCREASED", format!("it was {old}, and is {new}"))
        }
        _ => return None,
    };
    Some(Difference::new(format!("{name}_{change}"), below(at, keyword), reason))
}

fn pattern(old: Node<'_>, new: Node<'_>, at: &str) -> Option<Difference> {
    let value = |node: Node<'_>| node.schema.get("pattern").and_then(Value::as_str).map(str::to_owned);
    let (kind, reason) = match (value(old), value(new)) {
        (None, Some(new)) => ("PATTERN_ADDED", format!("values must match {new} now")),
        (Some(old), Some(new)) if old != new => ("PATTERN_CHANGED", format!("it was {old}, and is {new}")),
        _ => return None,
    };
    Some(Difference::new(kind, below(at, "pattern"), reason))
}

fn multiple(old: Node<'_>, new: Node<'_>, at: &str) -> Option<Difference> {
    let value = |node: Node<'_>| node.schema.get("multipleOf").and_then(Value::as_f64);
    // As fractions are written in decimal, quotients are whole up to rounding.
    let is_multiple = |of: f64, base: f64| {
        let quotient = of / base;
        quotient.is_finite() && (quotient - quotient.round()).abs() < 1e-9
    };
    let (kind, reason) = match (value(old), value(new)) {
        (None, Some(new)) => ("MULTIPLE_OF_ADDED", format!("numbers must be multiples of {new} now")),
        (Some(old), Some(new)) if is_multiple(old, new) => return None,
        (Some(old), Some(new)) if is_multiple(new, old) => {
            ("MULTIPLE_OF_EXPANDED", format!("it was {old}, and is {new}"))
        }
        (Some(old), Some(new)) => ("MULTIPLE_OF_CHANGED", format!("it was {old}, and is {new}")),
        _ => return None,
    };
    Some(Difference::new(kind, below(at, "multipleOf"), reason))
}
