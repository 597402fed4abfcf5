//! LZ4: the frame format, written as Java's `KafkaLZ4BlockOutputStream` writes it.
//!
//! This file writes and reads the frames; libraries code the blocks. The default level uses the fast
//! compressor, which keeps its table between batches; the others use LZ4HC, as in Java. Linked blocks
//! are read too, although no Kafka client writes them.

use ::lz4::block::{CompressionMode, compress_to_buffer, decompress_to_buffer};
use lz4_flex::block::{
    CompressTable, DecompressError, compress_into_with_table, decompress_into, decompress_into_with_dict,
    get_maximum_output_size,
};

use super::output_buffer::OutputBuffer;
use super::xxh32::xxh32;
use crate::records::Compression;
use crate::records::error::CodecError;

const MAGIC: [u8; 4] = 0x184D_2204u32.to_le_bytes();
/// The magic; version 1, independent blocks, no checksums; 64 KiB blocks; the header checksum.
const HEADER: [u8; 7] = [0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, 0x82];
const BLOCK: usize = 64 << 10;
/// The flag in a block's length that marks an uncompressed block.
const STORED: u32 = 0x8000_0000;
/// How far back a block may refer.
const WINDOW: usize = 64 << 10;

/// The minimum length of a match, which its encoded length does not include.
const MIN_MATCH: usize = 4;

const VERSION_MASK: u8 = 0xC0;
const VERSION_1: u8 = 0x40;
const INDEPENDENT: u8 = 0x20;
const BLOCK_CHECKSUM: u8 = 0x10;
const CONTENT_SIZE: u8 = 0x08;
const CONTENT_CHECKSUM: u8 = 0x04;
const RESERVED: u8 = 0x03;

pub(super) enum Encoder {
    /// The default level.
    Fast(Box<CompressTable>),
    /// LZ4HC at a level; the library treats levels above 12 as 12.
    High(i32),
}

impl Encoder {
    pub(super) fn new(level: i32) -> Self {
        if Some(level) == Compression::Lz4.default_level() {
            Self::Fast(Box::new(CompressTable::large()))
        } else {
            Self::High(level)
        }
    }

    pub(super) fn append(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<(), String> {
        output.extend_from_slice(&HEADER);
        for block in input.chunks(BLOCK) {
            let start = output.len();
            output.resize(start + 4 + get_maximum_output_size(block.len()), 0);
            let Some((len, body)) =
                output.get_mut(start..).and_then(|target| target.split_first_chunk_mut::<4>())
            else {
                return Err("no room for a block".to_owned());
            };
            let mut written = self.compress_block(block, body)?;
            // A block is far below 2 GiB.
            let mut field = written as u32;
            if written >= block.len() {
                written = block.len();
                field = written as u32 | STORED;
                if let Some(target) = body.get_mut(..written) {
                    target.copy_from_slice(block);
                }
            }
            *len = field.to_le_bytes();
            output.truncate(start + 4 + written);
        }
        output.extend_from_slice(&[0; 4]);
        Ok(())
    }

    fn compress_block(&mut self, block: &[u8], body: &mut [u8]) -> Result<usize, String> {
        match self {
            Self::Fast(table) => {
                compress_into_with_table(block, body, table).map_err(|error| error.to_string())
            }
            Self::High(level) => {
                let mode = CompressionMode::HIGHCOMPRESSION(*level);
                compress_to_buffer(block, Some(mode), false, body).map_err(|error| error.to_string())
            }
        }
    }
}

pub(super) fn decompress(
    mut input: &[u8],
    old_checksum: bool,
    output: &mut OutputBuffer,
) -> Result<(), CodecError> {
    loop {
        input = decompress_frame(input, old_checksum, output)?;
        if input.is_empty() {
            return Ok(());
        }
    }
}

/// The frame descriptor.
struct Descriptor {
    flags: u8,
    max_block: usize,
}

/// Decompresses one frame and returns the bytes after it.
fn decompress_frame<'a>(
    mut input: &'a [u8],
    old_checksum: bool,
    output: &mut OutputBuffer,
) -> Result<&'a [u8], CodecError> {
    let frame_start = output.len();
    let descriptor = read_descriptor(&mut input, old_checksum)?;
    loop {
        let field = u32::from_le_bytes(*take(&mut input, "a block length is cut short")?);
        if field == 0 {
            break;
        }
        // 31 bits fit.
        let len = (field & !STORED) as usize;
        if len > descriptor.max_block {
            return Err(corrupt("a block is larger than its frame allows"));
        }
        let (block, rest) = input.split_at_checked(len).ok_or_else(|| corrupt("a block is cut short"))?;
        input = rest;
        if descriptor.flags & BLOCK_CHECKSUM != 0 {
            let sum = u32::from_le_bytes(*take(&mut input, "a block checksum is cut short")?);
            if sum != xxh32(block) {
                return Err(corrupt("a block checksum is wrong"));
            }
        }
        if field & STORED != 0 {
            output.extend(block)?;
        } else {
            decompress_block(block, &descriptor, frame_start, output)?;
        }
    }
    if descriptor.flags & CONTENT_CHECKSUM != 0 {
        let sum = u32::from_le_bytes(*take(&mut input, "the content checksum is cut short")?);
        if !output.is_counting() && sum != xxh32(output.filled().get(frame_start..).unwrap_or_default()) {
            return Err(corrupt("the content checksum is wrong"));
        }
    }
    Ok(input)
}

