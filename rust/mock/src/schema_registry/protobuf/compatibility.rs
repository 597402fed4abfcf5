//! Whether readers with a new file understand what was written with an old one.
//!
//! Messages are compared by name and fields by number. What an enum or a new message has is compatible, since readers
//! keep numbers and fields that they do not know.
//!
//! Invariant: each pair of messages is compared once, without recursion over the types of fields.

use std::collections::{HashMap, HashSet, VecDeque};

use prost_reflect::{FieldDescriptor, FileDescriptor, Kind, MessageDescriptor};

use super::super::difference::{Difference, MAX_DIFFERENCES};
use super::{fields, oneofs};

/// What makes the new file incompatible with the old one; empty if nothing does.
pub(in super::super) fn differences(old: &FileDescriptor, new: &FileDescriptor) -> Vec<Difference> {
    let mut comparison = Comparison::default();
    if old.package_name() != new.package_name() {
        let reason = format!("the package was \"{}\", and is \"{}\"", old.package_name(), new.package_name());
        comparison.found.push(Difference::new("PACKAGE_CHANGED", "#/", reason));
    }
    comparison.compare_all(old.messages(), new.messages(), "#");
    while let Some((old, new, at)) = comparison.waiting.pop_front() {
        comparison.compare_message(&old, &new, &at);
        if comparison.found.len() >= MAX_DIFFERENCES {
            comparison.found.truncate(MAX_DIFFERENCES);
            break;
        }
    }
    comparison.found
}

#[derive(Default)]
struct Comparison {
    found: Vec<Difference>,
    /// Pairs of messages, and where they are.
    waiting: VecDeque<(MessageDescriptor, MessageDescriptor, String)>,
    seen: HashSet<(String, String)>,
}

impl Comparison {
    fn compare_all(
        &mut self,
        old: impl Iterator<Item = MessageDescriptor>,
        new: impl Iterator<Item = MessageDescriptor>,
        at: &str,
    ) {
        let known: HashMap<String, MessageDescriptor> =
            new.map(|message| (message.name().to_owned(), message)).collect();
        for message in old.filter(|message| !message.is_map_entry()) {
            let at = format!("{at}/{}", message.name());
            match known.get(message.name()) {
                Some(other) => self.enqueue(message, other.clone(), at),
                None => self.found.push(Difference::new("MESSAGE_REMOVED", at, "the message is gone")),
            }
        }
    }

    fn enqueue(&mut self, old: MessageDescriptor, new: MessageDescriptor, at: String) {
        if self.seen.insert((old.full_name().to_owned(), new.full_name().to_owned())) {
            self.waiting.push_back((old, new, at));
        }
    }

    fn compare_message(&mut self, old: &MessageDescriptor, new: &MessageDescriptor, at: &str) {
        self.compare_all(old.child_messages(), new.child_messages(), at);
        self.found.extend(oneofs::differences(old, new, at));
        self.found.extend(fields::differences(old, new, at));
        // Messages of imported files are compared where fields have them; those of the file itself have their turn.
        for field in old.fields() {
            let Some(other) = new.get_field(field.number()) else { continue };
            if let (Some(one), Some(other)) = (message_of(&field), message_of(&other))
                && fields::local_name(&one) == fields::local_name(&other)
            {
                let at = format!("{at}/{}/{}", field.number(), one.name());
                self.enqueue(one, other, at);
            }
        }
    }
}

/// The message that a field has, or the values of a map.
fn message_of(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    match field.kind() {
        Kind::Message(entry) if field.is_map() => message_of(&entry.map_entry_value_field()),
        Kind::Message(message) => Some(message),
        _ => None,
    }
}
