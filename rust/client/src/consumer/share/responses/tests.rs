//! What becomes of acknowledgements and acquired records when requests fail, and of hostile responses.

use bytes::Bytes;
use ottla_protocol::ErrorCode as E;

use super::super::acknowledgements::AcknowledgeType::{Accept, Reject, Release};
use super::super::harness::*;
use super::*;
use crate::config::ShareAcknowledgementMode;

const IMPLICIT: ShareAcknowledgementMode = ShareAcknowledgementMode::Implicit;

/// A member that has read offsets 0 and 1, and whose next fetch acknowledges them.
fn acknowledging() -> Harness {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.state.keep_results = true;
    assert_eq!(harness.read(0, 0, 2), [0, 1]);
    harness.poll();
    assert_eq!(piggybacked(&harness.fetch().1), [(0, 0, 1, 1)]);
    harness
}

/// A broker that has taken them refuses them, and with them all others of the partition in the same request.
#[test]
fn acknowledgements_of_a_lost_fetch_are_sent_again_in_a_new_session_without_others_of_the_partition() {
    let mut harness = acknowledging();
    harness.fetch_lost(0);
    harness.assert_idle();
    harness.pass(BACKOFF);
    let (_, request) = harness.fetch();
    assert_eq!(
        (request.share_session_epoch, piggybacked(&request)),
        (0, vec![]),
        "brokers refuse them there"
    );
    harness.fetched(0, vec![fetched(0, batch(2, 1), &[(2, 2)])]);
    assert_eq!(harness.deliver(1), [2]);
    harness.poll();
    let (_, request) = harness.fetch();
    assert_eq!((request.share_session_epoch, piggybacked(&request)), (1, vec![(0, 0, 1, 1)]));
    let mut refused = fetched(0, Bytes::new(), &[]);
    refused.acknowledge_error_code = E::InvalidRecordState.code();
    harness.fetched(0, vec![refused]);
    assert_eq!(harness.results(), [(0, 1, Some(E::InvalidRecordState))]);
    harness.pass(Duration::from_millis(20));
    harness.poll();
    assert_eq!(piggybacked(&harness.fetch().1), [(0, 2, 2, 1)]);
    harness.fetched(0, vec![fetched(0, Bytes::new(), &[])]);
    assert_eq!(harness.results(), [(2, 2, None)]);
}

/// Regression: a response leaves out partitions without news, and their failure was reported for ever.
#[test]
fn a_partition_that_a_response_leaves_out_has_recovered() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    harness.fetch();
    let mut refused = fetched(0, Bytes::new(), &[]);
    refused.error_code = E::NotLeaderOrFollower.code();
    harness.fetched(0, vec![refused]);
    assert_eq!(harness.state.failing.len(), 1);
    assert!(harness.state.read_again.is_empty());
    harness.pass(BACKOFF);
    harness.poll();
    harness.fetch();
    harness.fetched(0, Vec::new());
    assert!(harness.state.failing.is_empty());
    assert_eq!(harness.state.read_again.len(), 1);
}

#[test]
fn a_lost_session_is_opened_at_once_but_not_over_and_over() {
    let mut harness = acknowledging();
    harness.fetch_refused(0, E::ShareSessionNotFound);
    assert_eq!(harness.fetch().1.share_session_epoch, 0, "at once");
    harness.fetch_refused(0, E::InvalidShareSessionEpoch);
    harness.assert_idle();
    harness.pass(BACKOFF);
    assert_eq!(harness.fetch().1.share_session_epoch, 0);
    assert!(harness.results().is_empty(), "nothing is lost");
}

/// Regression: a member whose sessions were evicted one after the other reported no failure, because
/// opening the next one counted as success.
#[test]
fn sessions_that_are_lost_again_and_again_count_as_one_failure() {
    let mut harness = acknowledging();
    let start = harness.now;
    for _ in 0..5 {
        harness.fetch_refused(0, E::ShareSessionNotFound);
        harness.pass(BACKOFF);
        harness.fetch();
        harness.fetched(0, Vec::new());
        harness.pass(BACKOFF);
        harness.fetch();
    }
    let leader = &harness.state.leaders[&0];
    assert_eq!((leader.failures, leader.failing_since), (5, Some(start)));
    harness.fetched(0, vec![fetched(0, Bytes::new(), &[])]);
    assert_eq!(harness.state.leaders[&0].failures, 0);
}

