//! XXH32 with seed 0: the checksum inside LZ4 frames.

const PRIME_1: u32 = 0x9E37_79B1;
const PRIME_2: u32 = 0x85EB_CA77;
const PRIME_3: u32 = 0xC2B2_AE3D;
const PRIME_4: u32 = 0x27D4_EB2F;
const PRIME_5: u32 = 0x1656_67B1;

pub(super) fn xxh32(bytes: &[u8]) -> u32 {
    let (stripes, tail) = bytes.as_chunks::<16>();
    let mut hash = if stripes.is_empty() {
        PRIME_5
    } else {
        let mut lanes = [PRIME_1.wrapping_add(PRIME_2), PRIME_2, 0, 0u32.wrapping_sub(PRIME_1)];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<4>().0) {
                let mixed = lane.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(PRIME_2));
                *lane = mixed.rotate_left(13).wrapping_mul(PRIME_1);
            }
        }
        let [a, b, c, d] = lanes;
        a.rotate_left(1)
            .wrapping_add(b.rotate_left(7))
            .wrapping_add(c.rotate_left(12))
            .wrapping_add(d.rotate_left(18))
    };
    // The length counts modulo 2^32.
    hash = hash.wrapping_add(bytes.len() as u32);
    let (words, tail) = tail.as_chunks::<4>();
    for word in words {
        let mixed = hash.wrapping_add(u32::from_le_bytes(*word).wrapping_mul(PRIME_3));
        hash = mixed.rotate_left(17).wrapping_mul(PRIME_4);
    }
    for &byte in tail {
        let mixed = hash.wrapping_add(u32::from(byte).wrapping_mul(PRIME_5));
        hash = mixed.rotate_left(11).wrapping_mul(PRIME_1);
    }
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(PRIME_2);
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(PRIME_3);
    hash ^ (hash >> 16)
}
