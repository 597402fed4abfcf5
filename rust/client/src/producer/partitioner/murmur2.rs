//! Kafka's murmur2 and the partition it gives a key.
//!
//! Invariant: the same key goes to the same partition as with the Java client, whatever the
//! leaders do.

/// Kafka's 32-bit murmur2, bit for bit as the Java client has it.
#[must_use]
pub fn murmur2(data: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    let mix = |k: u32| {
        let k = k.wrapping_mul(M);
        (k ^ (k >> 24)).wrapping_mul(M)
    };
    let (words, tail) = data.as_chunks::<4>();
    // The length enters with its lower 32 bits, as Java's int does.
    let mut h = words
        .iter()
        .fold(SEED ^ data.len() as u32, |h, word| h.wrapping_mul(M) ^ mix(u32::from_le_bytes(*word)));
    if !tail.is_empty() {
        for (n, byte) in tail.iter().enumerate() {
            h ^= u32::from(*byte) << (8 * n);
        }
        h = h.wrapping_mul(M);
    }
    h ^= h >> 13;
    h = h.wrapping_mul(M);
    h ^ (h >> 15)
}

/// The partition of a key among `count`, as the Java client chooses it; 0 if there are none.
#[must_use]
pub fn partition_for_key(key: &[u8], count: usize) -> i32 {
    super::below(murmur2(key) & 0x7fff_ffff, count)
}
