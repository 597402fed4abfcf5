//! Compares ranges with a map of single offsets, at random.

use std::collections::BTreeMap;

use super::OffsetRanges;

#[test]
fn ranges_are_equal_to_a_map_of_offsets() {
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut ranges, mut map) = (OffsetRanges::default(), BTreeMap::new());
        for step in 0..200 {
            let first = random.i64(0..60);
            let last = first + random.i64(-2..12);
            if random.bool() {
                let value = random.u8(0..3);
                ranges.insert(first, last, value);
                (first..=last).for_each(|offset| {
                    let _ = map.insert(offset, value);
                });
            } else {
                ranges.remove(first, last);
                (first..=last).for_each(|offset| {
                    let _ = map.remove(&offset);
                });
            }
            let listed: BTreeMap<i64, u8> = ranges
                .iter()
                .flat_map(|(first, last, value)| (first..=last).map(move |offset| (offset, value)))
                .collect();
            assert_eq!(listed, map, "seed {seed}, step {step}");
            assert_eq!(ranges.count(), map.len() as u64);
            assert_eq!((ranges.first(), ranges.is_empty()), (map.keys().next().copied(), map.is_empty()));
            assert_eq!(ranges.last(), map.keys().next_back().copied());
            for offset in 0..75 {
                assert_eq!(ranges.get(offset), map.get(&offset).copied());
            }
            let part: u64 =
                ranges.between(first, last).map(|(first, last, _)| last.abs_diff(first) + 1).sum();
            assert_eq!(part, map.keys().filter(|offset| (first..=last).contains(*offset)).count() as u64);
            let all: Vec<_> = ranges.iter().collect();
            for pair in all.windows(2) {
                let [(_, end, before), (start, _, after)] = pair else { continue };
                assert!(end + 1 < *start || before != after, "neighbours are merged: {all:?}");
            }
        }
    }
}

#[test]
fn the_whole_range_of_offsets_needs_one_entry() {
    let mut ranges = OffsetRanges::default();
    ranges.insert(i64::MIN, i64::MAX, 1);
    assert_eq!(ranges.count(), u64::MAX, "saturated");
    ranges.remove(i64::MAX, i64::MAX);
    ranges.insert(i64::MAX, i64::MAX, 1);
    assert_eq!(ranges.iter().collect::<Vec<_>>(), [(i64::MIN, i64::MAX, 1)]);
}
