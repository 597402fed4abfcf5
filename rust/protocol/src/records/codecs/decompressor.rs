//! Decompresses batches: the output buffer, the codecs' contexts and the size limit.
//!
//! Invariants: no batch exceeds the limit. A batch of more than 1 MiB is decompressed into memory at most
//! a quarter larger than itself, apart from what is retained from earlier batches: if its size is not
//! known, it is counted first. An announced size is trusted only if it is plausible, and then only as
//! the size of a first attempt.

use super::output_buffer::{MAX_RETAINED, OutputBuffer};
use super::{gzip, lz4, snappy, zstd};
use crate::records::Compression;
use crate::records::error::{CodecError, RecordError};

/// The default limit of a batch's decompressed size. Larger batches are refused.
pub const DEFAULT_DECOMPRESSED_LIMIT: usize = 512 << 20;

/// The compression ratio of typical log lines: the first guess if no size is announced.
const TYPICAL_RATIO: usize = 8;
/// An announced size of more than this many times the compressed size is not trusted.
const PLAUSIBLE_RATIO: usize = 32;
/// The bounds of a guessed size. A batch may also announce up to `MAX_GUESS` whatever its own size.
const MIN_GUESS: usize = 64 << 10;
const MAX_GUESS: usize = 1 << 20;

/// Decompresses batches and keeps buffers and contexts for the next one. Create one and reuse it.
pub struct Decompressor {
    output: OutputBuffer,
    decoders: Decoders,
    limit: usize,
}

/// The codecs' contexts, created on first use.
#[derive(Default)]
struct Decoders {
    gzip: Option<gzip::Decoder>,
    zstd: Option<zstd::Decoder>,
}

impl Decompressor {
    /// The largest buffer that is retained: [`Decompressor::trim`] frees larger ones, and
    /// [`Decompressor::take`] returns them.
    pub const MAX_RETAINED: usize = MAX_RETAINED;

    /// Creates a decompressor with [`DEFAULT_DECOMPRESSED_LIMIT`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_DECOMPRESSED_LIMIT)
    }

    /// Creates a decompressor with a limit of decompressed bytes per batch.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        // The buffer is one byte longer, and must not exceed the largest allocation.
        Self {
            output: OutputBuffer::default(),
            decoders: Decoders::default(),
            limit: limit.min(isize::MAX as usize - 1),
        }
    }

    /// The limit of decompressed bytes per batch.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// The bytes of memory that are retained for the next batch.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.output.allocated()
    }

    /// Frees a buffer of more than [`Decompressor::MAX_RETAINED`]. Call it when no batch follows for now.
    pub fn trim(&mut self) {
        if self.output.capacity() > MAX_RETAINED {
            self.output.free();
        }
    }

    /// Returns the last batch's decompressed bytes without copying them. The next batch is
    /// decompressed into new memory.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        self.output.take()
    }

    /// Decompresses bytes that are not a batch, such as the metrics of a push.
    ///
    /// # Errors
    /// Malformed bytes, and bytes that decompress to more than the limit.
    pub fn decompress_bytes(&mut self, codec: Compression, input: &[u8]) -> Result<Vec<u8>, RecordError> {
        self.decompress(codec, input, false, 0)?;
        Ok(self.take())
    }

    /// Decompresses `input`, the records of the batch at `base_offset`.
    ///
    /// Set `old_lz4` for magic 0 and 1, whose writers computed LZ4's header checksum over the wrong
    /// bytes.
    pub(in crate::records) fn decompress(
        &mut self,
        codec: Compression,
        input: &[u8],
        old_lz4: bool,
        base_offset: i64,
    ) -> Result<&[u8], RecordError> {
        match self.fill(codec, input, old_lz4) {
            Ok(()) => Ok(self.output.filled()),
            Err(error) => Err(error.at(base_offset, codec, self.limit)),
        }
    }

    fn fill(&mut self, codec: Compression, input: &[u8], old_lz4: bool) -> Result<(), CodecError> {
        let announced = announced_size(codec, input).filter(|size| {
            *size <= self.limit && *size <= input.len().saturating_mul(PLAUSIBLE_RATIO).max(MAX_GUESS)
        });
        let guess = input.len().saturating_mul(TYPICAL_RATIO).clamp(MIN_GUESS, MAX_GUESS);
        let size = announced.unwrap_or(guess).min(self.limit);
        // Input of more than half of the buffer's size will not fit once decompressed.
        if announced.is_some() || input.len() <= self.output.capacity().max(size) / 2 {
            self.output.start(size, self.limit);
            match self.run(codec, input, old_lz4) {
                Err(CodecError::TooLarge) => {}
                result => return result,
            }
        }
        let mut counter = OutputBuffer::counting(self.limit);
        decompress(codec, input, old_lz4, &mut counter, &mut Decoders::default())?;
        let size = counter.len();
        drop(counter);
        self.output.start(size, self.limit);
        self.run(codec, input, old_lz4)
    }

    fn run(&mut self, codec: Compression, input: &[u8], old_lz4: bool) -> Result<(), CodecError> {
        decompress(codec, input, old_lz4, &mut self.output, &mut self.decoders)
    }
}

/// The decompressed size that the compressed bytes announce, if any. It may be false.
fn announced_size(codec: Compression, input: &[u8]) -> Option<usize> {
    match codec {
        Compression::None => Some(input.len()),
        Compression::Gzip => gzip::announced_size(input),
        Compression::Snappy => snappy::announced_size(input),
        // No Kafka client announces it, and counting is fast.
        Compression::Lz4 => None,
        Compression::Zstd => zstd::announced_size(input),
    }
}

fn decompress(
    codec: Compression,
    input: &[u8],
    old_lz4: bool,
    output: &mut OutputBuffer,
    decoders: &mut Decoders,
) -> Result<(), CodecError> {
    match codec {
        Compression::None => output.extend(input),
        Compression::Gzip if output.is_counting() => gzip::decompress(input, output),
        Compression::Gzip => decoders.gzip.get_or_insert_with(gzip::Decoder::new).decompress(input, output),
        Compression::Snappy => snappy::decompress(input, output),
        Compression::Lz4 => lz4::decompress(input, old_lz4, output),
        Compression::Zstd if output.is_counting() => zstd::count(input, output),
        Compression::Zstd => match &mut decoders.zstd {
            Some(decoder) => decoder.decompress(input, output),
            none => none.insert(zstd::Decoder::new()?).decompress(input, output),
        },
    }
}

impl Default for Decompressor {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decompressor").field("limit", &self.limit()).finish_non_exhaustive()
    }
}