/// Regression: a persistent error code of a whole response was never logged.
#[test]
fn the_error_of_a_whole_response_is_known_as_the_failure() {
    let mut harness = acknowledging();
    harness.fetch_refused(0, E::ShareSessionLimitReached);
    let error = harness.state.leaders[&0].last_error.clone().expect("a failure");
    assert_eq!(error.code(), Some(E::ShareSessionLimitReached));
    harness.pass(BACKOFF);
    harness.fetch();
    harness.fetched(0, Vec::new());
    harness.pass(BACKOFF);
    harness.fetch();
    harness.fetched(0, Vec::new());
    assert!(harness.state.leaders[&0].last_error.is_none());
}

/// Regression: the acknowledgements were dropped although records of the leader were still being delivered,
/// and the next fetch could have carried them.
#[test]
fn acknowledgements_of_a_lost_session_wait_while_the_leader_has_buffered_records() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.state.keep_results = true;
    harness.poll();
    harness.fetch();
    harness.fetched(0, vec![fetched(0, batch(0, 2), &[(0, 1)])]);
    assert_eq!(harness.deliver(1), [0]);
    harness.poll();
    harness.pass(Duration::from_millis(100));
    assert_eq!(sent(&harness.acknowledge().1), [(0, 0, 0, 1)]);
    harness.acknowledge_refused(0, E::ShareSessionNotFound);
    harness.assert_idle();
    assert!(harness.results().is_empty());
    assert_eq!(harness.deliver(1), [1]);
    harness.poll();
    assert_eq!(harness.fetch().1.share_session_epoch, 0);
    harness.fetched(0, Vec::new());
    harness.pass(Duration::from_millis(20));
    assert_eq!(piggybacked(&harness.fetch().1), [(0, 0, 0, 1)]);
    harness.fetched(0, vec![fetched(0, Bytes::new(), &[])]);
    harness.pass(Duration::from_millis(20));
    harness.poll();
    assert_eq!(piggybacked(&harness.fetch().1), [(0, 1, 1, 1)]);
}

#[test]
fn a_commit_whose_session_is_lost_fails_instead_of_waiting_for_a_poll() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.state.keep_results = true;
    harness.read(0, 0, 2);
    harness.state.begin_commit(harness.now);
    harness.acknowledge();
    harness.acknowledge_refused(0, E::ShareSessionNotFound);
    harness.assert_idle();
    assert_eq!(harness.results(), [(0, 1, Some(E::ShareSessionNotFound))]);
    assert!(harness.state.is_settled());
}

/// Regression: the acknowledgements disappeared without a result.
#[test]
fn acknowledgements_are_void_with_an_error_once_their_records_are_acquired_again() {
    let mut harness = acknowledging();
    harness.fetch_lost(0);
    harness.pass(BACKOFF);
    harness.fetch();
    harness.fetched(0, vec![fetched(0, batch(1, 2), &[(1, 2)])]);
    assert_eq!(harness.results(), [(1, 1, Some(E::InvalidRecordState))]);
    assert_eq!(harness.deliver(2), [1, 2]);
    harness.poll();
    assert_eq!(piggybacked(&harness.fetch().1), [(0, 0, 0, 1)]);
    harness.fetched(0, vec![fetched(0, Bytes::new(), &[])]);
    harness.pass(Duration::from_millis(20));
    harness.poll();
    assert_eq!(piggybacked(&harness.fetch().1), [(0, 1, 2, 1)], "each once");
}

#[test]
fn a_fatal_error_fails_the_acknowledgements_and_is_raised() {
    let mut harness = acknowledging();
    harness.fetch_refused(0, E::GroupAuthorizationFailed);
    assert_eq!(harness.results(), [(0, 1, Some(E::GroupAuthorizationFailed))]);
    assert_eq!(
        harness.state.errors.pop_front().and_then(|error| error.code()),
        Some(E::GroupAuthorizationFailed)
    );
    harness.assert_idle();
    harness.pass(BACKOFF);
    harness.fetch();
}