fn read_descriptor(input: &mut &[u8], old_checksum: bool) -> Result<Descriptor, CodecError> {
    if *take::<4>(input, "the frame is cut short")? != MAGIC {
        return Err(corrupt("not an LZ4 frame"));
    }
    let start = *input;
    let [flags, sizes] = *take::<2>(input, "the frame is cut short")?;
    if flags & VERSION_MASK != VERSION_1 || flags & RESERVED != 0 || sizes & 0x8F != 0 {
        return Err(corrupt("unknown frame flags"));
    }
    let max_block = match sizes >> 4 {
        id @ 4..=7 => 1usize << (8 + 2 * id),
        _ => return Err(corrupt("unknown block size")),
    };
    if flags & CONTENT_SIZE != 0 {
        // Not used: it may be false, and counting is fast.
        take::<8>(input, "the frame is cut short")?;
    }
    let described = start.get(..start.len() - input.len()).unwrap_or_default();
    let [sum] = *take::<1>(input, "the frame is cut short")?;
    // The checksum is the second byte of the hash. Writers of magic 0 and 1 also hashed the frame's magic.
    if !old_checksum && sum != xxh32(described).to_le_bytes()[1] {
        return Err(corrupt("the header checksum is wrong"));
    }
    Ok(Descriptor { flags, max_block })
}

fn decompress_block(
    block: &[u8],
    descriptor: &Descriptor,
    frame_start: usize,
    output: &mut OutputBuffer,
) -> Result<(), CodecError> {
    if output.is_counting() {
        let len = decompressed_len(block)?;
        return if len > descriptor.max_block {
            Err(corrupt("a block decompresses to more than its frame allows"))
        } else {
            output.advance(len)
        };
    }
    let (filled, unfilled) = output.split();
    let room = unfilled.len();
    let target = unfilled.get_mut(..descriptor.max_block.min(room)).unwrap_or_default();
    let result = if descriptor.flags & INDEPENDENT != 0 {
        // The C library is faster by a third; if it refuses a block, the Rust one reports the reason.
        match i32::try_from(target.len()).map(|room| decompress_to_buffer(block, Some(room), target)) {
            Ok(Ok(written)) => Ok(written),
            _ => decompress_into(block, target),
        }
    } else {
        let from = frame_start.max(filled.len().saturating_sub(WINDOW));
        decompress_into_with_dict(block, target, filled.get(from..).unwrap_or_default())
    };
    match result {
        Ok(written) => output.advance(written),
        Err(DecompressError::OutputTooSmall { .. }) if room < descriptor.max_block => {
            Err(CodecError::TooLarge)
        }
        Err(error) => Err(corrupt(&error.to_string())),
    }
}

/// The decompressed length of a block: the sum of its sequences' lengths.
fn decompressed_len(mut block: &[u8]) -> Result<usize, CodecError> {
    const TRUNCATED: &str = "a block ends inside a sequence";
    let mut sum = 0_usize;
    loop {
        let [token] = *take::<1>(&mut block, TRUNCATED)?;
        let literals = sequence_len(token >> 4, &mut block)?;
        sum = sum.saturating_add(literals);
        block = block.get(literals..).ok_or_else(|| corrupt(TRUNCATED))?;
        // The last sequence has no match.
        if block.is_empty() {
            return Ok(sum);
        }
        take::<2>(&mut block, TRUNCATED)?;
        let matched = sequence_len(token & 0x0F, &mut block)?;
        sum = sum.saturating_add(matched).saturating_add(MIN_MATCH);
    }
}

fn sequence_len(nibble: u8, block: &mut &[u8]) -> Result<usize, CodecError> {
    let mut len = usize::from(nibble);
    if nibble == 0x0F {
        loop {
            let [more] = *take::<1>(block, "a block ends inside a length")?;
            len = len.saturating_add(usize::from(more));
            if more != u8::MAX {
                break;
            }
        }
    }
    Ok(len)
}

fn take<'a, const N: usize>(input: &mut &'a [u8], truncated: &str) -> Result<&'a [u8; N], CodecError> {
    let (bytes, rest) = input.split_first_chunk::<N>().ok_or_else(|| corrupt(truncated))?;
    *input = rest;
    Ok(bytes)
}

fn corrupt(cause: &str) -> CodecError {
    CodecError::Corrupt(cause.to_owned())
}
