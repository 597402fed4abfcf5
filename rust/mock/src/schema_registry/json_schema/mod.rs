//! JSON Schema as a registry sees it: whether a text is a schema, and what a change breaks.
//!
//! - `check` decides whether a text is a schema; `document` resolves `$ref`, also to the schemas that it refers to.
//! - `compatibility` compares two schemas by the rules of Confluent's registry.
//!
//! Invariant: a document is nested as deep as the JSON parser allows at most.

mod check;
mod compatibility;
mod document;
#[cfg(test)]
mod tests;

pub(super) use self::check::check;
pub(super) use self::compatibility::differences;
pub(super) use self::document::JsonSchema;
