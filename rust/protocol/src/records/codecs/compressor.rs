//! Compresses batches: one codec at one level, whose context is kept between batches.
//!
//! A new context for each batch would cost more than compressing a small batch.

use super::{gzip, lz4, snappy, zstd};
use crate::records::{Compression, RecordError};

/// Compresses the batches of one producer. Create one and reuse it.
pub struct Compressor {
    codec: Compression,
    encoder: Encoder,
    output: Vec<u8>,
}

enum Encoder {
    None,
    Gzip(gzip::Encoder),
    Snappy(snappy::Encoder),
    Lz4(lz4::Encoder),
    Zstd(zstd::Encoder),
}

impl Compressor {
    /// Creates a compressor at the codec's default level.
    ///
    /// # Errors
    /// [`RecordError::Compress`] if the codec's context cannot be created.
    pub fn new(codec: Compression) -> Result<Self, RecordError> {
        Self::with_level(codec, codec.default_level().unwrap_or_default())
    }

    /// Creates a compressor at a level within [`Compression::levels`]; a codec without levels ignores it.
    ///
    /// # Errors
    /// [`RecordError::Level`] for a level out of bounds, [`RecordError::Compress`] if the codec's
    /// context cannot be created.
    pub fn with_level(codec: Compression, level: i32) -> Result<Self, RecordError> {
        codec.check_level(level)?;
        let encoder = match codec {
            Compression::None => Encoder::None,
            Compression::Gzip => Encoder::Gzip(gzip::Encoder::new(level)),
            Compression::Snappy => Encoder::Snappy(snappy::Encoder::new()),
            Compression::Lz4 => Encoder::Lz4(lz4::Encoder::new(level)),
            Compression::Zstd => {
                let encoder = zstd::Encoder::new(level).map_err(|cause| failed(codec, cause))?;
                Encoder::Zstd(encoder)
            }
        };
        Ok(Self { codec, encoder, output: Vec::new() })
    }

    /// The codec.
    #[must_use]
    pub const fn codec(&self) -> Compression {
        self.codec
    }

    /// Compresses bytes that are not a batch, such as the metrics of a push.
    ///
    /// # Errors
    /// [`RecordError::Compress`] if the codec fails.
    pub fn compress_bytes(&mut self, input: &[u8]) -> Result<Vec<u8>, RecordError> {
        Ok(self.compress(input, 0)?.map_or_else(|| input.to_vec(), |output| output.to_vec()))
    }

    /// Compresses `input` and returns it after `header_len` zero bytes, or `None` if the codec is
    /// [`Compression::None`]. The result is valid until the next call.
    pub(in crate::records) fn compress(
        &mut self,
        input: &[u8],
        header_len: usize,
    ) -> Result<Option<&mut [u8]>, RecordError> {
        let output = &mut self.output;
        output.clear();
        output.resize(header_len, 0);
        let result = match &mut self.encoder {
            Encoder::None => return Ok(None),
            Encoder::Gzip(encoder) => encoder.append(input, output),
            Encoder::Snappy(encoder) => encoder.append(input, output),
            Encoder::Lz4(encoder) => encoder.append(input, output),
            Encoder::Zstd(encoder) => encoder.append(input, output),
        };
        match result {
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
