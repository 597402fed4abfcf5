//! Reads magic 0 and 1, which brokers before 0.11 wrote.
//!
//! Each entry is a message with its own CRC. The value of a compressed message (the wrapper) holds inner
//! messages: their offsets are absolute in magic 0 and relative to the first one in magic 1. The wrapper
//! carries the offset of the last.

use flate2::Crc;

use super::layout::{
    LEGACY_ATTRIBUTES, LEGACY_CRC, LEGACY_MIN_V0, LEGACY_MIN_V1, LEGACY_TIMESTAMP, LENGTH, LOG_APPEND_TIME,
    MAGIC, PREFIX, read_i8, read_i32, read_i64, read_u32,
};
use super::{Compression, Decompressor, Headers, InvalidRecord, RecordError, RecordRef, RecordsPosition};

/// The minimum length of an entry of this magic.
pub(super) const fn min_len(magic: i8) -> usize {
    if magic == 0 { LEGACY_MIN_V0 } else { LEGACY_MIN_V1 }
}

/// The expected and the actual CRC of an entry.
pub(super) fn crcs(entry: &[u8]) -> (u32, u32) {
    let mut crc = Crc::new();
    crc.update(entry.get(MAGIC..).unwrap_or_default());
    (read_u32(entry, LEGACY_CRC), crc.sum())
}

/// The records of one entry, decompressed if necessary.
pub(super) fn records<'a>(
    entry: &'a [u8],
    codec: Compression,
    check_crc: bool,
    decompressor: &'a mut Decompressor,
) -> Result<LegacyRecords<'a>, RecordError> {
    let magic = read_i8(entry, MAGIC);
    let offset = read_i64(entry, 0);
    let invalid = |index, reason| RecordError::InvalidRecord { base_offset: offset, index, reason };
    let mut records = reader(entry, codec, check_crc, entry);
    if codec != Compression::None {
        let payload = Message::parse(entry)
            .map_err(|reason| invalid(0, reason))?
            .value
            .ok_or_else(|| invalid(0, InvalidRecord::Negative))?;
        records.rest = decompressor.decompress(codec, payload, true, offset)?;
        if magic == 1 {
            let (index, last) =
                last_offset(records.rest).map_err(|(index, reason)| invalid(index, reason))?;
            records.offset_shift =
                offset.checked_sub(last).ok_or_else(|| invalid(index, InvalidRecord::Offset))?;
        }
    }
    Ok(records)
}

/// The records of an entry from a position on; `rest` holds them, decompressed if necessary.
pub(super) fn resume<'a>(
    entry: &'a [u8],
    codec: Compression,
    check_crc: bool,
    rest: &'a [u8],
    position: RecordsPosition,
) -> LegacyRecords<'a> {
    let RecordsPosition { index, offset_shift, .. } = position;
    LegacyRecords { index, offset_shift, ..reader(entry, codec, check_crc, rest) }
}

fn reader<'a>(entry: &[u8], codec: Compression, check_crc: bool, rest: &'a [u8]) -> LegacyRecords<'a> {
    let magic = read_i8(entry, MAGIC);
    let inner = codec != Compression::None;
    LegacyRecords {
        rest,
        magic,
        wrapper_offset: read_i64(entry, 0),
        offset_shift: 0,
        append_time: append_time(entry, magic),
        inner,
        // `Batch::check` has checked the outer CRC.
        check_crc: inner && check_crc,
        index: 0,
    }
}

/// The timestamp of every record, if the broker sets it (LogAppendTime).
fn append_time(entry: &[u8], magic: i8) -> Option<i64> {
    let attributes = i16::from(read_i8(entry, LEGACY_ATTRIBUTES));
    (magic == 1 && attributes & LOG_APPEND_TIME != 0).then(|| read_i64(entry, LEGACY_TIMESTAMP))
}

