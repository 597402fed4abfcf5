//! Confluent's message indexes: which message of the writer's schema a payload is.
//!
//! The number of indexes and the indexes follow as zigzag varints: the index of a message of the file, then
//! that of a message nested in it, and so on. The one byte 0 stands for the first message.
//!
//! Java's serializer does not count the messages that stand for map entries, while those of Python and Go do.
//! An index means what it means in Java, unless that is no message.
//!
//! Invariant: the work is bounded by the depth of the schema's messages.

use prost_reflect::{FileDescriptor, MessageDescriptor};

use super::input::{Input, zigzag};
use super::output::{self, append_varint};

/// More than the compiler nests messages.
const MAX_INDEXES: i64 = 64;

/// The messages of a writer's schema.
#[derive(Debug)]
pub(super) struct WriterMessages {
    roots: Vec<MessageName>,
    /// The reader's message.
    expected: String,
    /// The indexes of the reader's message as they are mostly written; empty if it is not in the schema.
    prefix: Vec<u8>,
}

/// A message with those nested in it.
#[derive(Debug)]
struct MessageName {
    full_name: String,
    is_map_entry: bool,
    nested: Vec<MessageName>,
}

impl MessageName {
    fn new(message: &MessageDescriptor) -> Self {
        Self {
            full_name: message.full_name().to_owned(),
            is_map_entry: message.is_map_entry(),
            nested: message.child_messages().map(|nested| Self::new(&nested)).collect(),
        }
    }
}

impl WriterMessages {
    pub(super) fn new(file: &FileDescriptor, expected: &str) -> Self {
        let roots: Vec<_> = file.messages().map(|message| MessageName::new(&message)).collect();
        let mut indexes = Vec::new();
        let prefix = match path(&roots, expected, &mut indexes) {
            true => encode(&indexes),
            false => Vec::new(),
        };
        Self { roots, expected: expected.to_owned(), prefix }
    }

    /// Removes the indexes, which must be those of the reader's message.
    #[inline]
    pub(super) fn strip<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        match bytes.strip_prefix(self.prefix.as_slice()) {
            Some(rest) if !self.prefix.is_empty() => Ok(rest),
            _ => self.strip_slowly(bytes),
        }
    }

    fn strip_slowly<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], String> {
        let mut input = Input::new(bytes);
        let indexes = read(&mut input).ok_or("the message indexes are malformed")?;
        let expected = &self.expected;
        let found = find(&self.roots, &indexes, false).or_else(|| find(&self.roots, &indexes, true));
        match found {
            Some(message) if message.full_name == *expected => Ok(input.rest()),
            Some(message) => {
                Err(format!("the message is {}, and the reader's is {expected}", message.full_name))
            }
            None => Err(format!("the schema has no message with the indexes {indexes:?}")),
        }
    }
}

/// The indexes of a message as they are mostly written; `None` if it is not in the file.
pub(super) fn indexes_of(file: &FileDescriptor, name: &str) -> Option<Vec<u8>> {
    Some(WriterMessages::new(file, name).prefix).filter(|prefix| !prefix.is_empty())
}

/// Finds the indexes of a message, as Java counts them.
fn path(messages: &[MessageName], name: &str, indexes: &mut Vec<i64>) -> bool {
    for (message, index) in messages.iter().filter(|message| !message.is_map_entry).zip(0..) {
        indexes.push(index);
        if message.full_name == name || path(&message.nested, name, indexes) {
            return true;
        }
        indexes.pop();
    }
    false
}

fn encode(indexes: &[i64]) -> Vec<u8> {
    if indexes == [0] {
        return vec![0];
    }
    let mut bytes = Vec::new();
    let count = i64::try_from(indexes.len()).unwrap_or(i64::MAX);
    for number in std::iter::once(&count).chain(indexes) {
        append_varint(&mut bytes, output::zigzag(*number));
    }
    bytes
}

fn read(input: &mut Input<'_>) -> Option<Vec<i64>> {
    let count = zigzag(input.varint().ok()?);
    match count {
        0 => Some(vec![0]),
        1..=MAX_INDEXES => (0..count).map(|_| input.varint().ok().map(zigzag)).collect(),
        _ => None,
    }
}

fn find<'a>(
    messages: &'a [MessageName],
    indexes: &[i64],
    counts_map_entries: bool,
) -> Option<&'a MessageName> {
    let (first, rest) = indexes.split_first()?;
    let index = usize::try_from(*first).ok()?;
    let mut counted = messages.iter().filter(|message| counts_map_entries || !message.is_map_entry);
    let message = counted.nth(index)?;
    match rest {
        [] => Some(message).filter(|message| !message.is_map_entry),
        rest => find(&message.nested, rest, counts_map_entries),
    }
}
