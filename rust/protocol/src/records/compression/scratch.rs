//! The reading side: where a batch is decompressed to, the contexts for it, and the limit.
//!
//! Invariants: no batch passes the limit. One of more than a MiB is decompressed into memory of its own
//! size and no more than a quarter above, besides what is kept from batches before it: where its size is
//! not known, it is counted first. An announced size is believed only where it is plausible, and then no
//! more than as the size of a first try.

use super::output::{KEPT, Output};
use super::{Compression, gzip, lz4, snappy, zstd};
use crate::records::error::{CodecError, RecordError};

/// A batch that decompresses to more than this is refused, unless configured otherwise.
pub const DEFAULT_DECOMPRESSED_LIMIT: usize = 512 << 20;

/// Log lines shrink about so many times: the first guess where nothing is announced.
const USUAL_RATIO: usize = 8;
/// A batch that announces more than so many times its compressed size is not believed.
const PLAUSIBLE_RATIO: usize = 32;
/// The least and the most that is guessed, and what may be announced by a batch of any size.
const LEAST_GUESS: usize = 64 << 10;
const MOST_GUESS: usize = 1 << 20;

/// What the reading of batches needs and can use again for the next one. Make one and keep it.
pub struct Scratch {
    output: Output,
    decoders: Decoders,
    limit: usize,
}

/// The contexts of the codecs that have one, made when they are first needed.
#[derive(Default)]
struct Decoders {
    gzip: Option<gzip::Decoder>,
    zstd: Option<zstd::Decoder>,
}

impl Scratch {
    /// Larger buffers are worth giving back: [`Scratch::trim`] does, and [`Scratch::take`] hands them out.
    pub const KEPT: usize = KEPT;

    /// With [`DEFAULT_DECOMPRESSED_LIMIT`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_DECOMPRESSED_LIMIT)
    }

    /// With a limit of decompressed bytes a batch.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        // A buffer is one byte longer, and no longer than memory can be.
        Self {
            output: Output::default(),
            decoders: Decoders::default(),
            limit: limit.min(isize::MAX as usize - 1),
        }
    }

    /// The limit of decompressed bytes a batch.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes of memory that are kept for the next batch.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.output.capacity()
    }

    /// Gives a buffer of more than [`Scratch::KEPT`] back: call it when no batch follows for now.
    pub fn trim(&mut self) {
        if self.output.room() > KEPT {
            self.output.release();
        }
    }

    /// The bytes that the last batch was decompressed to, without copying them. The next batch is
    /// decompressed into fresh memory.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        self.output.take()
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
        match self.fill(codec, input, old_lz4) {
            Ok(()) => Ok(self.output.filled()),
            Err(error) => Err(error.at(base_offset, codec, self.limit)),
        }
    }

    fn fill(&mut self, codec: Compression, input: &[u8], old_lz4: bool) -> Result<(), CodecError> {
        let announced = announced(codec, input).filter(|size| {
            *size <= self.limit && *size <= input.len().saturating_mul(PLAUSIBLE_RATIO).max(MOST_GUESS)
        });
        let guess = input.len().saturating_mul(USUAL_RATIO).clamp(LEAST_GUESS, MOST_GUESS);
        let size = announced.unwrap_or(guess).min(self.limit);
        // What shrank to more than half of the room will not fit.
        if announced.is_some() || input.len() <= self.output.room().max(size) / 2 {
            self.output.start(size, self.limit);
            match self.run(codec, input, old_lz4) {
                Err(CodecError::TooLarge) => {}
                done => return done,
            }
        }
        let mut counted = Output::counting(self.limit);
        decompress(codec, input, old_lz4, &mut counted, &mut Decoders::default())?;
        let size = counted.len();
        drop(counted);
        self.output.start(size, self.limit);
        self.run(codec, input, old_lz4)
    }

    fn run(&mut self, codec: Compression, input: &[u8], old_lz4: bool) -> Result<(), CodecError> {
        decompress(codec, input, old_lz4, &mut self.output, &mut self.decoders)
    }
}

/// The size that the compressed bytes announce, if they do. They may lie.
fn announced(codec: Compression, input: &[u8]) -> Option<usize> {
    match codec {
        Compression::None => Some(input.len()),
        Compression::Gzip => gzip::announced(input),
        Compression::Snappy => snappy::announced(input),
        // No Kafka client announces it, and counting is quick.
        Compression::Lz4 => None,
        Compression::Zstd => zstd::announced(input),
    }
}

fn decompress(
    codec: Compression,
    input: &[u8],
    old_lz4: bool,
    output: &mut Output,
    decoders: &mut Decoders,
) -> Result<(), CodecError> {
    match codec {
        Compression::None => output.extend(input),
        Compression::Gzip if output.counts() => gzip::decompress(input, output),
        Compression::Gzip => decoders.gzip.get_or_insert_with(gzip::Decoder::new).decompress(input, output),
        Compression::Snappy => snappy::decompress(input, output),
        Compression::Lz4 => lz4::decompress(input, old_lz4, output),
        Compression::Zstd if output.counts() => zstd::count(input, output),
        Compression::Zstd => match &mut decoders.zstd {
            Some(decoder) => decoder.decompress(input, output),
            none => none.insert(zstd::Decoder::new()?).decompress(input, output),
        },
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
