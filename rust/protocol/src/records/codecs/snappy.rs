//! Snappy: written in the xerial framing of Java's `SnappyOutputStream`, read with and without it.

use super::output_buffer::OutputBuffer;
use crate::records::error::CodecError;

const MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
/// The magic, then the version and the oldest compatible version, both 1.
const HEADER: [u8; 16] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1];
/// Snappy's own window: larger chunks compress no better.
const CHUNK: usize = 64 << 10;
/// A copy of at most 64 bytes takes at least 3, so no input can grow by more than this factor.
const MAX_RATIO: usize = 22;

pub(super) struct Encoder(Box<snap::raw::Encoder>);

impl Encoder {
    pub(super) fn new() -> Self {
        Self(Box::new(snap::raw::Encoder::new()))
    }

    pub(super) fn append(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<(), String> {
        output.extend_from_slice(&HEADER);
        for chunk in input.chunks(CHUNK) {
            let start = output.len();
            output.resize(start + 4 + snap::raw::max_compress_len(chunk.len()), 0);
            let Some((len, body)) =
                output.get_mut(start..).and_then(|target| target.split_first_chunk_mut::<4>())
            else {
                return Err("no room for a chunk".to_owned());
            };
            let written = self.0.compress(chunk, body).map_err(|error| error.to_string())?;
            // A chunk is far below 2 GiB.
            *len = (written as u32).to_be_bytes();
            output.truncate(start + 4 + written);
        }
        Ok(())
    }
}

/// The sum of the sizes that the chunks announce, each checked against the chunk's length.
pub(super) fn announced_size(input: &[u8]) -> Option<usize> {
    let mut sum = 0_usize;
    let chunk = |chunk: &[u8]| {
        sum = sum.saturating_add(chunk_announced_size(chunk)?);
        Ok(())
    };
    for_each_chunk(input, chunk).ok().map(|()| sum)
}

pub(super) fn decompress(input: &[u8], output: &mut OutputBuffer) -> Result<(), CodecError> {
    for_each_chunk(input, |chunk| decompress_chunk(chunk, output))
}

fn for_each_chunk(
    input: &[u8],
    mut each: impl FnMut(&[u8]) -> Result<(), CodecError>,
) -> Result<(), CodecError> {
    if !input.starts_with(&MAGIC) {
        return each(input);
    }
    let mut rest = input;
    while !rest.is_empty() {
        // Streams, each with its header, may be concatenated.
        if rest.starts_with(&MAGIC) {
            rest = rest.get(HEADER.len()..).ok_or_else(|| corrupt("the framing header is cut short"))?;
            continue;
        }
        let (len, after) =
            rest.split_first_chunk::<4>().ok_or_else(|| corrupt("a chunk length is cut short"))?;
        let len =
            usize::try_from(i32::from_be_bytes(*len)).map_err(|_| corrupt("a chunk length is negative"))?;
        let (chunk, after) = after.split_at_checked(len).ok_or_else(|| corrupt("a chunk is cut short"))?;
        each(chunk)?;
        rest = after;
    }
    Ok(())
}

fn chunk_announced_size(input: &[u8]) -> Result<usize, CodecError> {
    let len = snap::raw::decompress_len(input).map_err(|error| corrupt(&error.to_string()))?;
    if len > input.len().saturating_mul(MAX_RATIO) {
        return Err(corrupt("the announced size exceeds what the bytes can decompress to"));
    }
    Ok(len)
}

fn decompress_chunk(input: &[u8], output: &mut OutputBuffer) -> Result<(), CodecError> {
    let len = chunk_announced_size(input)?;
    if output.is_counting() {
        return output.advance(len);
    }
    let target = output.unfilled().get_mut(..len).ok_or(CodecError::TooLarge)?;
    let written =
        snap::raw::Decoder::new().decompress(input, target).map_err(|error| corrupt(&error.to_string()))?;
    output.advance(written)
}

fn corrupt(cause: &str) -> CodecError {
    CodecError::Corrupt(cause.to_owned())
}
