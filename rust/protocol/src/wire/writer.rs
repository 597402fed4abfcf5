//! [`Writer`]: writes primitive values into a [`Frame`].
//!
//! Invariant: large byte fields (record batches) are never copied. The frame holds a reference to them
//! until they are written to the socket, so their memory cannot be reused early.

use bytes::{BufMut, Bytes, BytesMut};

use super::reader::STRING_MAX;
use super::{Result, Uuid, WireError};

/// Byte fields of at least this size become a separate segment instead of being copied.
const SEGMENT_MIN: usize = 4096;

/// Bytes for the socket: segments, to be written in order.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    segments: Vec<Bytes>,
}

impl Frame {
    /// The length of all segments together.
    #[must_use]
    pub fn len(&self) -> usize {
        self.segments.iter().map(Bytes::len).sum()
    }

    /// Whether all segments are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments.iter().all(Bytes::is_empty)
    }

    /// The segments, in order.
    #[must_use]
    pub fn segments(&self) -> &[Bytes] {
        &self.segments
    }

    /// Prepends `prefix` as a separate segment.
    #[must_use]
    pub fn prefixed(mut self, prefix: &[u8]) -> Self {
        self.segments.insert(0, Bytes::copy_from_slice(prefix));
        self
    }

    /// Returns the segments, in order.
    #[must_use]
    pub fn into_segments(self) -> Vec<Bytes> {
        self.segments
    }

    /// Returns all bytes as one buffer; copies them unless there is only one segment.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        match self.segments.as_slice() {
            [] => Bytes::new(),
            [one] => one.clone(),
            many => Bytes::from(many.concat()),
        }
    }
}

/// Builds a [`Frame`] from front to back.
#[derive(Debug, Default)]
pub struct Writer {
    buffer: BytesMut,
    segments: Vec<Bytes>,
}

macro_rules! fixed {
    ($($name:ident($ty:ty), $put:ident;)*) => {$(
        #[doc = concat!("Writes a big-endian `", stringify!($ty), "`.")]
        pub fn $name(&mut self, value: $ty) {
            self.buffer.$put(value);
        }
    )*};
}

impl Writer {
    /// Creates an empty writer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fixed! {
        u8(u8), put_u8;
        i8(i8), put_i8;
        i16(i16), put_i16;
        u16(u16), put_u16;
        i32(i32), put_i32;
        u32(u32), put_u32;
        i64(i64), put_i64;
        f64(f64), put_f64;
    }

    /// Writes an id of 16 bytes.
    pub fn uuid(&mut self, value: Uuid) {
        self.buffer.put_slice(&value.0);
    }

    /// Writes an unsigned variable-length integer.
    pub fn uvarint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.buffer.put_u8((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.buffer.put_u8(value as u8);
    }

    fn length(&mut self, what: &'static str, length: Option<usize>, wide: bool, compact: bool) -> Result<()> {
        let too_long = |length| WireError::TooLong { what, length };
        match length {
            None if compact => self.uvarint(0),
            None if wide => self.i32(-1),
            None => self.i16(-1),
            Some(n) if !wide && n > STRING_MAX => return Err(too_long(n)),
            Some(n) if compact => match u32::try_from(n).ok().filter(|n| *n < 0x7fff_ffff) {
                Some(n) => self.uvarint(n + 1),
                None => return Err(too_long(n)),
            },
            Some(n) if wide => self.i32(i32::try_from(n).map_err(|_| too_long(n))?),
            Some(n) => self.i16(i16::try_from(n).map_err(|_| too_long(n))?),
        }
        Ok(())
    }

    /// Writes a string, or null.
    pub fn string(&mut self, value: Option<&str>, compact: bool) -> Result<()> {
        self.length("string", value.map(str::len), false, compact)?;
        self.buffer.put_slice(value.unwrap_or_default().as_bytes());
        Ok(())
    }

    /// Writes bytes, or null.
    pub fn bytes(&mut self, value: Option<&Bytes>, compact: bool) -> Result<()> {
        self.length("bytes", value.map(Bytes::len), true, compact)?;
        match value {
            Some(bytes) if bytes.len() >= SEGMENT_MIN => {
                self.end_segment();
                self.segments.push(bytes.clone());
            }
            Some(bytes) => self.buffer.put_slice(bytes),
            None => {}
        }
        Ok(())
    }

    /// Writes an array's count, or null.
    pub fn count(&mut self, count: Option<usize>, compact: bool) -> Result<()> {
        self.length("array", count, true, compact)
    }

    /// Writes the tagged fields, each a tag and its encoded value, in ascending order of the tags as
    /// Kafka requires.
    pub fn tagged(&mut self, mut fields: Vec<(u32, Self)>) -> Result<()> {
        fields.sort_by_key(|(tag, _)| *tag);
        let too_long = |length| WireError::TooLong { what: "tagged fields", length };
        self.uvarint(u32::try_from(fields.len()).map_err(|_| too_long(fields.len()))?);
        for (tag, value) in fields {
            let frame = value.finish();
            let size = frame.len();
            self.uvarint(tag);
            self.uvarint(u32::try_from(size).map_err(|_| too_long(size))?);
            for segment in frame.into_segments() {
                self.buffer.put_slice(&segment);
            }
        }
        Ok(())
    }

    fn end_segment(&mut self) {
        if !self.buffer.is_empty() {
            self.segments.push(self.buffer.split().freeze());
        }
    }

    /// Returns the finished frame.
    #[must_use]
    pub fn finish(mut self) -> Frame {
        self.end_segment();
        Frame { segments: self.segments }
    }
}
