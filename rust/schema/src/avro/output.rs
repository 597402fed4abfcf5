//! Writes the bytes of payloads.

#[inline]
pub(super) fn append_long(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[inline]
pub(super) fn append_length(out: &mut Vec<u8>, length: usize) {
    append_long(out, i64::try_from(length).unwrap_or(i64::MAX));
}

/// Writes the length of some bytes, then the bytes.
#[inline]
pub(super) fn append_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    append_length(out, bytes.len());
    out.extend_from_slice(bytes);
}
