//! Oneofs: which fields exclude each other now that did not before.
//!
//! Invariant: the oneof that an optional field of proto3 has in a descriptor is none.

use std::collections::BTreeSet;

use prost_reflect::{FieldDescriptor, MessageDescriptor, OneofDescriptor};

use super::super::difference::Difference;

/// The oneofs whose members come from several groups: each earlier oneof and each earlier field outside is one.
pub(super) fn differences(old: &MessageDescriptor, new: &MessageDescriptor, at: &str) -> Vec<Difference> {
    let mut found = Vec::new();
    for oneof in new.oneofs().filter(|oneof| !oneof.is_synthetic()) {
        let (mut groups, mut moved) = (BTreeSet::new(), 0_usize);
        for field in oneof.fields() {
            // New fields were never set with others.
            let Some(earlier) = old.get_field(field.number()) else { continue };
            if let Some(group) = oneof_of(&earlier) {
                groups.insert((group.name().to_owned(), 0));
            } else {
                groups.insert((String::new(), field.number()));
                moved += 1;
            }
        }
        if groups.len() > 1 {
            let kind =
                if moved > 1 { "MULTIPLE_FIELDS_MOVED_TO_ONEOF" } else { "FIELD_MOVED_TO_EXISTING_ONEOF" };
            let reason = "its members could be set together before";
            found.push(Difference::new(kind, format!("{at}/{}", oneof.name()), reason));
        }
    }
    found
}

/// Whether a field that is gone was a member of a oneof of which others remain.
pub(super) fn loses_member(field: &FieldDescriptor, new: &MessageDescriptor) -> bool {
    let Some(oneof) = oneof_of(field) else { return false };
    let is_kept = new.oneofs().any(|it| !it.is_synthetic() && it.name() == oneof.name());
    is_kept || oneof.fields().any(|member| new.get_field(member.number()).is_some())
}

fn oneof_of(field: &FieldDescriptor) -> Option<OneofDescriptor> {
    field.containing_oneof().filter(|oneof| !oneof.is_synthetic())
}
