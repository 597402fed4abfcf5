//! Decodes the consumer protocol in a classic group's metadata and assignments: the broker needs the topics,
//! tests the partitions.
//!
//! Invariant: malformed bytes of a client yield `None`, never a panic.

use bytes::Bytes;

/// Decodes the topics of a `ConsumerProtocolSubscription` of any version.
pub(crate) fn subscribed_topics(metadata: &Bytes) -> Option<Vec<String>> {
    let mut bytes = Cursor(metadata);
    bytes.i16()?;
    let count = bytes.i32()?;
    (0..count).map(|_| bytes.string()).collect()
}

/// Decodes the partitions of a `ConsumerProtocolAssignment` of any version.
pub(crate) fn assigned_partitions(assignment: &Bytes) -> Option<Vec<(String, i32)>> {
    let mut bytes = Cursor(assignment);
    bytes.i16()?;
    let mut partitions = Vec::new();
    for _ in 0..bytes.i32()? {
        let topic = bytes.string()?;
        for _ in 0..bytes.i32()? {
            partitions.push((topic.clone(), bytes.i32()?));
        }
    }
    Some(partitions)
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn i16(&mut self) -> Option<i16> {
        self.take().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Option<i32> {
        self.take().map(i32::from_be_bytes)
    }

    fn string(&mut self) -> Option<String> {
        let length = usize::try_from(self.i16()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        let text = std::str::from_utf8(text).ok()?.to_owned();
        self.0 = rest;
        Some(text)
    }
}
