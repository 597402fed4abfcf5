//! Writes the wire format: tags, varints, lengths.

use super::input::BYTES;

#[inline]
pub(super) fn append_varint(out: &mut Vec<u8>, value: u64) {
    let mut rest = value;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Returns the tag of a field.
pub(super) fn tag(number: u32, wire: u8) -> u64 {
    u64::from(number) << 3 | u64::from(wire)
}

/// Writes the length of some bytes, then the bytes.
#[inline]
pub(super) fn append_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    append_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Writes the length of what `append` writes, then the bytes themselves.
#[inline]
pub(super) fn append_sized<E>(
    out: &mut Vec<u8>,
    append: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    // Most lengths take one byte.
    out.push(0);
    append(out)?;
    let length = out.len() - start - 1;
    match u8::try_from(length) {
        Ok(length @ ..0x80) => {
            if let Some(byte) = out.get_mut(start) {
                *byte = length;
            }
        }
        _ => insert_length(out, start, length),
    }
    Ok(())
}

fn insert_length(out: &mut Vec<u8>, start: usize, length: usize) {
    let mut bytes = Vec::with_capacity(5);
    append_varint(&mut bytes, length as u64);
    out.splice(start..=start, bytes);
}

/// Writes a field of bytes, a string or a message.
pub(super) fn append_field(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    append_varint(out, tag(number, BYTES));
    append_bytes(out, bytes);
}

/// Returns the zigzag encoding of a signed number.
#[inline]
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}
