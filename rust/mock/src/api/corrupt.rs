//! Corrupts the records of Fetch and ShareFetch responses where a fault asks for it, once per response.

use bytes::{Bytes, BytesMut};

use super::RequestContext;

/// Flips the last bit of the first batch if a fault matches the partition.
pub(super) fn corrupted(
    context: &mut RequestContext<'_>,
    topic: &str,
    partition: i32,
    records: Bytes,
) -> Bytes {
    let matches = context.corrupt.is_some_and(|on| on.covers(topic, Some(partition)));
    if !matches || context.corrupted || records.is_empty() {
        return records;
    }
    let length =
        records.get(8..12).and_then(|field| field.first_chunk()).map_or(0, |l| u32::from_be_bytes(*l));
    let last = usize::try_from(length).unwrap_or(0) + 11;
    let mut corrupted = BytesMut::from(&records[..]);
    if let Some(byte) = corrupted.get_mut(last) {
        *byte ^= 1;
        context.corrupted = true;
    }
    corrupted.freeze()
}
