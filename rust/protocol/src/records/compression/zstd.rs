//! Zstandard, one frame a batch, with contexts that are used again.
//!
//! Decompression goes straight into the output, so no window is allocated because a frame header
//! asks for one. Only counting needs a window, of a frame that announces no size, as Java's: a context of
//! its own has it, and gives it back before the output is made.

use ::zstd::zstd_safe::{
    CCtx, CParameter, DCtx, InBuffer, OutBuffer, compress_bound, get_error_name, get_frame_content_size,
};

use super::output::Output;
use crate::records::error::CodecError;

/// The codec's number for "the output is too small", which it returns negated.
const DESTINATION_TOO_SMALL: usize = 70;

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
        context().map(Self)
    }

    pub(super) fn decompress(&mut self, input: &[u8], output: &mut Output) -> Result<(), CodecError> {
        match self.0.decompress(output.open(), input) {
            Ok(written) => output.advance(written),
            Err(code) if code.wrapping_neg() == DESTINATION_TOO_SMALL => Err(CodecError::TooLarge),
            Err(code) => Err(CodecError::Corrupt(name(code))),
        }
    }
}

fn context() -> Result<DCtx<'static>, CodecError> {
    DCtx::try_create().ok_or_else(|| CodecError::Corrupt("no memory for a context".to_owned()))
}

/// The size that the first frame announces; Java's do not.
pub(super) fn announced(input: &[u8]) -> Option<usize> {
    get_frame_content_size(input).ok()?.and_then(|size| usize::try_from(size).ok())
}

/// Counts what would be decompressed. A window of more than 128 MiB is refused, as by Java.
pub(super) fn count(input: &[u8], output: &mut Output) -> Result<(), CodecError> {
    let mut context = context()?;
    let mut source = InBuffer::around(input);
    loop {
        let before = source.pos;
        let mut target = OutBuffer::around(output.open());
        let left = context
            .decompress_stream(&mut target, &mut source)
            .map_err(|code| CodecError::Corrupt(name(code)))?;
        let made = target.pos();
        output.advance(made)?;
        if left == 0 && source.pos == input.len() {
            return Ok(());
        }
        if made == 0 && source.pos == before {
            return Err(CodecError::Corrupt("the stream ends early".to_owned()));
        }
    }
}

fn name(code: usize) -> String {
    get_error_name(code).to_owned()
}
