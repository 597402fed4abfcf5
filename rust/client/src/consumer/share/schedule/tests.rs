//! Which request is due: session epochs, piggybacked acknowledgements, forgotten partitions, and closing.

use ottla_protocol::ErrorCode;
use tokio::time::Duration;

use super::super::acknowledgements::AcknowledgeType::{Accept, Reject, Release};
use super::super::harness::*;
use super::*;
use crate::config::ShareAcknowledgementMode;

const IMPLICIT: ShareAcknowledgementMode = ShareAcknowledgementMode::Implicit;

fn listed(request: &ShareFetchRequest) -> Vec<i32> {
    request.topics.iter().flat_map(|topic| &topic.partitions).map(|it| it.partition_index).collect()
}

fn forgotten(request: &ShareFetchRequest) -> Vec<i32> {
    request.forgotten_topics_data.iter().flat_map(|topic| topic.partitions.clone()).collect()
}

/// Ends a fetch without records, and waits until another may be sent.
fn fetch_nothing(harness: &mut Harness, leader: i32) {
    harness.fetched(leader, Vec::new());
    harness.pass(Duration::from_millis(20));
}

#[test]
fn nothing_is_fetched_without_a_poll_but_for_the_first_time() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    // A new leader is asked at once: the poll that brought the assignment is about to wait.
    let (_, request) = harness.fetch();
    assert_eq!((request.share_session_epoch, listed(&request)), (0, vec![0]));
    fetch_nothing(&mut harness, 0);
    harness.assert_idle();
    harness.poll();
    let (_, request) = harness.fetch();
    assert_eq!((request.share_session_epoch, listed(&request)), (1, vec![]), "the session has the partition");
    harness.assert_idle();
}

#[test]
fn empty_responses_are_paced() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    harness.fetch();
    harness.fetched(0, Vec::new());
    harness.assert_idle();
    let due = harness.state.schedule(&harness.snapshot, harness.now).next_due.expect("later");
    assert!(due > harness.now);
    harness.now = due;
    harness.fetch();
}

#[test]
fn a_leader_is_not_asked_while_its_records_wait_but_others_are() {
    let mut harness = Harness::new(IMPLICIT, &[0, 1]);
    harness.poll();
    assert_eq!(harness.due().len(), 2);
    harness.fetched(0, vec![fetched(0, batch(0, 2), &[(0, 1)])]);
    harness.fetched(1, Vec::new());
    harness.pass(Duration::from_millis(20));
    assert_eq!(harness.fetch().0, 1, "records of broker 0 are buffered");
    fetch_nothing(&mut harness, 1);
    assert_eq!(harness.deliver(1), [0]);
    harness.poll();
    assert_eq!(harness.fetch().0, 1, "some are still buffered");
    assert_eq!(harness.deliver(1), [1]);
    harness.poll();
    let (leader, request) = harness.fetch();
    assert_eq!((leader, piggybacked(&request)), (0, vec![(0, 0, 1, 1)]));
}

#[test]
fn acknowledgements_of_buffered_leaders_wait_for_a_fetch_but_not_long() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    harness.fetch();
    harness.fetched(0, vec![fetched(0, batch(0, 2), &[(0, 1)])]);
    assert_eq!(harness.deliver(1), [0]);
    harness.poll();
    harness.assert_idle();
    harness.pass(MAX_ACKNOWLEDGEMENT_DELAY);
    let (_, request) = harness.acknowledge();
    assert_eq!((request.share_session_epoch, sent(&request)), (1, vec![(0, 0, 0, 1)]));
    harness.acknowledged(0, &[(0, ErrorCode::None)]);
    assert!(harness.state.is_settled());
}

#[test]
fn a_commit_is_sent_at_once_and_ends_when_it_is_settled() {
    let mut harness = Harness::explicit(&[0]);
    harness.read(0, 0, 3);
    harness.mark((0, 0), Accept);
    harness.mark((1, 1), Release);
    harness.state.begin_commit(harness.now);
    assert_eq!(sent(&harness.acknowledge().1), [(0, 0, 0, 1), (0, 1, 1, 2)]);
    harness.acknowledged(0, &[(0, ErrorCode::None)]);
    harness.assert_idle();
    assert!(!harness.state.is_flushing, "of commit_async, too");
    // The third record is still with the application.
    assert!(harness.state.begin_poll(harness.now).is_err());
    harness.mark((2, 2), Reject);
    harness.poll();
    assert_eq!(piggybacked(&harness.fetch().1), [(0, 2, 2, 3)]);
}

#[test]
fn a_partition_that_is_not_assigned_is_forgotten_after_its_acknowledgements() {
    let mut harness = Harness::new(IMPLICIT, &[0, 0]);
    assert_eq!(harness.read(0, 0, 2), [0, 1]);
    harness.assign(&[1]);
    harness.poll();
    let (_, request) = harness.acknowledge();
    assert_eq!(sent(&request), [(0, 0, 1, 1)], "in a request of their own");
    harness.acknowledged(0, &[(0, ErrorCode::None)]);
    let (_, request) = harness.fetch();
    assert_eq!((forgotten(&request), listed(&request)), (vec![0], vec![]));
    fetch_nothing(&mut harness, 0);
    let (_, request) = harness.fetch();
    assert_eq!(forgotten(&request), [] as [i32; 0], "once");
    fetch_nothing(&mut harness, 0);
    harness.assign(&[0, 1]);
    let (_, request) = harness.fetch();
    assert_eq!((forgotten(&request), listed(&request)), (vec![], vec![0]), "added again");
}

