//! Lists: the schemas of their first items, and that of all others.
//!
//! Invariant: both ways to write a tuple are one, `prefixItems` with `items` and the older `items` with
//! `additionalItems`.

use serde_json::Value;

use super::super::super::difference::Difference;
use super::super::document::Node;
use super::content::{Content, Rest};
use super::shape::Shape;
use super::{Comparison, below};

const UNEVALUATED: &str = "unevaluatedItems";

/// What a list has.
struct Items<'a> {
    /// The schemas of the first items.
    first: Vec<Node<'a>>,
    /// The schema of all items, if they have no schema of their own.
    all: Option<Node<'a>>,
    /// That of the items behind the first ones.
    others: Option<Node<'a>>,
}

impl<'a> Items<'a> {
    fn of(node: Node<'a>) -> Self {
        let list = |value: Option<&'a Value>| value.and_then(Value::as_array);
        let nodes = |items: &'a Vec<Value>| items.iter().map(|item| node.with(item)).collect();
        if let Some(items) = list(node.schema.get("prefixItems")) {
            return Self { first: nodes(items), all: None, others: node.child("items") };
        }
        match list(node.schema.get("items")) {
            Some(items) => Self { first: nodes(items), all: None, others: node.child("additionalItems") },
            None => {
                let all = node.child("items").filter(|items| !items.schema.is_boolean());
                // Where all items are permitted or none, they are what follows none.
                let others = node.child("items").filter(|items| items.schema.is_boolean());
                Self { first: Vec::new(), all, others: others.or_else(|| node.child("additionalItems")) }
            }
        }
    }
}

impl Comparison {
    pub(super) fn compare_arrays(&mut self, old: Node<'_>, new: Node<'_>, at: &str) -> Vec<Difference> {
        let (before, after) = (Items::of(old), Items::of(new));
        let mut found = self.compare_optional(before.all, after.all, &below(at, "items"));
        let models = (
            Content::new(before.others, old.child(UNEVALUATED)),
            Content::new(after.others, new.child(UNEVALUATED)),
        );
        for number in 0..before.first.len().max(after.first.len()) {
            let at = format!("{at}/items/{number}");
            match (before.first.get(number), after.first.get(number)) {
                (Some(was), Some(is)) => found.extend(self.compare(*was, *is, &at)),
                (Some(was), None) => found.extend(self.removed_item(*was, &models.1, &at)),
                (None, Some(is)) => found.extend(self.added_item(*is, &models.0, &at)),
                (None, None) => {}
            }
            if self.is_exhausted() {
                return vec![Difference::too_large(&at)];
            }
        }
        let (was, is) = (Rest::of(before.others), Rest::of(after.others));
        found.extend(self.compare_rest(was, is, "ADDITIONAL_ITEMS", &below(at, "additionalItems")));
        let (was, is) = (Rest::of(old.child(UNEVALUATED)), Rest::of(new.child(UNEVALUATED)));
        found.extend(self.compare_rest(was, is, "UNEVALUATED_ITEMS", &below(at, UNEVALUATED)));
        let contains = below(at, "contains");
        found.extend(self.compare_optional(old.child("contains"), new.child("contains"), &contains));
        found
    }

    fn removed_item(&mut self, was: Node<'_>, model: &Content<'_>, at: &str) -> Vec<Difference> {
        if model.is_open() || matches!(Shape::of(was), Shape::Never) {
            return Vec::new();
        }
        let Some(covering) = model.covering("") else {
            let reason = "the item is no longer permitted";
            return vec![Difference::new("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", at, reason)];
        };
        let mut found = self.compare(was, covering, at);
        if !found.is_empty() {
            let kind = "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL";
            found.push(Difference::new(kind, at, "the schema of other items does not permit its values"));
        }
        found
    }

    fn added_item(&mut self, is: Node<'_>, model: &Content<'_>, at: &str) -> Vec<Difference> {
        if model.is_open() {
            return match Shape::of(is) {
                Shape::Any => Vec::new(),
                _ => {
                    let reason = "lists may have other items there already";
                    vec![Difference::new("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", at, reason)]
                }
            };
        }
        let Some(covering) = model.covering("") else { return Vec::new() };
        let mut found = self.compare(covering, is, at);
        if !found.is_empty() {
            let kind = "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL";
            found.push(Difference::new(kind, at, "items that were permitted before are no longer"));
        }
        found
    }
}
