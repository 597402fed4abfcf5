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

/// The bytes to send after a piece of input was examined.
#[derive(Debug, Default)]
pub(crate) struct Output {
    segments: Vec<Segment>,
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

    /// Forgets all parts.
    pub(crate) fn clear(&mut self) {
        self.segments.clear();
    }
}