#[test]
fn a_leader_without_partitions_gets_its_last_acknowledgements_and_is_closed() {
    let mut harness = Harness::new(IMPLICIT, &[0, 1]);
    harness.assign(&[0]);
    assert_eq!(harness.read(0, 0, 2), [0, 1]);
    harness.assign(&[1]);
    harness.state.is_polling = false;
    let (leader, _) = harness.fetch();
    assert_eq!(leader, 1, "the records of broker 0 are still with the application");
    fetch_nothing(&mut harness, 1);
    harness.poll();
    let due = harness.due();
    let [(0, LeaderRequest::Acknowledge(last)), (1, LeaderRequest::Fetch(_))] = &due[..] else {
        panic!("{due:?}")
    };
    assert_eq!((last.share_session_epoch, sent(last)), (1, vec![(0, 0, 1, 1)]));
    harness.acknowledged(0, &[(0, ErrorCode::None)]);
    let (leader, request) = harness.acknowledge();
    assert_eq!((leader, request.share_session_epoch, sent(&request)), (0, -1, vec![]));
    harness.acknowledged(0, &[]);
    harness.assert_idle();
    assert!(!harness.state.leaders.contains_key(&0), "a leader that is not used is forgotten");
}

#[test]
fn acknowledgements_go_to_the_leader_of_the_acquisition() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    assert_eq!(harness.read(0, 0, 2), [0, 1]);
    harness.lead(&[1]);
    harness.poll();
    let due = harness.due();
    let [(0, LeaderRequest::Acknowledge(old)), (1, LeaderRequest::Fetch(new))] = &due[..] else {
        panic!("{due:?}")
    };
    assert_eq!((sent(old), piggybacked(new)), (vec![(0, 0, 1, 1)], vec![]));
    harness.state.keep_results = true;
    harness.acknowledged(0, &[(0, ErrorCode::NotLeaderOrFollower)]);
    assert_eq!(harness.results(), [(0, 1, Some(ErrorCode::NotLeaderOrFollower))]);
    assert!(harness.state.metadata_is_stale);
}

#[test]
fn closing_acknowledges_and_closes_each_session_once() {
    let mut harness = Harness::new(IMPLICIT, &[0, 1]);
    harness.poll();
    assert_eq!(harness.due().len(), 2);
    harness.fetched(0, vec![fetched(0, batch(0, 2), &[(0, 1)])]);
    harness.deliver(2);
    harness.state.begin_commit(harness.now);
    harness.state.is_closing = true;
    let (leader, request) = harness.acknowledge();
    assert_eq!((leader, request.share_session_epoch, sent(&request)), (0, -1, vec![(0, 0, 1, 1)]));
    harness.acknowledged(0, &[(0, ErrorCode::None)]);
    harness.assert_idle();
    // The fetch of broker 1 ends only now.
    harness.fetched(1, vec![fetched(1, batch(0, 2), &[(0, 1)])]);
    let (leader, request) = harness.acknowledge();
    assert_eq!((leader, request.share_session_epoch, sent(&request)), (1, -1, vec![]), "that releases them");
    harness.acknowledged(1, &[]);
    harness.assert_idle();
    assert!(harness.state.is_settled());
}

#[test]
fn closing_ends_whatever_request_fails() {
    for is_last in [false, true] {
        for code in [None, Some(ErrorCode::ShareSessionNotFound), Some(ErrorCode::GroupAuthorizationFailed)] {
            let mut harness = Harness::new(IMPLICIT, &[0]);
            harness.state.keep_results = true;
            harness.read(0, 0, 2);
            harness.state.begin_commit(harness.now);
            harness.state.is_closing = is_last;
            harness.acknowledge();
            harness.state.is_closing = true;
            match code {
                None => harness.acknowledge_lost(0),
                Some(code) => harness.acknowledge_refused(0, code),
            }
            harness.pass(BACKOFF);
            harness.assert_idle();
            assert!(harness.state.is_settled(), "{code:?}");
            let results = harness.results();
            assert!(matches!(results[..], [(0, 1, Some(_))]), "{results:?}");
        }
    }
}

#[test]
fn the_epoch_after_the_largest_is_one() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    harness.fetch();
    fetch_nothing(&mut harness, 0);
    harness.state.leaders.get_mut(&0).expect("known").epoch = i32::MAX;
    assert_eq!(harness.fetch().1.share_session_epoch, i32::MAX);
    fetch_nothing(&mut harness, 0);
    assert_eq!(harness.fetch().1.share_session_epoch, 1);
}

#[test]
fn a_partition_with_an_error_pauses_and_the_session_stays() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.poll();
    harness.fetch();
    let mut failed = fetched(0, bytes::Bytes::new(), &[]);
    failed.error_code = ErrorCode::NotLeaderOrFollower.code();
    harness.fetched(0, vec![failed]);
    assert!(harness.state.metadata_is_stale && harness.state.errors.is_empty());
    harness.pass(Duration::from_millis(20));
    harness.assert_idle();
    harness.pass(BACKOFF);
    assert_eq!(harness.fetch().1.share_session_epoch, 1);
}

#[test]
fn a_partition_without_a_leader_is_reported() {
    let mut harness = Harness::new(IMPLICIT, &[0]);
    harness.lead(&[-1]);
    let schedule = harness.state.schedule(&harness.snapshot, harness.now);
    assert!(schedule.requests.is_empty());
    assert_eq!(schedule.leaderless[0].0, tp(0));
}