#[test]
fn a_response_that_leaves_a_partition_out_fails_its_acknowledgements() {
    let mut harness = acknowledging();
    harness.fetched(0, Vec::new());
    assert_eq!(harness.results(), [(0, 1, Some(E::InvalidRecordState))]);
}

#[test]
fn a_corrupt_batch_is_released_and_the_records_before_it_are_delivered() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    harness.fetch();
    let mut bytes = batch(0, 2).to_vec();
    bytes.extend_from_slice(&batch(2, 2));
    *bytes.last_mut().expect("bytes") ^= 1;
    harness.fetched(0, vec![fetched(0, bytes.into(), &[(0, 3)])]);
    assert_eq!(harness.state.errors.len(), 1);
    assert_eq!(harness.deliver(9), [0, 1]);
    harness.poll();
    assert_eq!(piggybacked(&harness.fetch().1), [(0, 0, 1, 1), (0, 2, 3, 2)]);
}

/// Regression: such a response caused the next fetch at once, without a pause and without an error.
#[test]
fn a_truncated_batch_is_released_after_a_pause_with_an_error() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    harness.fetch();
    let whole = batch(0, 2);
    harness.fetched(0, vec![fetched(0, whole.slice(..whole.len() - 1), &[(0, 1)])]);
    assert_eq!(harness.state.errors.len(), 1);
    harness.assert_idle();
    harness.pass(Duration::from_millis(20));
    assert_eq!(piggybacked(&harness.fetch().1), [(0, 0, 1, 2)]);
}

#[test]
fn a_response_may_end_within_a_batch_that_was_not_acquired() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    harness.fetch();
    let (whole, next) = (batch(0, 2), batch(2, 2));
    let records = [&whole[..], &next[..next.len() - 1]].concat().into();
    harness.fetched(0, vec![fetched(0, records, &[(0, 1)])]);
    assert!(harness.state.errors.is_empty(), "the rest comes with the next fetch");
    assert_eq!(harness.deliver(9), [0, 1]);
}

#[test]
fn acquired_offsets_without_a_record_become_gaps() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    harness.fetch();
    harness.fetched(0, vec![fetched(0, batch(5, 2), &[(3, 9)])]);
    assert_eq!(harness.deliver(9), [5, 6]);
    harness.poll();
    assert_eq!(piggybacked(&harness.fetch().1), [(0, 3, 4, 0), (0, 5, 6, 1), (0, 7, 9, 0)]);
}

#[test]
fn records_that_were_not_acquired_are_not_delivered() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    harness.fetch();
    harness.fetched(0, vec![fetched(0, batch(0, 9), &[(2, 3), (7, 7)])]);
    assert_eq!(harness.deliver(9), [2, 3, 7]);
}

#[test]
fn records_whose_lock_has_expired_are_not_delivered() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    harness.fetch();
    harness.fetched(0, vec![fetched(0, batch(0, 2), &[(0, 1)])]);
    harness.pass(LOCK - Duration::from_millis(1));
    assert_eq!(harness.deliver(1), [0]);
    harness.pass(Duration::from_millis(1));
    assert!(harness.deliver(1).is_empty());
}

/// Regression: with fetch.max.wait.ms as long as the lock, records that the broker had acquired at the end of
/// the wait counted as expired, were never delivered, and reached their limit of deliveries.
#[test]
fn the_broker_may_acquire_records_at_the_end_of_its_wait() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.state.settings.max_wait = LOCK;
    harness.poll();
    harness.fetch();
    harness.pass(LOCK);
    harness.fetched(0, vec![fetched(0, batch(0, 2), &[(0, 1)])]);
    assert_eq!(harness.deliver(9), [0, 1]);
}

