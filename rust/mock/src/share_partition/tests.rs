//! Share partitions at random, and one rule at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::record::RecordState;
use super::*;

fn request(member: &str, mode: AcquireMode, max_records: usize) -> AcquireRequest {
    AcquireRequest { member_id: Arc::from(member), mode, max_records, batch_size: max_records.max(1) }
}

fn ranges(acquired: &[AcquiredRange]) -> Vec<(i64, i64, u16)> {
    acquired.iter().map(|range| (range.first_offset, range.last_offset, range.delivery_count)).collect()
}

fn batch(first_offset: i64, last_offset: i64, types: &[Acknowledgement]) -> AcknowledgementBatch {
    AcknowledgementBatch { first_offset, last_offset, types: types.to_vec() }
}

#[test]
fn whole_batches_or_exact_numbers_are_acquired() {
    let (config, now) = (ShareGroupConfig::default(), Instant::now());
    let mut share = SharePartition::new(0, 0);
    let batches = [(0, 4), (5, 9), (10, 14)];
    let acquired = share.acquire(&batches, &request("a", AcquireMode::BatchOptimized, 6), &config, now);
    assert_eq!(ranges(&acquired), [(0, 9, 1)]);
    assert_eq!((share.start_offset(), share.end_offset(), share.next_fetch_offset()), (0, 10, 10));
    let acquired = share.acquire(&batches, &request("b", AcquireMode::RecordLimit, 3), &config, now);
    assert_eq!(ranges(&acquired), [(10, 12, 1)]);
    // A range ends with the batch that makes it long enough.
    let mut share = SharePartition::new(2, 0);
    let small = AcquireRequest { batch_size: 3, ..request("a", AcquireMode::BatchOptimized, 100) };
    assert_eq!(ranges(&share.acquire(&batches, &small, &config, now)), [(2, 4, 1), (5, 9, 1), (10, 14, 1)]);
}

#[test]
fn acknowledgements_are_applied_all_or_none() {
    use Acknowledgement::{Accept, Gap, Reject, Release};
    let (config, now) = (ShareGroupConfig::default(), Instant::now());
    let mut share = SharePartition::new(0, 0);
    let empty = share.acknowledge("a", &[batch(0, 0, &[Accept])], &config, now).unwrap_err();
    assert_eq!(empty.0, ErrorCode::InvalidRecordState);
    share.acquire(&[(0, 9)], &request("a", AcquireMode::BatchOptimized, 10), &config, now);
    let code = |share: &mut SharePartition, member: &str, batches: &[AcknowledgementBatch]| {
        share.acknowledge(member, batches, &config, now).map_err(|(code, _)| code)
    };
    assert_eq!(code(&mut share, "b", &[batch(0, 1, &[Accept])]), Err(ErrorCode::InvalidRecordState));
    assert_eq!(code(&mut share, "a", &[batch(8, 10, &[Accept])]), Err(ErrorCode::InvalidRequest));
    assert_eq!(code(&mut share, "a", &[batch(10, 11, &[Accept])]), Err(ErrorCode::InvalidRequest));
    let twice = [batch(0, 1, &[Accept]), batch(1, 2, &[Accept])];
    assert_eq!(code(&mut share, "a", &twice), Err(ErrorCode::InvalidRecordState));
    assert_eq!(share.start_offset(), 0);
    let mixed = batch(0, 3, &[Accept, Reject, Gap, Release]);
    assert_eq!(code(&mut share, "a", &[mixed, batch(5, 9, &[Accept])]), Ok(()));
    assert_eq!((share.start_offset(), share.next_fetch_offset(), share.lag(12)), (3, 3, 4));
    // What is finished may be acknowledged again; what is released may not.
    assert_eq!(code(&mut share, "a", &[batch(0, 2, &[Accept])]), Ok(()));
    assert_eq!(code(&mut share, "a", &[batch(3, 3, &[Accept])]), Err(ErrorCode::InvalidRecordState));
    assert_eq!(code(&mut share, "a", &[batch(4, 4, &[Accept])]), Ok(()));
    let again = share.acquire(&[(0, 9)], &request("b", AcquireMode::BatchOptimized, 10), &config, now);
    assert_eq!(ranges(&again), [(3, 3, 2)]);
    assert_eq!(code(&mut share, "b", &[batch(3, 3, &[Accept])]), Ok(()));
    assert_eq!((share.start_offset(), share.end_offset()), (10, 10));
}

