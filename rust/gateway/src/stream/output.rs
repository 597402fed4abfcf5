//! [`Output`]: the bytes to send, as ranges of the input and bytes of the gateway's own.

use std::ops::Range;

use bytes::Bytes;

/// A part of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    /// A range of the input.
    Input(Range<usize>),
    /// Bytes of the gateway's own.
    Owned(Bytes),
}

impl Segment {
    fn length(&self) -> usize {
        match self {
            Self::Input(range) => range.len(),
            Self::Owned(bytes) => bytes.len(),
        }
    }
}

/// The bytes to send after a piece of input was examined.
#[derive(Debug, Default)]
pub(crate) struct Output {
    segments: Vec<Segment>,
    closes: bool,
}

impl Output {
    /// Passes on a range of the input; adjacent ranges become one.
    pub(crate) fn pass(&mut self, range: Range<usize>) {
        match self.segments.last_mut() {
            Some(Segment::Input(last)) if last.end == range.start => last.end = range.end,
            _ if range.is_empty() => {}
            _ => self.segments.push(Segment::Input(range)),
        }
    }

    /// Sends bytes of the gateway's own.
    pub(crate) fn own(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.segments.push(Segment::Owned(bytes));
        }
    }

    /// The parts in order.
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Closes the connection after these bytes.
    pub(crate) fn close(&mut self) {
        self.closes = true;
    }

    /// Whether the connection closes after these bytes.
    pub(crate) fn closes(&self) -> bool {
        self.closes
    }

    /// How many bytes there are.
    pub(crate) fn length(&self) -> usize {
        self.segments.iter().map(Segment::length).sum()
    }

    /// Keeps the first bytes.
    pub(crate) fn truncate(&mut self, mut length: usize) {
        for segment in &mut self.segments {
            let kept = segment.length().min(length);
            length -= kept;
            match segment {
                Segment::Input(range) => range.end = range.start + kept,
                Segment::Owned(bytes) => bytes.truncate(kept),
            }
        }
        self.segments.retain(|segment| segment.length() > 0);
    }

    /// All bytes in one piece.
    pub(crate) fn to_bytes(&self, input: &[u8]) -> Vec<u8> {
        let mut joined = Vec::with_capacity(self.length());
        for segment in &self.segments {
            joined.extend_from_slice(match segment {
                Segment::Input(range) => &input[range.clone()],
                Segment::Owned(bytes) => bytes,
            });
        }
        joined
    }

    /// Forgets all parts.
    pub(crate) fn clear(&mut self) {
        self.segments.clear();
    }
}
