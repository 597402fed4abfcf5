use std::sync::Arc;

use super::*;

fn at(topic: &str, partition: i32) -> TopicPartition {
    (Arc::from(topic), partition)
}

fn refused(partition: i32) -> RefusedPartition {
    RefusedPartition { partition: at("t", partition), code: ErrorCode::NotEnoughReplicas, broker: 1 }
}

/// A leader that refuses every attempt, one each 250 ms, and what is logged, with the time in milliseconds.
fn run(
    writes: &mut RefusedWrites,
    began: Instant,
    millis: std::ops::Range<u64>,
    partitions: &[i32],
) -> Vec<(u64, Notice)> {
    let mut all = Vec::new();
    for at in millis.step_by(250) {
        let now = began + Duration::from_millis(at);
        partitions.iter().for_each(|partition| writes.refused(refused(*partition), now));
        all.extend(writes.poll(now).into_iter().map(|notice| (at, notice)));
    }
    all
}

fn warned(notices: &[(u64, Notice)]) -> Vec<u64> {
    notices.iter().filter(|(_, it)| matches!(it, Notice::Refused { .. })).map(|(at, _)| *at).collect()
}

#[test]
fn a_refusal_that_lasts_is_reported_within_two_seconds_and_at_growing_intervals() {
    let (mut writes, began) = (RefusedWrites::default(), Instant::now());
    let notices = run(&mut writes, began, 0..100_000, &[0]);
    assert_eq!(warned(&notices), [1_500, 11_500, 31_500, 71_500]);
    let refreshed: Vec<u64> =
        notices.iter().filter(|(_, it)| *it == Notice::Refresh).map(|(at, _)| *at).collect();
    assert_eq!(refreshed[..4], [0, 1_000, 11_000, 31_000], "before each warning");
    let ended = writes.written(&at("t", 0), began + Duration::from_secs(100));
    let lasted = Duration::from_secs(100);
    assert_eq!(ended, [Notice::Accepted { example: refused(0), partitions: 1, lasted }]);
    assert_eq!(writes.next_due(), None);
}

#[test]
fn many_partitions_are_one_warning_and_one_end() {
    let (mut writes, began) = (RefusedWrites::default(), Instant::now());
    let all: Vec<i32> = (0..3_000).collect();
    let notices = run(&mut writes, began, 0..5_000, &all);
    assert_eq!(warned(&notices), [1_500]);
    let others: Vec<_> = notices.iter().filter(|(_, it)| *it != Notice::Refresh).collect();
    assert!(matches!(others[..], [(_, Notice::Refused { partitions: 3_000, .. })]), "{others:?}");
    let now = began + Duration::from_secs(5);
    let ends: Vec<Notice> =
        all.iter().flat_map(|partition| writes.written(&at("t", *partition), now)).collect();
    assert!(matches!(ends[..], [Notice::Accepted { partitions: 3_000, .. }]), "{ends:?}");
}

#[test]
fn a_refusal_that_passes_is_not_reported() {
    let (mut writes, began) = (RefusedWrites::default(), Instant::now());
    assert!(warned(&run(&mut writes, began, 0..1_500, &[0, 1])).is_empty());
    let now = began + Duration::from_millis(1_400);
    assert_eq!((writes.written(&at("t", 0), now), writes.written(&at("t", 1), now)), (vec![], vec![]));
    assert_eq!(writes.next_due(), None);
}

#[test]
fn partitions_that_are_refused_one_after_another_are_not_reported() {
    let (mut writes, began) = (RefusedWrites::default(), Instant::now());
    for (partition, from) in (0..10).zip((0..).step_by(1_000)) {
        assert!(warned(&run(&mut writes, began, from..from + 1_250, &[partition])).is_empty());
        // The next one is refused before this one is accepted.
        writes.refused(refused(partition + 1), began + Duration::from_millis(from + 1_000));
        let ended = writes.written(&at("t", partition), began + Duration::from_millis(from + 1_250));
        assert_eq!(ended, []);
    }
}

#[test]
fn a_refusal_that_comes_and_goes_is_reported_at_growing_intervals() {
    let (mut writes, began) = (RefusedWrites::default(), Instant::now());
    let mut warnings = Vec::new();
    for from in (0..100_000).step_by(5_000) {
        warnings.extend(warned(&run(&mut writes, began, from..from + 4_000, &[0])));
        writes.written(&at("t", 0), began + Duration::from_millis(from + 4_000));
    }
    assert_eq!(warnings, [1_500, 11_500, 31_500, 71_500]);
}

#[test]
fn a_partition_without_records_does_not_hide_the_end() {
    let (mut writes, began) = (RefusedWrites::default(), Instant::now());
    assert_eq!(warned(&run(&mut writes, began, 0..5_000, &[0, 1])), [1_500]);
    // The records of partition 1 have expired, and no more are sent.
    assert_eq!(writes.written(&at("t", 0), began + Duration::from_secs(5)), []);
    let (mut notices, mut polls) = (Vec::new(), 0);
    while let Some(due) = writes.next_due() {
        notices.extend(writes.poll(due));
        polls += 1;
    }
    assert!(notices.iter().any(|it| matches!(it, Notice::Accepted { .. })), "{notices:?}");
    assert!(polls < 10, "{polls} polls of an idle producer");
}
