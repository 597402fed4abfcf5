//! Ranges of offsets, each with a value: acquired records with their delivery counts, or acknowledgements.
//!
//! Invariants: ranges do not overlap, and neighbours with the same value are one range. The memory depends on
//! the number of ranges and not on that of the offsets, which a broker may choose at will.

use std::collections::BTreeMap;

/// The number of offsets from `first` to `last`.
pub(super) fn offset_count(first: i64, last: i64) -> u64 {
    last.abs_diff(first).saturating_add(1)
}

/// Ranges of offsets, each with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetRanges<T> {
    /// The last offset and the value, by the first offset.
    ranges: BTreeMap<i64, (i64, T)>,
}

impl<T> Default for OffsetRanges<T> {
    fn default() -> Self {
        Self { ranges: BTreeMap::new() }
    }
}

impl<T: Copy + Eq> OffsetRanges<T> {
    /// Sets the value of the offsets from `first` to `last`, whatever it was before.
    pub fn insert(&mut self, first: i64, last: i64, value: T) {
        if last < first {
            return;
        }
        // Offsets mostly come in order.
        if let Some(mut end) = self.ranges.last_entry() {
            let (end_offset, end_value) = end.get_mut();
            if *end_offset < first {
                if *end_value == value && end_offset.checked_add(1) == Some(first) {
                    *end_offset = last;
                } else {
                    self.ranges.insert(first, (last, value));
                }
                return;
            }
        }
        self.remove(first, last);
        let (mut start, mut end) = (first, last);
        if let Some((before, (before_end, before_value))) = self.ranges.range(..first).next_back()
            && *before_value == value
            && before_end.checked_add(1) == Some(first)
        {
            start = *before;
        }
        if let Some(after) = last.checked_add(1)
            && let Some((after_end, after_value)) = self.ranges.get(&after).copied()
            && after_value == value
        {
            self.ranges.remove(&after);
            end = after_end;
        }
        self.ranges.insert(start, (end, value));
    }

    /// Removes the offsets from `first` to `last`.
    pub fn remove(&mut self, first: i64, last: i64) {
        if last < first {
            return;
        }
        if let Some((_, (end, value))) = self.ranges.range_mut(..first).next_back()
            && *end >= first
        {
            let (old_end, value) = (*end, *value);
            *end = first - 1;
            if old_end > last {
                self.ranges.insert(last + 1, (old_end, value));
                return;
            }
        }
        while let Some((start, (end, value))) = self.ranges.range(first..=last).next() {
            let (start, end, value) = (*start, *end, *value);
            self.ranges.remove(&start);
            if end > last {
                self.ranges.insert(last + 1, (end, value));
                return;
            }
        }
    }

    /// The value of an offset.
    #[must_use]
    pub fn get(&self, offset: i64) -> Option<T> {
        let (_, (end, value)) = self.ranges.range(..=offset).next_back()?;
        (offset <= *end).then_some(*value)
    }

    /// The ranges in order: first offset, last offset, value.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (i64, i64, T)> + '_ {
        self.ranges.iter().map(|(first, (last, value))| (*first, *last, *value))
    }

    /// The parts of the ranges that lie between two offsets, inclusive.
    pub fn between(&self, first: i64, last: i64) -> impl Iterator<Item = (i64, i64, T)> + '_ {
        let before = self.ranges.range(..first).next_back();
        let inside = (first <= last).then(|| self.ranges.range(first..=last)).into_iter().flatten();
        let parts = before
            .into_iter()
            .chain(inside)
            .map(move |(start, (end, value))| ((*start).max(first), (*end).min(last), *value));
        parts.filter(|(start, end, _)| start <= end)
    }

    /// Whether there are no offsets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The number of offsets.
    #[must_use]
    pub fn count(&self) -> u64 {
        let sizes = self.ranges.iter().map(|(first, (last, _))| offset_count(*first, *last));
        sizes.fold(0, u64::saturating_add)
    }

    /// The first offset.
    #[must_use]
    pub fn first(&self) -> Option<i64> {
        self.ranges.keys().next().copied()
    }

    /// The last offset.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.ranges.values().next_back().map(|(last, _)| *last)
    }
}

#[cfg(test)]
mod tests;