/// The last entry's index and offset, from which relative offsets are resolved.
fn last_offset(mut entries: &[u8]) -> Result<(u32, i64), (u32, InvalidRecord)> {
    let mut last = (0, 0);
    let mut index = 0;
    while !entries.is_empty() {
        let (entry, rest) = split_entry(entries).map_err(|reason| (index, reason))?;
        last = (index, read_i64(entry, 0));
        index += 1;
        entries = rest;
    }
    Ok(last)
}

fn split_entry(bytes: &[u8]) -> Result<(&[u8], &[u8]), InvalidRecord> {
    if bytes.len() < PREFIX {
        return Err(InvalidRecord::Truncated);
    }
    let len = usize::try_from(read_i32(bytes, LENGTH)).map_err(|_| InvalidRecord::Negative)?;
    if len < LEGACY_MIN_V0 {
        return Err(InvalidRecord::Length);
    }
    bytes.split_at_checked(PREFIX + len).ok_or(InvalidRecord::Truncated)
}

/// The fields of one entry.
struct Message<'a> {
    timestamp: i64,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
}

impl<'a> Message<'a> {
    /// Parses a whole entry: its length matches its bytes.
    fn parse(entry: &'a [u8]) -> Result<Self, InvalidRecord> {
        let magic = read_i8(entry, MAGIC);
        if entry.len() < PREFIX + min_len(magic) {
            return Err(InvalidRecord::Truncated);
        }
        let (timestamp, start) = match magic {
            0 => (-1, LEGACY_TIMESTAMP),
            _ => (read_i64(entry, LEGACY_TIMESTAMP), LEGACY_TIMESTAMP + 8),
        };
        let mut rest = entry.get(start..).ok_or(InvalidRecord::Truncated)?;
        let key = nullable(&mut rest)?;
        let value = nullable(&mut rest)?;
        if rest.is_empty() { Ok(Self { timestamp, key, value }) } else { Err(InvalidRecord::Length) }
    }
}

fn nullable<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, InvalidRecord> {
    let (len, after) = rest.split_first_chunk::<4>().ok_or(InvalidRecord::Truncated)?;
    let len = i32::from_be_bytes(*len);
    let Ok(len) = usize::try_from(len) else {
        *rest = after;
        return if len == -1 { Ok(None) } else { Err(InvalidRecord::Negative) };
    };
    let (bytes, after) = after.split_at_checked(len).ok_or(InvalidRecord::Truncated)?;
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
    /// Whether these are the inner messages of a compressed message.
    inner: bool,
    check_crc: bool,
    index: u32,
}

impl<'a> LegacyRecords<'a> {
    pub(super) const fn bytes(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) const fn position(&self) -> RecordsPosition {
        RecordsPosition { left: self.rest.len(), index: self.index, offset_shift: self.offset_shift }
    }

    pub(super) fn max_remaining(&self) -> usize {
        self.rest.len() / (PREFIX + LEGACY_MIN_V0)
    }

    pub(super) fn next(&mut self) -> Option<Result<RecordRef<'a>, RecordError>> {
        if self.rest.is_empty() {
            return None;
        }
        let result = self.parse().map_err(|reason| {
            self.rest = &[];
            RecordError::InvalidRecord { base_offset: self.wrapper_offset, index: self.index, reason }
        });
        self.index = self.index.saturating_add(1);
        Some(result)
    }

    fn parse(&mut self) -> Result<RecordRef<'a>, InvalidRecord> {
        let (entry, rest) = split_entry(self.rest)?;
        let codec = read_i8(entry, LEGACY_ATTRIBUTES) & 0x07;
        if read_i8(entry, MAGIC) != self.magic || (self.inner && codec != 0) {
            return Err(InvalidRecord::Nested);
        }
        if self.check_crc {
            let (expected, actual) = crcs(entry);
            if expected != actual {
                return Err(InvalidRecord::Crc);
            }
        }
        let message = Message::parse(entry)?;
        let offset = read_i64(entry, 0).checked_add(self.offset_shift).ok_or(InvalidRecord::Offset)?;
        if offset < 0 || offset > self.wrapper_offset {
            return Err(InvalidRecord::Offset);
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
