//! Encodes one record at the end of an open batch.
//!
//! Invariant: the record's length field equals the number of bytes written after it, on both the fast
//! and the general path.

use super::Header;
use super::varint::{len_of, write, zigzag_32};

/// The position of the body in the small array that collects a record's first fields: after the
/// longest length field.
const BODY: usize = 5;
/// The size of a record's first fields. They are copied as a whole, because a copy of constant size
/// takes a few instructions and no call.
pub(super) const HEAD: usize = 32;

/// A record's deltas, in zigzag encoding.
pub(super) struct Deltas {
    pub(super) timestamp: u64,
    pub(super) offset: u64,
}

/// Zigzag values below this take one or two bytes.
const SHORT: u64 = 1 << 14;
/// Keys shorter than this have a length of one byte.
const SHORT_KEY: usize = 1 << 6;
/// With a short key, values shorter than this keep the record's length field within two bytes.
const SHORT_VALUE: usize = (SHORT / 2) as usize - SHORT_KEY - 16;

/// A varint of one or two bytes, and its size in bits.
#[inline(always)]
const fn short(zigzag: u64) -> (u64, u32) {
    if zigzag < 0x80 { (zigzag, 8) } else { (zigzag & 0x7f | 0x80 | (zigzag & 0x3f80) << 1, 16) }
}

/// Appends a record and returns its encoded size. The caller guarantees that the length fits into 31
/// bits, and should reserve [`HEAD`] bytes more than the record's size.
#[inline]
pub(super) fn put_record(
    buffer: &mut Vec<u8>,
    deltas: &Deltas,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: &[Header<'_>],
) -> usize {
    let is_short = (deltas.timestamp | deltas.offset) < SHORT
        && key.is_none_or(|key| key.len() < SHORT_KEY)
        && value.is_none_or(|value| value.len() < SHORT_VALUE)
        && headers.is_empty();
    if is_short { put_short(buffer, deltas, key, value) } else { put(buffer, deltas, key, value, headers) }
}

/// The fast path, for nearly all records: all fields before the key fit into one 64-bit word.
#[inline(always)]
fn put_short(buffer: &mut Vec<u8>, deltas: &Deltas, key: Option<&[u8]>, value: Option<&[u8]>) -> usize {
    let start = buffer.len();
    let (mut word, mut bits) = short(deltas.timestamp);
    let (offset, offset_bits) = short(deltas.offset);
    word |= offset << bits;
    bits += offset_bits;
    word |= length(key) << bits;
    bits += 8;
    let (value_head, value_bits) = short(length(value));
    // Plus one byte of attributes, of which none are defined, and one for the number of headers.
    let body =
        (bits + value_bits) as usize / 8 + key.map_or(0, <[u8]>::len) + value.map_or(0, <[u8]>::len) + 2;
    let (announced, announced_bits) = short((body as u64) << 1);
    word = announced | word << (announced_bits + 8);
    buffer.extend_from_slice(&word.to_le_bytes());
    buffer.truncate(start + (announced_bits + 8 + bits) as usize / 8);
    if let Some(key) = key {
        buffer.extend_from_slice(key);
    }
    let value_start = buffer.len() + value_bits as usize / 8;
    buffer.extend_from_slice(&(value_head as u16).to_le_bytes());
    buffer.truncate(value_start);
    if let Some(value) = value {
        buffer.extend_from_slice(value);
    }
    buffer.push(0);
    announced_bits as usize / 8 + body
}

/// The general path.
fn put(
    buffer: &mut Vec<u8>,
    deltas: &Deltas,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: &[Header<'_>],
) -> usize {
    let start = buffer.len();
    let mut head = [0u8; BODY + HEAD];
    let mut at = BODY + 1;
    at = write(&mut head, at, deltas.timestamp);
    at = write(&mut head, at, deltas.offset);
    at = write(&mut head, at, length(key));
    let value_head = length(value);
    let mut body = at - BODY + key.map_or(0, <[u8]>::len) + len_of(value_head) + value.map_or(0, <[u8]>::len);
    body += if headers.is_empty() { 1 } else { headers_len(headers) };
    let announced = u64::from(zigzag_32(body as i32));
    let announced_len = len_of(announced);
    let from = BODY - announced_len;
    write(&mut head, from, announced);

    if let Some(head) = head.get(from..from + HEAD) {
        buffer.extend_from_slice(head);
        buffer.truncate(start + at - from);
    }
    if let Some(key) = key {
        buffer.extend_from_slice(key);
    }
    put_varint(buffer, value_head);
    if let Some(value) = value {
        buffer.extend_from_slice(value);
    }
    if headers.is_empty() {
        buffer.push(0);
    } else {
        put_headers(buffer, headers);
    }
    announced_len + body
}

#[inline]
fn put_varint(buffer: &mut Vec<u8>, value: u64) {
    let mut bytes = [0u8; 8];
    let end = buffer.len() + write(&mut bytes, 0, value);
    buffer.extend_from_slice(&bytes);
    buffer.truncate(end);
}

fn put_headers(buffer: &mut Vec<u8>, headers: &[Header<'_>]) {
    put_varint(buffer, u64::from(zigzag_32(headers.len() as i32)));
    for header in headers {
        put_varint(buffer, length(Some(header.key)));
        buffer.extend_from_slice(header.key);
        put_varint(buffer, length(header.value));
        buffer.extend_from_slice(header.value.unwrap_or_default());
    }
}

/// The zigzag encoding of a length, -1 for null.
#[inline]
fn length(bytes: Option<&[u8]>) -> u64 {
    bytes.map_or(1, |bytes| (bytes.len() as u64) << 1)
}

fn headers_len(headers: &[Header<'_>]) -> usize {
    let count = len_of(u64::from(zigzag_32(headers.len() as i32)));
    let field = |bytes: Option<&[u8]>| len_of(length(bytes)) + bytes.map_or(0, <[u8]>::len);
    headers.iter().fold(count, |sum, header| sum + field(Some(header.key)) + field(header.value))
}
