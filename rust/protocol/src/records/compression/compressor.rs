//! The writing side: one codec at one level, with its contexts kept between batches.
//!
//! A new context for each batch costs more than compressing a small one.

use super::{Compression, gzip, lz4, snappy, zstd};
use crate::records::RecordError;

/// Compresses the batches of one producer. Make one and keep it.
pub struct Compressor {
    codec: Compression,
    engine: Engine,
    output: Vec<u8>,
}

enum Engine {
    None,
    Gzip(gzip::Encoder),
    Snappy(snappy::Encoder),
    Lz4(lz4::Encoder),
    Zstd(zstd::Encoder),
}

impl Compressor {
    /// At the codec's default level.
    ///
    /// # Errors
    /// [`RecordError::Compress`] if the codec's context cannot be made.
    pub fn new(codec: Compression) -> Result<Self, RecordError> {
        Self::with_level(codec, codec.default_level().unwrap_or_default())
    }

    /// At a level within [`Compression::levels`]; a codec without levels ignores it.
    ///
    /// # Errors
    /// [`RecordError::Level`] for a level out of bounds, [`RecordError::Compress`] if the codec's
    /// context cannot be made.
    pub fn with_level(codec: Compression, level: i32) -> Result<Self, RecordError> {
        codec.check_level(level)?;
        let engine = match codec {
            Compression::None => Engine::None,
            Compression::Gzip => Engine::Gzip(gzip::Encoder::new(level)),
            Compression::Snappy => Engine::Snappy(snappy::Encoder::new()),
            Compression::Lz4 => Engine::Lz4(lz4::Encoder::new(level)),
            Compression::Zstd => {
                let encoder = zstd::Encoder::new(level).map_err(|cause| failed(codec, cause))?;
                Engine::Zstd(encoder)
            }
        };
        Ok(Self { codec, engine, output: Vec::new() })
    }

    /// The codec.
    #[must_use]
    pub const fn codec(&self) -> Compression {
        self.codec
    }

    /// The compressed form of `input` behind `room` bytes for a header, or `None` if the codec
    /// leaves the input as it is. What is returned is good until the next call.
    pub(in crate::records) fn compress(
        &mut self,
        input: &[u8],
        room: usize,
    ) -> Result<Option<&mut [u8]>, RecordError> {
        let output = &mut self.output;
        output.clear();
        output.resize(room, 0);
        let done = match &mut self.engine {
            Engine::None => return Ok(None),
            Engine::Gzip(encoder) => encoder.append(input, output),
            Engine::Snappy(encoder) => encoder.append(input, output),
            Engine::Lz4(encoder) => encoder.append(input, output),
            Engine::Zstd(encoder) => encoder.append(input, output),
        };
        match done {
            Ok(()) => Ok(Some(&mut self.output)),
            Err(cause) => Err(failed(self.codec, cause)),
        }
    }
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compressor").field("codec", &self.codec).finish_non_exhaustive()
    }
}

#[cold]
fn failed(codec: Compression, cause: String) -> RecordError {
    RecordError::Compress { codec, cause }
}