#[test]
fn locks_time_out_unless_they_are_renewed() {
    let (config, now) = (ShareGroupConfig::default(), Instant::now());
    let mut share = SharePartition::new(0, 0);
    share.acquire(&[(0, 1)], &request("a", AcquireMode::BatchOptimized, 2), &config, now);
    let later = now + Duration::from_secs(20);
    share.acknowledge("a", &[batch(1, 1, &[Acknowledgement::Renew])], &config, later).unwrap();
    assert_eq!(share.next_deadline(), Some(now + config.record_lock_duration));
    assert!(!share.advance(&config, later));
    assert!(share.advance(&config, now + config.record_lock_duration));
    assert_eq!(share.record(0), Some((&RecordState::Available, 1)));
    assert_eq!(share.next_deadline(), Some(later + config.record_lock_duration));
    assert!(share.release("a", &config));
    assert_eq!(share.record(1), Some((&RecordState::Available, 1)));
}

#[test]
fn a_record_that_is_delivered_too_often_is_archived() {
    let (config, now) = (ShareGroupConfig::default(), Instant::now());
    let mut share = SharePartition::new(0, 0);
    let mut delivered = BTreeMap::new();
    for _ in 0..100 {
        let all = request("a", AcquireMode::BatchOptimized, 100);
        for range in share.acquire(&[(0, 7)], &all, &config, now) {
            for offset in range.first_offset..=range.last_offset {
                *delivered.entry(offset).or_insert(0) += 1;
            }
            // The last delivery is of one record alone.
            assert!(range.delivery_count < 5 || range.first_offset == range.last_offset);
        }
        share.release("a", &config);
    }
    assert_eq!(delivered, (0..8).map(|offset| (offset, 5)).collect());
    assert_eq!((share.start_offset(), share.end_offset()), (8, 8));
}

#[test]
fn no_more_records_are_in_flight_than_allowed() {
    let config = ShareGroupConfig { partition_max_record_locks: 5, ..ShareGroupConfig::default() };
    let now = Instant::now();
    let mut share = SharePartition::new(0, 0);
    let some = request("a", AcquireMode::RecordLimit, 9);
    assert_eq!(ranges(&share.acquire(&[(0, 9)], &some, &config, now)), [(0, 4, 1)]);
    assert!(!share.can_acquire(&config));
    assert_eq!(share.acquire(&[(0, 9)], &some, &config, now), []);
    // What was in flight before is delivered again.
    share.acknowledge("a", &[batch(3, 3, &[Acknowledgement::Release])], &config, now).unwrap();
    assert!(share.can_acquire(&config));
    assert_eq!(ranges(&share.acquire(&[(0, 9)], &some, &config, now)), [(3, 3, 2)]);
}

#[test]
fn a_new_leader_knows_what_was_stored() {
    use Acknowledgement::{Accept, Release};
    let (config, now) = (ShareGroupConfig::default(), Instant::now());
    let mut share = SharePartition::new(0, 0);
    let all = request("a", AcquireMode::BatchOptimized, 10);
    share.acquire(&[(0, 4)], &all, &config, now);
    // Nothing was stored: the start offset must be found again.
    assert!(!share.load(1));
    let mut share = SharePartition::new(0, 0);
    share.acquire(&[(0, 4)], &all, &config, now);
    share.acknowledge("a", &[batch(1, 2, &[Accept, Release])], &config, now).unwrap();
    share.acquire(&[(0, 4)], &all, &config, now);
    assert_eq!(
        share.record(2),
        Some((
            &RecordState::Acquired { member_id: Arc::from("a"), until: now + config.record_lock_duration },
            2
        ))
    );
    assert!(share.load(1));
    // The offsets after the last stored one are not in flight; of the others, acquisitions are forgotten.
    assert_eq!((share.start_offset(), share.end_offset()), (0, 3));
    assert_eq!(share.record(0), Some((&RecordState::Available, 0)));
    assert_eq!(share.record(1), Some((&RecordState::Acknowledged, 1)));
    assert_eq!(share.record(2), Some((&RecordState::Available, 1)));
}

#[test]
fn the_log_start_moves_the_start_offset() {
    let (config, now) = (ShareGroupConfig::default(), Instant::now());
    let mut share = SharePartition::new(0, 0);
    share.acquire(&[(0, 9)], &request("a", AcquireMode::BatchOptimized, 10), &config, now);
    share.follow_log(4, 10);
    assert_eq!((share.start_offset(), share.end_offset()), (4, 10));
    share.follow_log(20, 30);
    assert_eq!((share.start_offset(), share.end_offset()), (20, 20));
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % most
    }

    fn offset(&mut self, below: i64) -> i64 {
        i64::try_from(self.below(u64::try_from(below).unwrap_or(1).max(1))).unwrap_or(0)
    }
}

