//! The estimated compression ratio of a topic's batches.
//!
//! Invariant: an estimate only decides when a batch may be sent, never whether it is valid. A wrong
//! one makes a request smaller or larger than it could be.

use std::sync::atomic::{AtomicU32, Ordering};

/// Estimates are stored in millionths.
const ONE: u32 = 1_000_000;
/// The lowest estimate is a fiftieth.
const MIN: u32 = ONE / 50;

/// The estimated ratio of compressed to uncompressed bytes of one topic.
#[derive(Debug)]
pub(super) struct CompressionRatio(AtomicU32);

impl Default for CompressionRatio {
    fn default() -> Self {
        Self(AtomicU32::new(ONE))
    }
}

impl CompressionRatio {
    /// Moves the estimate a quarter of the way towards the ratio of a compressed batch.
    pub(super) fn observe(&self, ratio: f64) {
        let observed = (ratio * f64::from(ONE)).clamp(f64::from(MIN), f64::from(ONE)) as u32;
        let estimate = self.0.load(Ordering::Relaxed);
        // Two threads may lose one of two updates, which an estimate can bear.
        self.0.store(estimate - estimate / 4 + observed / 4, Ordering::Relaxed);
    }

    /// The number of uncompressed bytes that are expected to become `compressed` bytes.
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
    fn estimates_follow_observed_ratios_within_their_bounds() {
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
