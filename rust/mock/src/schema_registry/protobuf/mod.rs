//! Protobuf as a registry sees it: `compatibility` compares two files by the rules of Confluent's registry, with `fields`
//! and `oneofs`.
//!
//! Invariant: `ottla-schema` compiles a file, within its limits, before it is compared.

mod compatibility;
mod fields;
mod oneofs;
#[cfg(test)]
mod tests;

pub(super) use self::compatibility::differences;
