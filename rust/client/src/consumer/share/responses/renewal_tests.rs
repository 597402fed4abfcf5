//! Renewals of locks: renewed records are delivered again, and a failed renewal blocks nothing.

use ottla_protocol::ErrorCode as E;

use super::super::acknowledgements::AcknowledgeType::{Accept, Renew};
use super::super::harness::*;
use super::*;

/// A member that has read offsets 0 and 1, and renews them.
fn renewing() -> Harness {
    let mut harness = Harness::explicit(&[0]);
    harness.state.keep_results = true;
    assert_eq!(harness.read(0, 0, 2), [0, 1]);
    harness.mark((0, 1), Renew);
    harness.poll();
    let (_, request) = harness.acknowledge();
    assert_eq!((request.is_renew_ack, sent(&request)), (true, vec![(0, 0, 1, 4)]));
    harness.assert_idle();
    harness
}

#[test]
fn renewed_records_are_delivered_again_under_a_new_lock() {
    let mut harness = renewing();
    harness.pass(LOCK - Duration::from_millis(1));
    harness.acknowledged(0, &[(0, E::None)]);
    harness.assert_idle();
    harness.pass(LOCK - Duration::from_millis(1));
    assert_eq!(harness.deliver(9), [0, 1]);
    harness.mark((0, 1), Accept);
    harness.poll();
    assert_eq!(piggybacked(&harness.fetch().1), [(0, 0, 1, 1)]);
}

#[test]
fn a_refused_renewal_drops_the_records_and_fetches_again() {
    let mut harness = renewing();
    harness.acknowledged(0, &[(0, E::InvalidRecordState)]);
    assert_eq!(harness.results(), [(0, 1, Some(E::InvalidRecordState))]);
    assert!(harness.deliver(9).is_empty());
    harness.poll();
    harness.fetch();
}

/// Regression: the records counted as being renewed forever, and their leader was never asked again.
#[test]
fn a_renewal_whose_request_fails_does_not_block_its_leader() {
    for code in [None, Some(E::ShareSessionNotFound), Some(E::UnsupportedVersion)] {
        let mut harness = renewing();
        match code {
            None => harness.acknowledge_lost(0),
            Some(code) => harness.acknowledge_refused(0, code),
        }
        harness.pass(BACKOFF);
        harness.due();
        let results = harness.results();
        assert!(matches!(results[..], [(0, 1, Some(_))]), "{code:?}: {results:?}");
        harness.acknowledge_lost(0);
        harness.fetch_lost(0);
        harness.pass(BACKOFF);
        harness.state.errors.clear();
        harness.poll();
        harness.pass(BACKOFF);
        assert_eq!(harness.fetch().1.share_session_epoch, 0, "{code:?}");
    }
}

/// Regression: a broker confirms the renewal of a record that another member has finished, so the record was
/// delivered again, as often as it was renewed.
#[test]
fn a_renewal_that_comes_too_late_is_an_error_and_not_sent() {
    let mut harness = Harness::explicit(&[0]);
    harness.state.keep_results = true;
    assert_eq!(harness.read(0, 0, 3), [0, 1, 2]);
    harness.pass(LOCK);
    harness.mark((0, 1), Renew);
    harness.mark((2, 2), Accept);
    harness.poll();
    assert_eq!(piggybacked(&harness.fetch().1), [(0, 2, 2, 1)], "the broker decides about the others");
    assert_eq!(harness.results(), [(0, 1, Some(E::InvalidRecordState))]);

    // It was refused before, and the next attempt would come too late.
    let mut harness = renewing();
    harness.acknowledge_refused(0, E::RequestTimedOut);
    harness.pass(LOCK);
    harness.due();
    assert_eq!(harness.results(), [(0, 1, Some(E::InvalidRecordState))]);
    assert!(harness.deliver(9).is_empty());
}

/// Regression: the response to one renewal dropped the records of another one that was still pending.
#[test]
fn two_renewals_of_a_partition_end_one_after_the_other() {
    let mut harness = Harness::explicit(&[0]);
    harness.poll();
    harness.fetch();
    harness.fetched(0, vec![fetched(0, batch(0, 4), &[(0, 3)])]);
    for first in [0, 2] {
        assert_eq!(harness.deliver(2), [first, first + 1]);
        harness.mark((first, first + 1), Renew);
        harness.poll();
        if first == 0 {
            assert_eq!(sent(&harness.acknowledge().1), [(0, 0, 1, 4)]);
        }
    }
    harness.acknowledged(0, &[(0, E::None)]);
    assert_eq!(sent(&harness.acknowledge().1), [(0, 2, 3, 4)]);
    harness.acknowledged(0, &[(0, E::None)]);
    assert_eq!(harness.deliver(9), [0, 1, 2, 3]);
}

/// Regression: a renewal that ended while a poll was reading took the place of the records being read. They
/// were delivered twice, and the renewed ones were acknowledged as gaps.
#[test]
fn a_renewal_does_not_move_the_records_that_are_being_read() {
    let mut harness = Harness::explicit(&[0]);
    harness.poll();
    harness.fetch();
    harness.fetched(0, vec![fetched(0, batch(0, 3), &[(0, 2)])]);
    assert_eq!(harness.deliver(1), [0]);
    harness.mark((0, 0), Renew);
    harness.poll();
    harness.acknowledge();
    let being_read = harness.state.buffered.front().cloned().expect("two records");
    let version = harness.state.front_version;
    harness.acknowledged(0, &[(0, E::None)]);
    assert_eq!(harness.state.front_version, version);
    assert_eq!(harness.state.buffered.front().map(|front| front.acquired.clone()), Some(being_read.acquired));
    assert_eq!(harness.deliver(9), [1, 2, 0]);
}

#[test]
fn only_the_renewed_records_are_delivered_again() {
    let mut harness = Harness::explicit(&[0]);
    assert_eq!(harness.read(0, 0, 3), [0, 1, 2]);
    harness.mark((0, 2), Accept);
    harness.mark((1, 1), Renew);
    harness.poll();
    assert_eq!(sent(&harness.acknowledge().1), [(0, 0, 0, 1), (0, 1, 1, 4), (0, 2, 2, 1)]);
    harness.acknowledged(0, &[(0, E::None)]);
    assert_eq!(harness.deliver(9), [1]);
}
