//! The content model of an object or a list: which parts it permits beyond those that it names.
//!
//! Invariant: a model with patterns is not open, as in Confluent's registry.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::super::super::difference::Difference;
use super::super::document::Node;
use super::shape::Shape;
use super::{Comparison, PATTERN_COST};

/// The largest size of a compiled pattern, in bytes.
const MAX_PATTERN: usize = 1 << 18;

/// What is permitted where nothing else applies.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rest<'a> {
    Open,
    Schema(Node<'a>),
    Closed,
}

impl<'a> Rest<'a> {
    pub(super) fn of(node: Option<Node<'a>>) -> Self {
        match node.map(|node| (node, Shape::of(node))) {
            None | Some((_, Shape::Any)) => Self::Open,
            Some((_, Shape::Never)) => Self::Closed,
            Some((node, _)) => Self::Schema(node),
        }
    }
}

/// A content model.
#[derive(Debug)]
pub(super) struct Content<'a> {
    patterns: Vec<(Regex, Node<'a>)>,
    rest: Rest<'a>,
}

impl<'a> Content<'a> {
    /// The model without patterns: what the schema permits behind what it names, or the unevaluated otherwise.
    pub(super) fn new(additional: Option<Node<'a>>, unevaluated: Option<Node<'a>>) -> Self {
        let rest = match Rest::of(additional) {
            Rest::Open => Rest::of(unevaluated),
            other => other,
        };
        Self { patterns: Vec::new(), rest }
    }

    /// Adds the patterns of the properties of an object.
    pub(super) fn with_patterns(mut self, comparison: &mut Comparison, node: Node<'a>) -> Self {
        for (pattern, schema) in
            node.schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten()
        {
            comparison.count(PATTERN_COST);
            if comparison.is_exhausted() {
                break;
            }
            // A pattern that only JavaScript has matches nothing here.
            if let Ok(pattern) = RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build() {
                self.patterns.push((pattern, node.with(schema)));
            }
        }
        self
    }

    pub(super) fn is_open(&self) -> bool {
        self.patterns.is_empty() && matches!(self.rest, Rest::Open)
    }

    /// The schema of a part that is not named.
    pub(super) fn covering(&self, name: &str) -> Option<Node<'a>> {
        let by_pattern = self.patterns.iter().find(|(pattern, _)| pattern.is_match(name));
        match (by_pattern, self.rest) {
            (Some((_, node)), _) => Some(*node),
            (None, Rest::Schema(node)) => Some(node),
            (None, Rest::Open | Rest::Closed) => None,
        }
    }
}

impl Comparison {
    /// Compares what two models permit where nothing else applies; `name` is Confluent's for the keyword.
    pub(super) fn compare_rest(
        &mut self,
        old: Rest<'_>,
        new: Rest<'_>,
        name: &str,
        at: &str,
    ) -> Vec<Difference> {
        let changed =
            |change: &str, reason: &str| vec![Difference::new(format!("{name}_{change}"), at, reason)];
        match (old, new) {
            (Rest::Closed, _) | (_, Rest::Open) => Vec::new(),
            (_, Rest::Closed) => changed("REMOVED", "others are no longer permitted"),
            (Rest::Open, Rest::Schema(_)) => changed("NARROWED", "others must be valid by a schema now"),
            (Rest::Schema(old), Rest::Schema(new)) => self.compare(old, new, at),
        }
    }
}
