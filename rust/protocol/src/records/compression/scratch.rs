//! The reading side: where a batch is decompressed to, the contexts for it, and the limit.
//!
//! Invariant: the buffer grows with what was decompressed, never past the limit (and one byte, by
//! which too much is noticed), and not because of a size that the compressed bytes announce.

use super::{Compression, gzip, lz4, snappy, zstd};
use crate::records::error::{CodecError, RecordError};

/// A batch that decompresses to more than this is refused, unless configured otherwise.
pub const DEFAULT_DECOMPRESSED_LIMIT: usize = 128 << 20;

/// What the reading of batches needs and can use again for the next one. Make one and keep it.
pub struct Scratch {
    output: Output,
    zstd: Option<zstd::Decoder>,
}

impl Scratch {
    /// With [`DEFAULT_DECOMPRESSED_LIMIT`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_DECOMPRESSED_LIMIT)
    }

    /// With a limit of decompressed bytes a batch.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { output: Output::new(limit), zstd: None }
    }

    /// The limit of decompressed bytes a batch.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.output.limit
    }

    /// Bytes of memory that are kept for the next batch.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.output.buffer.capacity()
    }

    /// Gives the kept memory back.
    pub fn shrink(&mut self) {
        self.output.len = 0;
        self.output.buffer = Vec::new();
    }

    /// Decompresses `input`, which belongs to the batch at `base_offset`.
    ///
    /// `old_lz4` is set for magic 0 and 1, whose LZ4 writers computed a header checksum over the
    /// wrong bytes.
    pub(in crate::records) fn decompress(
        &mut self,
        codec: Compression,
        input: &[u8],
        old_lz4: bool,
        base_offset: i64,
    ) -> Result<&[u8], RecordError> {
        let output = &mut self.output;
        output.len = 0;
        let done = match codec {
            Compression::None => output.extend(input),
            Compression::Gzip => gzip::decompress(input, output),
            Compression::Snappy => snappy::decompress(input, output),
            Compression::Lz4 => lz4::decompress(input, old_lz4, output),
            Compression::Zstd => match &mut self.zstd {
                Some(decoder) => decoder.decompress(input, output),
                none => {
                    zstd::Decoder::new().and_then(|decoder| none.insert(decoder).decompress(input, output))
                }
            },
        };
        match done {
            Ok(()) => Ok(self.output.filled()),
            Err(error) => Err(error.at(base_offset, codec, self.output.limit)),
        }
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").field("limit", &self.limit()).finish_non_exhaustive()
    }
}

/// A buffer whose tail is zeroed once and then written over by batch after batch.
pub(super) struct Output {
    buffer: Vec<u8>,
    len: usize,
    limit: usize,
}

impl Output {
    fn new(limit: usize) -> Self {
        // A limit that leaves no room for the one byte more would overflow below.
        Self { buffer: Vec::new(), len: 0, limit: limit.min(isize::MAX as usize - 1) }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Bytes that may still be written.
    pub(super) const fn room(&self) -> usize {
        self.limit - self.len
    }

    pub(super) fn filled(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }

    /// The bytes written so far, and at least `more` to write to, if the limit allows as many.
    pub(super) fn split(&mut self, more: usize) -> (&[u8], &mut [u8]) {
        let wanted = self.len.saturating_add(more).min(self.limit + 1);
        if self.buffer.len() < wanted {
            let doubled = self.buffer.len().saturating_mul(2).min(self.limit + 1);
            let target = wanted.max(doubled);
            self.buffer.reserve_exact(target - self.buffer.len());
            self.buffer.resize(target, 0);
        }
        let end = self.buffer.len().min(self.limit + 1);
        match self.buffer.get_mut(..end).and_then(|all| all.split_at_mut_checked(self.len)) {
            Some((done, open)) => (done, open),
            None => (&[], &mut []),
        }
    }

    /// `written` bytes of what [`Output::split`] lent are filled.
    pub(super) fn advance(&mut self, written: usize) -> Result<(), CodecError> {
        let len = self.len.saturating_add(written);
        if len > self.limit {
            return Err(CodecError::TooLarge);
        }
        self.len = len;
        Ok(())
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) -> Result<(), CodecError> {
        if bytes.len() > self.room() {
            return Err(CodecError::TooLarge);
        }
        let (_, open) = self.split(bytes.len());
        if let Some(target) = open.get_mut(..bytes.len()) {
            target.copy_from_slice(bytes);
        }
        self.advance(bytes.len())
    }
}
