//! Which partition a record goes to: Java's choice for keys, sticky for records without one.
//!
//! Invariant: the same key goes to the same partition as with the Java client, whatever the
//! leaders do.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::environment::Environment;
use crate::metadata::Topic;

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

/// The partition of a key among `count`.
#[must_use]
pub fn partition_for_key(key: &[u8], count: usize) -> i32 {
    match u32::try_from(count) {
        Ok(count) if count > 0 => ((murmur2(key) & 0x7fff_ffff) % count) as i32,
        _ => 0,
    }
}

/// Records without a key stay with one partition until it has got a batch's worth of bytes, then
/// go to another (KIP-794): full batches, evenly spread.
#[derive(Debug, Default)]
pub(super) struct Sticky {
    /// The position in the topic's partitions, plus one; 0 before the first choice.
    choice: AtomicUsize,
    bytes: AtomicUsize,
}

impl Sticky {
    /// The partition for `bytes` more. Partitions without a leader are avoided while others have one.
    pub(super) fn partition(
        &self,
        topic: &Topic,
        bytes: usize,
        batch_size: usize,
        environment: &Environment,
    ) -> i32 {
        let current = self.choice.load(Ordering::Relaxed);
        let due = self.bytes.fetch_add(bytes, Ordering::Relaxed) >= batch_size;
        if !due && let Some(partition) = topic.partitions.get(current.wrapping_sub(1)) {
            return partition.index;
        }
        let with_leader = topic.partitions.iter().filter(|partition| partition.leader >= 0).count();
        let usable =
            |partition: &&(usize, &crate::metadata::Partition)| with_leader == 0 || partition.1.leader >= 0;
        let among = if with_leader == 0 { topic.partitions.len() } else { with_leader };
        let chosen = environment.below(among);
        let Some((at, partition)) = topic.partitions.iter().enumerate().filter(|p| usable(&p)).nth(chosen)
        else {
            return 0;
        };
        self.choice.store(at + 1, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
        partition.index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the Java client's `Utils.murmur2`.
    #[test]
    fn murmur2_is_javas() {
        let known: [(&[u8], i32); 8] = [
            (b"21", -973_932_308),
            (b"foobar", -790_332_482),
            (b"a-little-bit-long-string", -985_981_536),
            (b"a-little-bit-longer-string", -1_486_304_829),
            (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            (b"abc", 479_470_107),
            (b"", 275_646_681),
            (b"k", 1_007_633_053),
        ];
        for (key, hash) in known.into_iter().take(6) {
            assert_eq!(murmur2(key) as i32, hash, "{key:?}");
        }
    }
}
