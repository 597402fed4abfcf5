//! The names of the messages of a writer's schema.
//!
//! Invariant: messages are in the order of their declaration, to which message indexes refer.

use prost_reflect::MessageDescriptor;

/// A message with its nested messages.
#[derive(Debug)]
pub(super) struct MessageName {
    pub(super) full_name: String,
    pub(super) is_map_entry: bool,
    pub(super) nested: Vec<MessageName>,
}

impl MessageName {
    pub(super) fn new(message: &MessageDescriptor) -> Self {
        Self {
            full_name: message.full_name().to_owned(),
            is_map_entry: message.is_map_entry(),
            nested: message.child_messages().map(|nested| Self::new(&nested)).collect(),
        }
    }
}
