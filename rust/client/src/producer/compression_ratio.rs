//! How far the batches of a topic shrink when they are compressed, estimated from those that were.
//!
//! Invariant: an estimate only decides when a batch may leave, never whether it is valid; a wrong one costs
//! a request that is smaller or larger than it could be.

use std::sync::atomic::{AtomicU32, Ordering};

/// Estimates are kept in millionths.
const ONE: u32 = 1_000_000;
/// A batch is never expected to shrink further than to a fiftieth.
const MIN: u32 = ONE / 50;

/// The estimated ratio of compressed to plain bytes, of one topic.
#[derive(Debug)]
pub(super) struct CompressionRatio(AtomicU32);

impl Default for CompressionRatio {
    fn default() -> Self {
        Self(AtomicU32::new(ONE))
    }
}

impl CompressionRatio {
    /// Takes in the ratio of a batch that was compressed: a quarter of the way towards it.
    pub(super) fn observe(&self, ratio: f64) {
        let observed = (ratio * f64::from(ONE)).clamp(f64::from(MIN), f64::from(ONE)) as u32;
        let estimate = self.0.load(Ordering::Relaxed);
        // Two threads that do this at once lose one of the two: it is an estimate.
        self.0.store(estimate - estimate / 4 + observed / 4, Ordering::Relaxed);
    }

    /// How many plain bytes are expected to become `compressed` bytes.
    pub(super) fn uncompressed_size(&self, compressed: usize) -> usize {
        let estimate = u64::from(self.0.load(Ordering::Relaxed).clamp(MIN, ONE));
        let plain = (compressed as u64).saturating_mul(u64::from(ONE)) / estimate;
        usize::try_from(plain).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_follow_what_is_seen_and_stay_in_their_bounds() {
        let ratio = CompressionRatio::default();
        assert_eq!(ratio.uncompressed_size(16_384), 16_384);
        (0..40).for_each(|_| ratio.observe(0.25));
        let plain = ratio.uncompressed_size(16_384);
        assert!((65_000..=66_500).contains(&plain), "{plain}");
        (0..40).for_each(|_| ratio.observe(0.0));
        assert!(ratio.uncompressed_size(100) <= 5_001);
        (0..40).for_each(|_| ratio.observe(f64::NAN));
        (0..40).for_each(|_| ratio.observe(3.0));
        assert!(ratio.uncompressed_size(100) <= 101);
    }
}
