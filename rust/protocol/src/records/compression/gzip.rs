//! Gzip: deflate in RFC 1952 framing, members one after another as Java reads them.

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};

use super::output::Output;
use crate::records::error::CodecError;

const WINDOW_BITS: u8 = 15;
/// The least that the compressed output grows by.
const STEP: usize = 16 << 10;

pub(super) struct Encoder(Compress);

impl Encoder {
    /// `level` is 1 to 9, or -1 for the default.
    pub(super) fn new(level: i32) -> Self {
        let level =
            u32::try_from(level).map_or_else(|_| flate2::Compression::default(), flate2::Compression::new);
        Self(Compress::new_gzip(level, WINDOW_BITS))
    }

    pub(super) fn append(&mut self, mut input: &[u8], output: &mut Vec<u8>) -> Result<(), String> {
        self.0.reset();
        output.reserve(input.len() / 2 + 64);
        loop {
            let before = self.0.total_in();
            let status = self
                .0
                .compress_vec(input, output, FlushCompress::Finish)
                .map_err(|error| error.to_string())?;
            let taken = usize::try_from(self.0.total_in() - before).unwrap_or(usize::MAX);
            input = input.get(taken..).unwrap_or_default();
            match status {
                Status::StreamEnd => return Ok(()),
                Status::Ok | Status::BufError => output.reserve(input.len() + STEP),
            }
        }
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
