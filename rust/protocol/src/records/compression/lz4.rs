//! LZ4: the frame format, written as Java's KafkaLZ4BlockOutputStream writes it.
//!
//! Frames are made here over block codecs: the default level's keeps its table between batches, the
//! others search harder, as in Java. Blocks that depend on the one before are read too, although no
//! Kafka client writes them.

use ::lz4::block::{CompressionMode, compress_to_buffer, decompress_to_buffer};
use lz4_flex::block::{
    CompressTable, DecompressError, compress_into_with_table, decompress_into, decompress_into_with_dict,
    get_maximum_output_size,
};

use super::Compression;
use super::output::Output;
use super::xxh32::xxh32;
use crate::records::error::CodecError;

const MAGIC: [u8; 4] = 0x184D_2204u32.to_le_bytes();
/// The magic; version 1, independent blocks, no checksums; blocks of 64 KiB; the header's checksum.
const HEADER: [u8; 7] = [0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, 0x82];
const BLOCK: usize = 64 << 10;
/// In a block's length: the block is stored as it is.
const STORED: u32 = 0x8000_0000;
/// How far back a block may refer.
const WINDOW: usize = 64 << 10;

/// What the length of a copy is counted from.
const LEAST_COPY: usize = 4;

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
    /// LZ4HC at a level; the library takes those above 12 for 12.
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
                output.get_mut(start..).and_then(|open| open.split_first_chunk_mut::<4>())
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
    output: &mut Output,
) -> Result<(), CodecError> {
    loop {
        input = decompress_frame(input, old_checksum, output)?;
        if input.is_empty() {
            return Ok(());
        }
    }
}

struct Descriptor {
    flags: u8,
    block: usize,
}

/// Reads one frame and returns what follows it.
fn decompress_frame<'a>(
    mut input: &'a [u8],
    old_checksum: bool,
    output: &mut Output,
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
        if len > descriptor.block {
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
        if !output.counts() && sum != xxh32(output.filled().get(frame_start..).unwrap_or_default()) {
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
    let block = match sizes >> 4 {
        id @ 4..=7 => 1usize << (8 + 2 * id),
        _ => return Err(corrupt("unknown block size")),
    };
    if flags & CONTENT_SIZE != 0 {
        // It may lie, and counting is quick.
        take::<8>(input, "the frame is cut short")?;
    }
    let described = start.get(..start.len() - input.len()).unwrap_or_default();
    let [sum] = *take::<1>(input, "the frame is cut short")?;
    // The second byte of the hash. Writers of magic 0 and 1 hashed the frame's magic as well.
    if !old_checksum && sum != xxh32(described).to_le_bytes()[1] {
        return Err(corrupt("the header checksum is wrong"));
    }
    Ok(Descriptor { flags, block })
}

fn decompress_block(
    block: &[u8],
    descriptor: &Descriptor,
    frame_start: usize,
    output: &mut Output,
) -> Result<(), CodecError> {
    if output.counts() {
        let len = decompressed_len(block)?;
        return if len > descriptor.block {
            Err(corrupt("a block makes more than its frame allows"))
        } else {
            output.advance(len)
        };
    }
    let (done, open) = output.split();
    let room = open.len();
    let open = open.get_mut(..descriptor.block.min(room)).unwrap_or_default();
    let made = if descriptor.flags & INDEPENDENT != 0 {
        // The C library is quicker by a third; of a block that it refuses, the other says why.
        match i32::try_from(open.len()).map(|room| decompress_to_buffer(block, Some(room), open)) {
            Ok(Ok(written)) => Ok(written),
            _ => decompress_into(block, open),
        }
    } else {
        let from = frame_start.max(done.len().saturating_sub(WINDOW));
        decompress_into_with_dict(block, open, done.get(from..).unwrap_or_default())
    };
    match made {
        Ok(written) => output.advance(written),
        Err(DecompressError::OutputTooSmall { .. }) if room < descriptor.block => Err(CodecError::TooLarge),
        Err(error) => Err(corrupt(&error.to_string())),
    }
}

/// How many bytes a block makes, by the lengths of its sequences.
fn decompressed_len(mut block: &[u8]) -> Result<usize, CodecError> {
    const CUT: &str = "a block ends inside a sequence";
    let mut sum = 0_usize;
    loop {
        let [token] = *take::<1>(&mut block, CUT)?;
        let literals = sequence_len(token >> 4, &mut block)?;
        sum = sum.saturating_add(literals);
        block = block.get(literals..).ok_or_else(|| corrupt(CUT))?;
        // The last sequence has no copy.
        if block.is_empty() {
            return Ok(sum);
        }
        take::<2>(&mut block, CUT)?;
        let copied = sequence_len(token & 0x0F, &mut block)?;
        sum = sum.saturating_add(copied).saturating_add(LEAST_COPY);
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

fn take<'a, const N: usize>(input: &mut &'a [u8], cut: &str) -> Result<&'a [u8; N], CodecError> {
    let (taken, rest) = input.split_first_chunk::<N>().ok_or_else(|| corrupt(cut))?;
    *input = rest;
    Ok(taken)
}

fn corrupt(cause: &str) -> CodecError {
    CodecError::Corrupt(cause.to_owned())
}