#[test]
fn a_response_that_took_longer_than_the_lock_delivers_nothing() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    harness.fetch();
    harness.pass(LOCK + harness.state.settings.max_wait);
    harness.fetched(0, vec![fetched(0, batch(0, 2), &[(0, 1)])]);
    assert!(harness.deliver(9).is_empty());
}

#[test]
fn hostile_ranges_neither_panic_nor_take_memory() {
    let whole = (i64::MIN, i64::MAX);
    let cases: [&[(i64, i64)]; 6] = [
        &[whole],
        &[whole, whole],
        &[(5, 1)],
        &[(i64::MAX, i64::MAX)],
        &[(-9, -1), whole],
        &[(0, i64::MAX), (1, 1)],
    ];
    for acquired in cases {
        for records in [batch(0, 3), batch(i64::MAX - 2, 3), Bytes::new(), Bytes::from_static(&[0xff; 100])] {
            let mut harness = Harness::new(IMPLICIT, &[0]);
            harness.poll();
            harness.fetch();
            let mut hostile =
                response(vec![fetched(0, records, acquired), fetched(7, batch(0, 1), &[whole])]);
            hostile.acquisition_lock_timeout_ms = i32::MAX;
            harness.state.process_fetch(0, Ok(hostile), harness.now, |_| BACKOFF);
            assert!(harness.deliver(9).len() <= 3);
            harness.poll();
            harness.pass(BACKOFF);
            let (_, request) = harness.fetch();
            assert!(piggybacked(&request).len() <= 5, "{acquired:?}");
        }
    }
}

/// Regression: errors of partitions were queued without a limit while the application did not read them.
#[test]
fn unread_errors_are_bounded() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    for _ in 0..1_000 {
        harness.fetch();
        harness.fetch_refused(0, E::GroupAuthorizationFailed);
        harness.pass(BACKOFF);
    }
    assert!(harness.state.errors.len() <= 100, "{}", harness.state.errors.len());
}

/// Regression: two deliveries of a record, by an old and by a new leader, were acknowledged as one, so that
/// the next poll refused to begin.
#[test]
fn a_record_delivered_by_two_leaders_is_acknowledged_to_both() {
    let mut harness = Harness::explicit(&[0]);
    harness.poll();
    harness.fetch();
    harness.fetched(0, vec![fetched(0, batch(0, 1), &[(0, 0)])]);
    harness.lead(&[1]);
    assert_eq!(harness.fetch().0, 1);
    harness.fetched(1, vec![fetched(0, batch(0, 1), &[(0, 0)])]);
    assert_eq!(harness.deliver(9), [0, 0]);
    for how in [Accept, Reject] {
        harness.state.delivered.acknowledge("t", 0, 0, how).expect("delivered");
    }
    harness.poll();
    assert_eq!(harness.due().len(), 2);
}

#[test]
fn unsubscribing_releases_buffered_records() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    harness.fetch();
    harness.fetched(0, vec![fetched(0, batch(0, 3), &[(0, 2)])]);
    assert_eq!(harness.deliver(1), [0]);
    harness.state.unassign(harness.now);
    assert_eq!(sent(&harness.acknowledge().1), [(0, 1, 2, 2)]);
    harness.acknowledged(0, &[(0, E::None)]);
    harness.assert_idle();
    harness.state.begin_commit(harness.now);
    assert_eq!(sent(&harness.acknowledge().1), [(0, 0, 0, 1)]);
    harness.acknowledged(0, &[(0, E::None)]);
    assert_eq!(harness.acknowledge().1.share_session_epoch, -1);
}

#[test]
fn a_later_acknowledgement_replaces_an_earlier_one_until_it_is_sent() {
    let mut harness = Harness::explicit(&[0]);
    harness.read(0, 0, 2);
    harness.mark((0, 1), Release);
    harness.mark((1, 1), Accept);
    harness.poll();
    assert_eq!(piggybacked(&harness.fetch().1), [(0, 0, 0, 2), (0, 1, 1, 1)]);
    let error = harness.state.delivered.acknowledge("t", 0, 1, Reject).expect_err("sent");
    assert_eq!(error.kind(), crate::Kind::State);
}