/// A log in batches of one to eight records.
fn batches(random: &mut Random, end: i64) -> Vec<(i64, i64)> {
    let mut batches = Vec::new();
    let mut next = 0;
    while next < end {
        let last = (next + random.offset(8)).min(end - 1);
        batches.push((next, last));
        next = last + 1;
    }
    batches
}

fn run(seed: u64) {
    let mut random = Random(seed);
    let limit = u16::try_from(2 + random.below(5)).unwrap();
    let locks = usize::try_from(8 + random.below(60)).unwrap();
    let config = ShareGroupConfig {
        delivery_count_limit: limit,
        partition_max_record_locks: locks,
        record_lock_duration: Duration::from_secs(10),
        ..ShareGroupConfig::default()
    };
    const END: i64 = 120;
    let log = batches(&mut random, END);
    let mut now = Instant::now();
    let mut share = SharePartition::altered(0, 0);
    let (mut accepted, mut rejected) = (BTreeSet::new(), BTreeSet::new());
    let mut deliveries: BTreeMap<i64, u16> = BTreeMap::new();
    // Who has a record, and until when.
    let mut held: BTreeMap<i64, (&str, Instant)> = BTreeMap::new();
    for step in 0..2_000 {
        let member = ["a", "b", "c"][usize::try_from(random.below(3)).unwrap()];
        let start = share.start_offset();
        match random.below(12) {
            0..4 => {
                let mode = [AcquireMode::BatchOptimized, AcquireMode::RecordLimit]
                    [usize::from(random.below(2) == 0)];
                let most = usize::try_from(1 + random.below(20)).unwrap();
                let from = share.next_fetch_offset();
                let readable: Vec<_> = log.iter().copied().filter(|(_, last)| *last >= from).collect();
                let acquired = share.acquire(&readable, &request(member, mode, most), &config, now);
                let mut count = 0;
                for range in acquired {
                    for offset in range.first_offset..=range.last_offset {
                        assert!(held.insert(offset, (member, now + config.record_lock_duration)).is_none());
                        assert!(!accepted.contains(&offset) && !rejected.contains(&offset), "{offset}");
                        let delivered = deliveries.entry(offset).or_insert(0);
                        *delivered += 1;
                        assert_eq!(*delivered, range.delivery_count, "seed {seed}, step {step}, {offset}");
                        count += 1;
                    }
                }
                assert!(mode == AcquireMode::BatchOptimized || count <= most);
            }
            4..8 => {
                let first = start + random.offset(20);
                let last = first + random.offset(6);
                let types = [
                    Acknowledgement::Accept,
                    Acknowledgement::Release,
                    Acknowledgement::Reject,
                    Acknowledgement::Renew,
                ];
                let what = types[usize::try_from(random.below(4)).unwrap()];
                let owns =
                    (first..=last).all(|offset| held.get(&offset).is_some_and(|(id, _)| *id == member));
                let outcome = share.acknowledge(member, &[batch(first, last, &[what])], &config, now);
                assert_eq!(outcome.is_ok(), owns, "seed {seed}, step {step}: {first}-{last}, {outcome:?}");
                for offset in (first..=last).filter(|_| owns) {
                    match what {
                        Acknowledgement::Accept => {
                            assert!(accepted.insert(offset), "accepted twice: {offset}")
                        }
                        Acknowledgement::Reject => assert!(rejected.insert(offset)),
                        Acknowledgement::Renew => {
                            held.insert(offset, (member, now + config.record_lock_duration));
                            continue;
                        }
                        _ => {}
                    }
                    held.remove(&offset);
                }
            }
            8 | 9 => {
                now += Duration::from_secs(random.below(6));
                share.advance(&config, now);
                held.retain(|_, (_, until)| *until > now);
            }
            10 => {
                share.release(member, &config);
                held.retain(|_, (id, _)| *id != member);
            }
            _ => {
                let epoch = share.leader_epoch + 1;
                assert!(share.load(epoch));
                // Only the acquisition is forgotten: the delivery did not count.
                for offset in std::mem::take(&mut held).into_keys() {
                    if let Some(count) = deliveries.get_mut(&offset) {
                        *count -= 1;
                    }
                }
            }
        }
        let exhausted = |offset: &i64| deliveries.get(offset).is_some_and(|count| *count >= limit);
        for offset in start..share.start_offset() {
            let done = accepted.contains(&offset) || rejected.contains(&offset) || exhausted(&offset);
            assert!(
                done && !held.contains_key(&offset),
                "seed {seed}, step {step}: {offset} is not finished"
            );
        }
        assert!(deliveries.values().all(|count| *count <= limit));
    }
}

#[test]
fn random_schedules_keep_the_invariants() {
    match std::env::var("OTTLA_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => run(seed),
        None => (0..100).for_each(run),
    }
}
