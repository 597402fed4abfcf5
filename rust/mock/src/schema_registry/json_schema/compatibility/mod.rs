//! Whether a new schema permits all documents that an old one does, by the rules of Confluent's registry.
//!
//! - `shape` turns a schema into what is compared; `combined` compares sums and products (`anyOf`, `oneOf`, `allOf`,
//!   lists of types), `object` and `array` what has parts, by its content model (`content`), and `limits` other keywords.
//!
//! Invariant: the work is bounded. Depth, comparisons and reported differences are limited, and a pair of schemas that
//! is being compared counts as equal within itself, so recursive schemas end; schemas beyond the limits are incompatible.

mod array;
mod combined;
mod content;
mod limits;
mod object;
mod shape;

use std::collections::HashMap;
use std::ptr;

use serde_json::Value;

use self::shape::Shape;
use super::super::difference::{Difference, MAX_DIFFERENCES};
use super::document::{JsonSchema, Node};

const MAX_DEPTH: usize = 64;
/// Of schemas, properties and patterns.
const MAX_COMPARISONS: usize = 100_000;
/// How many comparisons the compilation of a pattern counts for.
const PATTERN_COST: usize = 100;

/// What the policy LENIENT permits: it breaks documents only that have properties nobody named.
const LENIENT: [&str; 9] = [
    "ADDITIONAL_PROPERTIES_NARROWED",
    "ADDITIONAL_PROPERTIES_REMOVED",
    "UNEVALUATED_PROPERTIES_NARROWED",
    "UNEVALUATED_PROPERTIES_REMOVED",
    "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
    "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
    "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
    "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
];

/// What keeps documents of the old schema from being valid by the new one; empty if nothing does.
pub(in super::super::super) fn differences(
    old: &JsonSchema,
    new: &JsonSchema,
    is_lenient: bool,
) -> Vec<Difference> {
    let mut comparison = Comparison { is_lenient, comparisons: 0, depth: 0, pairs: HashMap::new() };
    comparison.compare(old.root(), new.root(), "#")
}

/// The addresses of two schemas.
type Pair = (*const Value, *const Value);

struct Comparison {
    is_lenient: bool,
    comparisons: usize,
    depth: usize,
    /// The differences of pairs. Those of a pair that is being compared are none yet.
    pairs: HashMap<Pair, Vec<Difference>>,
}

impl Comparison {
    fn count(&mut self, comparisons: usize) {
        self.comparisons = self.comparisons.saturating_add(comparisons);
    }

    fn is_exhausted(&self) -> bool {
        self.comparisons > MAX_COMPARISONS
    }

    /// Compares schemas.
    fn compare(&mut self, old: Node<'_>, new: Node<'_>, at: &str) -> Vec<Difference> {
        let pair = (ptr::from_ref(old.schema), ptr::from_ref(new.schema));
        if let Some(found) = self.pairs.get(&pair) {
            return found.clone();
        }
        self.pairs.insert(pair, Vec::new());
        let found = self.compare_shapes(&Shape::of(old), &Shape::of(new), at);
        self.pairs.insert(pair, found.clone());
        found
    }

    /// Compares schemas that may be missing.
    fn compare_optional(
        &mut self,
        old: Option<Node<'_>>,
        new: Option<Node<'_>>,
        at: &str,
    ) -> Vec<Difference> {
        match (old, new) {
            (_, None) => Vec::new(),
            (None, Some(new)) if matches!(Shape::of(new), Shape::Any) => Vec::new(),
            (None, Some(_)) => {
                vec![Difference::new("SCHEMA_ADDED", at, "values must be valid by a schema now")]
            }
            (Some(old), Some(new)) => self.compare(old, new, at),
        }
    }

    fn compare_shapes(&mut self, old: &Shape<'_>, new: &Shape<'_>, at: &str) -> Vec<Difference> {
        self.count(1);
        if self.depth >= MAX_DEPTH || self.is_exhausted() {
            return vec![Difference::too_large(at)];
        }
        self.depth += 1;
        let mut found = self.compare_known(old, new, at);
        self.depth -= 1;
        if self.is_lenient {
            found.retain(|difference| !LENIENT.contains(&difference.kind.as_str()));
        }
        found.truncate(MAX_DIFFERENCES);
        found
    }

    fn compare_known(&mut self, old: &Shape<'_>, new: &Shape<'_>, at: &str) -> Vec<Difference> {
        let unchanged = Vec::new;
        match (old, new) {
            (Shape::Schema(old), Shape::Schema(new)) => self.compare(*old, *new, at),
            (Shape::Schema(old), new) => self.compare_shapes(&Shape::of(*old), new, at),
            (old, Shape::Schema(new)) => self.compare_shapes(old, &Shape::of(*new), at),
            (Shape::Never, _) | (_, Shape::Any) => unchanged(),
            (Shape::Unresolved(old), Shape::Unresolved(new)) if old == new => unchanged(),
            (Shape::Typed(ty, old), Shape::Typed(other, new)) => {
                self.compare_typed((ty, *old), (other, *new), at)
            }
            (Shape::Enum(old), Shape::Enum(new)) => self.compare_values(old, new, at),
            (Shape::Not(old), Shape::Not(new)) => {
                // The less a schema permits, the more its negation does.
                let at = below(at, "not");
                match self.compare(*new, *old, &at).is_empty() {
                    true => unchanged(),
                    false => vec![Difference::new("NOT_TYPE_EXTENDED", at, "more values are excluded")],
                }
            }
            (Shape::Sum { .. } | Shape::Product(_), _) | (_, Shape::Sum { .. } | Shape::Product(_)) => {
                self.compare_combined(old, new, at)
            }
            _ => vec![Difference::new("TYPE_CHANGED", at, "values of another kind are expected")],
        }
    }

    fn compare_typed(
        &mut self,
        (ty, old): (&str, Node<'_>),
        (other, new): (&str, Node<'_>),
        at: &str,
    ) -> Vec<Difference> {
        let mut found = Vec::new();
        match (ty, other) {
            _ if ty == other => {}
            ("integer", "number") => {}
            ("number", "integer") => {
                found.push(Difference::new("TYPE_NARROWED", at, "numbers must be integers now"));
            }
            _ if is_bytes(old) && is_bytes(new) => return found,
            _ => return vec![Difference::new("TYPE_CHANGED", at, format!("it was {ty}, and is {other}"))],
        }
        found.extend(limits::differences(ty, old, new, at));
        match ty {
            "object" => found.extend(self.compare_objects(old, new, at)),
            "array" => found.extend(self.compare_arrays(old, new, at)),
            _ => {}
        }
        found
    }

    fn compare_values(&mut self, old: &[&Value], new: &[&Value], at: &str) -> Vec<Difference> {
        self.count(old.len().saturating_mul(new.len()));
        if self.is_exhausted() {
            return vec![Difference::too_large(at)];
        }
        let lacks = |values: &[&Value], others: &[&Value]| others.iter().any(|value| !values.contains(value));
        if !lacks(new, old) {
            return Vec::new();
        }
        let kind = if lacks(old, new) { "ENUM_ARRAY_CHANGED" } else { "ENUM_ARRAY_NARROWED" };
        vec![Difference::new(kind, below(at, "enum"), "a value is no longer permitted")]
    }
}

/// Kafka Connect's bytes, which its converters write as different types.
fn is_bytes(node: Node<'_>) -> bool {
    node.schema.get("connect.type").and_then(Value::as_str) == Some("bytes")
}

fn below(at: &str, part: &str) -> String {
    format!("{at}/{part}")
}
