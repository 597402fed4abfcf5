//! Gzip: deflate in RFC 1952 framing, members one after another as Java reads them.
//!
//! Writers of Kafka make one member a batch: it goes through libdeflate, which takes whole buffers. What
//! it cannot take (several members, damage, bytes that are only counted) goes through zlib's streams.

use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::{CompressionLvl, Decompressor};

use super::output::Output;
use crate::records::error::CodecError;

const WINDOW_BITS: u8 = 15;
/// What each member begins with: the magic, and deflate as its method.
const START: [u8; 3] = [0x1f, 0x8b, 8];
/// Smaller than zlib's default of 6 makes it, in less time.
const DEFAULT_LEVEL: i32 = 5;

pub(super) struct Encoder(libdeflater::Compressor);

impl Encoder {
    /// `level` is 1 to 9, or -1 for the default.
    pub(super) fn new(level: i32) -> Self {
        let level = if level < 0 { DEFAULT_LEVEL } else { level };
        Self(libdeflater::Compressor::new(CompressionLvl::new(level).unwrap_or_default()))
    }

    pub(super) fn append(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<(), String> {
        let start = output.len();
        output.resize(start + self.0.gzip_compress_bound(input.len()), 0);
        let open = output.get_mut(start..).unwrap_or_default();
        let written = self.0.gzip_compress(input, open).map_err(|error| error.to_string())?;
        output.truncate(start + written);
        Ok(())
    }
}

/// Decompresses batches of one member.
pub(super) struct Decoder(Decompressor);

impl Decoder {
    pub(super) fn new() -> Self {
        Self(Decompressor::new())
    }

    pub(super) fn decompress(&mut self, input: &[u8], output: &mut Output) -> Result<(), CodecError> {
        // It reads one member and does not say where that ends.
        let more = input.get(START.len()..).is_none_or(|rest| memchr::memmem::find(rest, &START).is_some());
        if !more
            && let Ok(written) = self.0.gzip_decompress(input, output.open())
            && announced(input) == Some(written)
        {
            return output.advance(written);
        }
        decompress(input, output)
    }
}

/// The size in the trailer, which is that of the last member.
pub(super) fn announced(input: &[u8]) -> Option<usize> {
    let (_, size) = input.split_last_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*size)).ok()
}

pub(super) fn decompress(mut input: &[u8], output: &mut Output) -> Result<(), CodecError> {
    // Java's stream takes one member at least.
    loop {
        input = decompress_member(input, output)?;
        if input.is_empty() {
            return Ok(());
        }
    }
}

/// Reads one member and returns what follows it.
fn decompress_member<'a>(mut input: &'a [u8], output: &mut Output) -> Result<&'a [u8], CodecError> {
    let mut inflate = Decompress::new_gzip(WINDOW_BITS);
    loop {
        let (taken_before, made_before) = (inflate.total_in(), inflate.total_out());
        let status = inflate
            .decompress(input, output.open(), FlushDecompress::None)
            .map_err(|error| CodecError::Corrupt(error.to_string()))?;
        let taken = usize::try_from(inflate.total_in() - taken_before).unwrap_or(usize::MAX);
        let made = usize::try_from(inflate.total_out() - made_before).unwrap_or(usize::MAX);
        input = input.get(taken..).unwrap_or_default();
        output.advance(made)?;
        match status {
            Status::StreamEnd => return Ok(input),
            _ if taken == 0 && made == 0 => {
                return Err(CodecError::Corrupt("the stream ends early".to_owned()));
            }
            Status::Ok | Status::BufError => {}
        }
    }
}
