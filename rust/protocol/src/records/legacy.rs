//! Magic 0 and 1, as brokers before 0.11 wrote them: read only.
//!
//! Each entry is a message with its own CRC; a compressed message holds messages in its value.
//! Inside, magic 0 has absolute offsets and magic 1 offsets relative to the first message, while
//! the message around them carries the offset of the last.

use flate2::Crc;

use super::layout::{
    LEGACY_ATTRIBUTES, LEGACY_CRC, LEGACY_MIN_V0, LEGACY_MIN_V1, LEGACY_TIMESTAMP, LENGTH, LOG_APPEND_TIME,
    MAGIC, PREFIX, read_i8, read_i32, read_i64, read_u32,
};
use super::{Compression, Flaw, Headers, RecordError, RecordRef, Scratch};

/// The least length that an entry of this magic announces.
pub(super) const fn min_len(magic: i8) -> usize {
    if magic == 0 { LEGACY_MIN_V0 } else { LEGACY_MIN_V1 }
}

/// The expected and the actual CRC of an entry.
pub(super) fn crcs(entry: &[u8]) -> (u32, u32) {
    let mut crc = Crc::new();
    crc.update(entry.get(MAGIC..).unwrap_or_default());
    (read_u32(entry, LEGACY_CRC), crc.sum())
}

/// The records of one entry, decompressed if need be.
pub(super) fn records<'a>(
    entry: &'a [u8],
    codec: Compression,
    check_crc: bool,
    scratch: &'a mut Scratch,
) -> Result<LegacyRecords<'a>, RecordError> {
    let magic = read_i8(entry, MAGIC);
    let offset = read_i64(entry, 0);
    let flawed = |index, flaw| RecordError::Record { base_offset: offset, index, flaw };
    let mut records = LegacyRecords {
        rest: entry,
        magic,
        wrapper_offset: offset,
        offset_shift: 0,
        append_time: append_time(entry, magic),
        nested: false,
        // The iterator over batches has checked the outer CRC.
        check_crc: false,
        index: 0,
    };
    if codec != Compression::None {
        let payload = Message::parse(entry)
            .map_err(|flaw| flawed(0, flaw))?
            .value
            .ok_or_else(|| flawed(0, Flaw::Negative))?;
        records.rest = scratch.decompress(codec, payload, true, offset)?;
        (records.nested, records.check_crc) = (true, check_crc);
        if magic == 1 {
            let (index, last) = last_offset(records.rest).map_err(|(index, flaw)| flawed(index, flaw))?;
            records.offset_shift = offset.checked_sub(last).ok_or_else(|| flawed(index, Flaw::Offset))?;
        }
    }
    Ok(records)
}

/// The timestamp of every record in an entry whose timestamps the broker sets.
fn append_time(entry: &[u8], magic: i8) -> Option<i64> {
    let attributes = i16::from(read_i8(entry, LEGACY_ATTRIBUTES));
    (magic == 1 && attributes & LOG_APPEND_TIME != 0).then(|| read_i64(entry, LEGACY_TIMESTAMP))
}

/// The last entry's index and offset: what relative offsets are counted back from.
fn last_offset(mut entries: &[u8]) -> Result<(u32, i64), (u32, Flaw)> {
    let mut last = (0, 0);
    let mut index = 0;
    while !entries.is_empty() {
        let (entry, rest) = split_entry(entries).map_err(|flaw| (index, flaw))?;
        last = (index, read_i64(entry, 0));
        index += 1;
        entries = rest;
    }
    Ok(last)
}

fn split_entry(bytes: &[u8]) -> Result<(&[u8], &[u8]), Flaw> {
    if bytes.len() < PREFIX {
        return Err(Flaw::Truncated);
    }
    let len = usize::try_from(read_i32(bytes, LENGTH)).map_err(|_| Flaw::Negative)?;
    if len < LEGACY_MIN_V0 {
        return Err(Flaw::Length);
    }
    bytes.split_at_checked(PREFIX + len).ok_or(Flaw::Truncated)
}

/// The parts of one entry.
struct Message<'a> {
    timestamp: i64,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
}

impl<'a> Message<'a> {
    /// `entry` is whole: its length was checked against its bytes.
    fn parse(entry: &'a [u8]) -> Result<Self, Flaw> {
        let magic = read_i8(entry, MAGIC);
        if entry.len() < PREFIX + min_len(magic) {
            return Err(Flaw::Truncated);
        }
        let (timestamp, start) = match magic {
            0 => (-1, LEGACY_TIMESTAMP),
            _ => (read_i64(entry, LEGACY_TIMESTAMP), LEGACY_TIMESTAMP + 8),
        };
        let mut rest = entry.get(start..).ok_or(Flaw::Truncated)?;
        let key = nullable(&mut rest)?;
        let value = nullable(&mut rest)?;
        if rest.is_empty() { Ok(Self { timestamp, key, value }) } else { Err(Flaw::Length) }
    }
}

fn nullable<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Flaw> {
    let (len, after) = rest.split_first_chunk::<4>().ok_or(Flaw::Truncated)?;
    let len = i32::from_be_bytes(*len);
    let Ok(len) = usize::try_from(len) else {
        *rest = after;
        return if len == -1 { Ok(None) } else { Err(Flaw::Negative) };
    };
    let (bytes, after) = after.split_at_checked(len).ok_or(Flaw::Truncated)?;
    *rest = after;
    Ok(Some(bytes))
}

/// The records of one entry of magic 0 or 1.
pub(super) struct LegacyRecords<'a> {
    rest: &'a [u8],
    magic: i8,
    wrapper_offset: i64,
    offset_shift: i64,
    append_time: Option<i64>,
    /// Whether these lie inside a compressed message.
    nested: bool,
    check_crc: bool,
    index: u32,
}

impl<'a> LegacyRecords<'a> {
    pub(super) const fn bytes(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn at_most(&self) -> usize {
        self.rest.len() / (PREFIX + LEGACY_MIN_V0)
    }

    pub(super) fn next(&mut self) -> Option<Result<RecordRef<'a>, RecordError>> {
        if self.rest.is_empty() {
            return None;
        }
        let result = self.parse().map_err(|flaw| {
            self.rest = &[];
            RecordError::Record { base_offset: self.wrapper_offset, index: self.index, flaw }
        });
        self.index = self.index.saturating_add(1);
        Some(result)
    }

    fn parse(&mut self) -> Result<RecordRef<'a>, Flaw> {
        let (entry, rest) = split_entry(self.rest)?;
        let codec = read_i8(entry, LEGACY_ATTRIBUTES) & 0x07;
        if read_i8(entry, MAGIC) != self.magic || (self.nested && codec != 0) {
            return Err(Flaw::Nested);
        }
        if self.check_crc {
            let (expected, actual) = crcs(entry);
            if expected != actual {
                return Err(Flaw::Crc);
            }
        }
        let message = Message::parse(entry)?;
        let offset = read_i64(entry, 0).checked_add(self.offset_shift).ok_or(Flaw::Offset)?;
        if offset < 0 || offset > self.wrapper_offset {
            return Err(Flaw::Offset);
        }
        self.rest = rest;
        Ok(RecordRef {
            offset,
            timestamp: self.append_time.unwrap_or(message.timestamp),
            key: message.key,
            value: message.value,
            headers: Headers::default(),
        })
    }
}
