//! How many bytes the next fetch of a scan asks for: few at first, then twice as many each time.
//!
//! A scan that is left after its first rows has fetched little, and the first rows come soon; a long scan
//! soon asks for all that it may.
//!
//! Invariant: never more than the scan's limit, never less than what an earlier fetch asked for.

/// Enough for the first screen of rows.
const FIRST: i32 = 256 * 1024;

/// The size of the next fetch.
#[derive(Debug)]
pub(crate) struct FetchSize {
    next: i32,
    limit: i32,
}

impl FetchSize {
    pub(crate) fn new(limit: i32) -> Self {
        Self { next: limit.min(FIRST), limit }
    }

    pub(crate) fn bytes(&self) -> i32 {
        self.next
    }

    /// A response had records.
    pub(crate) fn grow(&mut self) {
        self.next = self.next.saturating_mul(2).min(self.limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_double_up_to_the_limit() {
        let mut size = FetchSize::new(1_000_000);
        let sizes: Vec<i32> = (0..4)
            .map(|_| {
                let bytes = size.bytes();
                size.grow();
                bytes
            })
            .collect();
        assert_eq!(sizes, [262_144, 524_288, 1_000_000, 1_000_000]);
    }

    #[test]
    fn a_small_limit_holds_from_the_start() {
        let mut size = FetchSize::new(1000);
        assert_eq!(size.bytes(), 1000);
        size.grow();
        assert_eq!(size.bytes(), 1000);
    }

    #[test]
    fn the_largest_limit_does_not_overflow() {
        let mut size = FetchSize::new(i32::MAX);
        for _ in 0..40 {
            size.grow();
        }
        assert_eq!(size.bytes(), i32::MAX);
    }
}
