//! Kafka's murmur2 hash and its default partition for a key.
//!
//! Invariant: a key goes to the same partition as with the Java client, whatever the leaders.

/// Kafka's 32-bit murmur2, bit for bit as in the Java client.
#[must_use]
pub fn murmur2(data: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    let mix = |k: u32| {
        let k = k.wrapping_mul(M);
        (k ^ (k >> 24)).wrapping_mul(M)
    };
    let (words, tail) = data.as_chunks::<4>();
    // Only the lower 32 bits of the length count, as with Java's int.
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

/// The partition of a key among `count`, as the Java client chooses it; 0 if `count` is 0.
#[must_use]
pub fn partition_for_key(key: &[u8], count: usize) -> i32 {
    super::below(murmur2(key) & 0x7fff_ffff, count)
}
