//! Zstandard: one frame per batch, with reused contexts.
//!
//! Decompression writes straight into the output, so a frame header cannot cause a window to be
//! allocated. Only counting the bytes of a frame that announces no size, as Java's do, needs a window:
//! a separate context holds it and is freed before the output is allocated.

use ::zstd::zstd_safe::{
    CCtx, CParameter, DCtx, InBuffer, OutBuffer, compress_bound, get_error_name, get_frame_content_size,
};

use super::output_buffer::OutputBuffer;
use crate::records::error::CodecError;

/// The library's code for "the output is too small", which it returns negated.
const DESTINATION_TOO_SMALL: usize = 70;

pub(super) struct Encoder(CCtx<'static>);

impl Encoder {
    pub(super) fn new(level: i32) -> Result<Self, String> {
        let mut context = CCtx::try_create().ok_or("no memory for a context")?;
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(error_name)?;
        Ok(Self(context))
    }

    pub(super) fn append(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<(), String> {
        let start = output.len();
        output.resize(start + compress_bound(input.len()), 0);
        let target = output.get_mut(start..).unwrap_or_default();
        let written = self.0.compress2(target, input).map_err(error_name)?;
        output.truncate(start + written);
        Ok(())
    }
}

pub(super) struct Decoder(DCtx<'static>);

impl Decoder {
    pub(super) fn new() -> Result<Self, CodecError> {
        context().map(Self)
    }

    pub(super) fn decompress(&mut self, input: &[u8], output: &mut OutputBuffer) -> Result<(), CodecError> {
        match self.0.decompress(output.unfilled(), input) {
            Ok(written) => output.advance(written),
            Err(code) if code.wrapping_neg() == DESTINATION_TOO_SMALL => Err(CodecError::TooLarge),
            Err(code) => Err(CodecError::Corrupt(error_name(code))),
        }
    }
}

fn context() -> Result<DCtx<'static>, CodecError> {
    DCtx::try_create().ok_or_else(|| CodecError::Corrupt("no memory for a context".to_owned()))
}

/// The size that the first frame announces; Java's frames announce none.
pub(super) fn announced_size(input: &[u8]) -> Option<usize> {
    get_frame_content_size(input).ok()?.and_then(|size| usize::try_from(size).ok())
}

/// Counts the decompressed bytes. Like Java, refuses windows of more than 128 MiB.
pub(super) fn count(input: &[u8], output: &mut OutputBuffer) -> Result<(), CodecError> {
    let mut context = context()?;
    let mut source = InBuffer::around(input);
    loop {
        let before = source.pos;
        let mut target = OutBuffer::around(output.unfilled());
        let remaining = context
            .decompress_stream(&mut target, &mut source)
            .map_err(|code| CodecError::Corrupt(error_name(code)))?;
        let produced = target.pos();
        output.advance(produced)?;
        if remaining == 0 && source.pos == input.len() {
            return Ok(());
        }
        if produced == 0 && source.pos == before {
            return Err(CodecError::Corrupt("the stream ends early".to_owned()));
        }
    }
}

fn error_name(code: usize) -> String {
    get_error_name(code).to_owned()
}
