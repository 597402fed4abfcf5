//! Zstandard, one frame a batch, with contexts that are used again.
//!
//! Decompression goes straight into the output, so no window is allocated because a frame header
//! asks for one, and starts anew with twice the room when that was too little.

use ::zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound, get_error_name};

use super::scratch::Output;
use crate::records::error::CodecError;

/// The codec's number for "the output is too small", which it returns negated.
const DESTINATION_TOO_SMALL: usize = 70;
/// The room for a first try, as a multiple of the input: log lines shrink about so much.
const FIRST_TRY: usize = 8;
const LEAST: usize = 64 << 10;

pub(super) struct Encoder(CCtx<'static>);

impl Encoder {
    pub(super) fn new(level: i32) -> Result<Self, String> {
        let mut context = CCtx::try_create().ok_or("no memory for a context")?;
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(name)?;
        Ok(Self(context))
    }

    pub(super) fn append(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<(), String> {
        let start = output.len();
        output.resize(start + compress_bound(input.len()), 0);
        let open = output.get_mut(start..).unwrap_or_default();
        let written = self.0.compress2(open, input).map_err(name)?;
        output.truncate(start + written);
        Ok(())
    }
}

pub(super) struct Decoder(DCtx<'static>);

impl Decoder {
    pub(super) fn new() -> Result<Self, CodecError> {
        DCtx::try_create().map(Self).ok_or_else(|| CodecError::Corrupt("no memory for a context".to_owned()))
    }

    pub(super) fn decompress(&mut self, input: &[u8], output: &mut Output) -> Result<(), CodecError> {
        let mut room = input.len().saturating_mul(FIRST_TRY).max(LEAST);
        loop {
            let limit = output.room();
            let (_, open) = output.split(room.min(limit));
            let lent = open.len().min(limit);
            let open = open.get_mut(..lent).unwrap_or_default();
            match self.0.decompress(open, input) {
                Ok(written) => return output.advance(written),
                Err(code) if code.wrapping_neg() == DESTINATION_TOO_SMALL => {
                    if lent >= limit {
                        return Err(CodecError::TooLarge);
                    }
                    room = lent.saturating_mul(2);
                }
                Err(code) => return Err(CodecError::Corrupt(name(code))),
            }
        }
    }
}

fn name(code: usize) -> String {
    get_error_name(code).to_owned()
}
