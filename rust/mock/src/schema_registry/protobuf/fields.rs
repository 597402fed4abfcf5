//! Fields: numbers keep types that are encoded alike, and what is required stays.
//!
//! Invariant: names do not count.

use prost_reflect::prost_types::field_descriptor_proto::Label;
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor, Syntax};

use super::super::difference::Difference;
use super::oneofs;

/// How a field is encoded, in the sense in which Confluent's registry compares types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// Varints: integers, booleans and enums.
    Number,
    /// Varints in zigzag.
    SignedNumber,
    Fixed32,
    Fixed64,
    Float,
    Double,
    StringOrBytes,
    Message,
}

/// The differences of the fields of a message, but for the moves between oneofs.
pub(super) fn differences(old: &MessageDescriptor, new: &MessageDescriptor, at: &str) -> Vec<Difference> {
    let mut found = Vec::new();
    for field in old.fields() {
        let at = format!("{at}/{}", field.number());
        match new.get_field(field.number()) {
            Some(other) => found.extend(compare(&field, &other, &at)),
            None if label(&field) == Some(Label::Required) => {
                let reason = format!("the required field \"{}\" is gone", field.name());
                found.push(Difference::new("REQUIRED_FIELD_REMOVED", at, reason));
            }
            None if oneofs::loses_member(&field, new) => {
                let reason = format!("the member \"{}\" of a oneof is gone", field.name());
                found.push(Difference::new("ONEOF_FIELD_REMOVED", at, reason));
            }
            None => {}
        }
    }
    for field in new.fields() {
        if label(&field) == Some(Label::Required) && old.get_field(field.number()).is_none() {
            let reason = format!("the new field \"{}\" is required", field.name());
            found.push(Difference::new("REQUIRED_FIELD_ADDED", format!("{at}/{}", field.number()), reason));
        }
    }
    found
}

fn compare(old: &FieldDescriptor, new: &FieldDescriptor, at: &str) -> Vec<Difference> {
    let changed = |kind: &str, reason: String| vec![Difference::new(kind, at, reason)];
    match (old.is_map(), new.is_map()) {
        (true, true) => {
            let (Kind::Message(one), Kind::Message(other)) = (old.kind(), new.kind()) else {
                return Vec::new();
            };
            // Entries of maps have no labels of their own.
            return [1, 2]
                .into_iter()
                .filter_map(|number| Some((one.get_field(number)?, other.get_field(number)?)))
                .flat_map(|(one, other)| compare_types(&one.kind(), &other.kind(), at))
                .collect();
        }
        (false, false) => {}
        _ => return changed("FIELD_KIND_CHANGED", "one of both is a map".to_owned()),
    }
    let mut found = compare_types(&old.kind(), &new.kind(), at);
    let labels = (label(old), label(new));
    let is_number = !matches!(encoding(&old.kind()), Encoding::StringOrBytes | Encoding::Message);
    if let (Some(one), Some(other)) = labels
        && found.is_empty()
        && is_number
        && one != other
    {
        let reason = format!("it was {}, and is {}", name(one), name(other));
        found.extend(changed("FIELD_NUMERIC_LABEL_CHANGED", reason));
    }
    found
}

fn compare_types(old: &Kind, new: &Kind, at: &str) -> Vec<Difference> {
    let changed = |kind: &str| {
        let reason = format!("the type was {}, and is {}", type_name(old), type_name(new));
        vec![Difference::new(kind, at, reason)]
    };
    match (old, new) {
        (Kind::Message(one), Kind::Message(other)) if local_name(one) == local_name(other) => Vec::new(),
        (Kind::Message(_), Kind::Message(_)) => changed("FIELD_NAMED_TYPE_CHANGED"),
        (Kind::Message(_), _) | (_, Kind::Message(_)) => changed("FIELD_KIND_CHANGED"),
        _ if encoding(old) == encoding(new) => Vec::new(),
        _ => changed("FIELD_SCALAR_KIND_CHANGED"),
    }
}

/// The name of a message without its package.
pub(super) fn local_name(message: &MessageDescriptor) -> &str {
    let full = message.full_name();
    let rest = full.strip_prefix(message.package_name()).unwrap_or(full);
    rest.strip_prefix('.').unwrap_or(rest)
}

/// The label that the text of the field has.
fn label(field: &FieldDescriptor) -> Option<Label> {
    let written = field.field_descriptor_proto();
    let label = written.label();
    let is_implicit = field.parent_file().syntax() == Syntax::Proto3 && !written.proto3_optional();
    match label {
        Label::Optional if is_implicit || field.containing_oneof().is_some_and(|it| !it.is_synthetic()) => {
            None
        }
        label => Some(label),
    }
}

fn name(label: Label) -> &'static str {
    match label {
        Label::Optional => "optional",
        Label::Required => "required",
        Label::Repeated => "repeated",
    }
}

fn type_name(kind: &Kind) -> String {
    match kind {
        Kind::Message(message) => local_name(message).to_owned(),
        Kind::Enum(found) => found.name().to_owned(),
        scalar => format!("{scalar:?}").to_lowercase(),
    }
}

fn encoding(kind: &Kind) -> Encoding {
    match kind {
        Kind::Int32 | Kind::Int64 | Kind::Uint32 | Kind::Uint64 | Kind::Bool | Kind::Enum(_) => {
            Encoding::Number
        }
        Kind::Sint32 | Kind::Sint64 => Encoding::SignedNumber,
        Kind::Fixed32 | Kind::Sfixed32 => Encoding::Fixed32,
        Kind::Fixed64 | Kind::Sfixed64 => Encoding::Fixed64,
        Kind::Float => Encoding::Float,
        Kind::Double => Encoding::Double,
        Kind::String | Kind::Bytes => Encoding::StringOrBytes,
        Kind::Message(_) => Encoding::Message,
    }
}
