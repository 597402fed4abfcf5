//! Gzip: deflate in RFC 1952 framing; like Java, reads any number of members.
//!
//! Kafka's clients write one member per batch, which libdeflate decodes as a whole buffer. zlib's
//! streams decode the rest: several members, damaged data, and bytes that are only counted.

use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::CompressionLvl;

use super::output_buffer::OutputBuffer;
use crate::records::error::CodecError;

const WINDOW_BITS: u8 = 15;
/// The first bytes of each member: the magic, and deflate as the method.
const MEMBER_START: [u8; 3] = [0x1f, 0x8b, 8];
/// Compresses better than zlib's default level, 6, in less time.
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
        let target = output.get_mut(start..).unwrap_or_default();
        let written = self.0.gzip_compress(input, target).map_err(|error| error.to_string())?;
        output.truncate(start + written);
        Ok(())
    }
}

/// Decompresses batches of one member.
pub(super) struct Decoder(libdeflater::Decompressor);

impl Decoder {
    pub(super) fn new() -> Self {
        Self(libdeflater::Decompressor::new())
    }

    pub(super) fn decompress(&mut self, input: &[u8], output: &mut OutputBuffer) -> Result<(), CodecError> {
        // libdeflate reads one member and does not report where it ends.
        let has_more = input
            .get(MEMBER_START.len()..)
            .is_none_or(|rest| memchr::memmem::find(rest, &MEMBER_START).is_some());
        if !has_more
            && let Ok(written) = self.0.gzip_decompress(input, output.unfilled())
            && announced_size(input) == Some(written)
        {
            return output.advance(written);
        }
        decompress(input, output)
    }
}

/// The size in the trailer: that of the last member.
pub(super) fn announced_size(input: &[u8]) -> Option<usize> {
    let (_, size) = input.split_last_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*size)).ok()
}

pub(super) fn decompress(mut input: &[u8], output: &mut OutputBuffer) -> Result<(), CodecError> {
    // Like Java's stream, requires at least one member.
    loop {
        input = decompress_member(input, output)?;
        if input.is_empty() {
            return Ok(());
        }
    }
}

/// Reads one member and returns what follows it.
fn decompress_member<'a>(mut input: &'a [u8], output: &mut OutputBuffer) -> Result<&'a [u8], CodecError> {
    let mut inflate = Decompress::new_gzip(WINDOW_BITS);
    loop {
        let (consumed_before, produced_before) = (inflate.total_in(), inflate.total_out());
        let status = inflate
            .decompress(input, output.unfilled(), FlushDecompress::None)
            .map_err(|error| CodecError::Corrupt(error.to_string()))?;
        let consumed = usize::try_from(inflate.total_in() - consumed_before).unwrap_or(usize::MAX);
        let produced = usize::try_from(inflate.total_out() - produced_before).unwrap_or(usize::MAX);
        input = input.get(consumed..).unwrap_or_default();
        output.advance(produced)?;
        match status {
            Status::StreamEnd => return Ok(input),
            _ if consumed == 0 && produced == 0 => {
                return Err(CodecError::Corrupt("the stream ends early".to_owned()));
            }
            Status::Ok | Status::BufError => {}
        }
    }
}
