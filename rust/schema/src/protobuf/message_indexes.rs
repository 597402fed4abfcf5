//! Confluent's message indexes, which identify the message of a payload in the writer's schema.
//!
//! They are zigzag varints: the number of indexes, then the index of a message in the file, the index of a message
//! nested in it, and so on. The single byte 0 stands for the first message.
//!
//! Java's serializer does not count the messages that represent map entries, but the Python and Go serializers do. An
//! index is read as in Java, unless it refers to no message there.
//!
//! Invariant: the work is bounded by the depth of the schema's messages.

use super::input::{Input, zigzag};
use super::message_name::MessageName;
use super::output::{self, append_varint};

/// The largest number of indexes, which exceeds the nesting that the compiler allows.
const MAX_INDEXES: i64 = 64;

/// Reads the indexes of a message.
pub(super) fn read<'a>(input: &mut Input<'_>, roots: &'a [MessageName]) -> Result<&'a MessageName, String> {
    let indexes = read_indexes(input).ok_or("the message indexes are malformed")?;
    let found = find(roots, &indexes, false).or_else(|| find(roots, &indexes, true));
    found.ok_or_else(|| format!("the schema has no message with the indexes {indexes:?}"))
}

/// Returns the indexes of a message in their usual form. Empty if there is no such message.
pub(super) fn encode(roots: &[MessageName], name: &str) -> Vec<u8> {
    let mut indexes = Vec::new();
    match path(roots, name, &mut indexes) {
        true => encode_indexes(&indexes),
        false => Vec::new(),
    }
}

/// Finds the indexes of a message, counted as in Java.
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

fn encode_indexes(indexes: &[i64]) -> Vec<u8> {
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

fn read_indexes(input: &mut Input<'_>) -> Option<Vec<i64>> {
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
