//! Proves: each error code is a defined transition of a KIP-848 member; it leaves on request and after the
//! poll timeout, and returns. The clock is manual.

use ottla_client::Kind;
use ottla_client::consumer::group::{Action, GroupResponse, MembershipManager, RebalanceEvent};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatResponse;

use crate::support::heartbeats::*;
use crate::support::member::*;
use crate::support::ms;

/// Regression: after a lost response to its join, a static member reported that another member holds its id,
/// although it held the id itself. The response to a release shows which member holds it.
#[test]
fn a_static_member_releases_its_id_from_its_own_earlier_join() {
    let unreleased = || error_response(ErrorCode::UnreleasedInstanceId);
    let released = || ok_response(-2, None);
    let refused_join = || {
        let mut harness = harness(&STATIC);
        let (request_id, request) = heartbeat_request(&harness.subscribe(&["t"]));
        assert_eq!(request.member_epoch, 0);
        harness.lose_connection(request_id);
        let (request_id, request) = heartbeat_request(&harness.next().1);
        assert_eq!(request.member_epoch, 0);
        let (request_id, release) = heartbeat_request(&harness.respond(request_id, unreleased()));
        assert_eq!((release.member_epoch, release.instance_id.as_deref()), (-2, Some("i")));
        assert_eq!(release.member_id, request.member_id);
        (harness, request_id)
    };
    let (mut harness, request_id) = refused_join();
    let (request_id, request) = heartbeat_request(&harness.respond(request_id, released()));
    assert_eq!(request.member_epoch, 0, "it joins at once");
    harness.respond(request_id, ok_response(1, None));
    assert_eq!(harness.member.group_metadata().generation, 1);

    // Still held: the join is repeated, with pauses, for a session, and then it is an error.
    let (mut harness, request_id) = refused_join();
    let mut request_id = heartbeat_request(&harness.respond(request_id, released())).0;
    let began = harness.elapsed();
    let error = loop {
        let actions = harness.respond(request_id, unreleased());
        if let Some(RebalanceEvent::Failed(error)) = harness.start_event() {
            break error;
        }
        assert!(actions.is_empty(), "it backs off");
        let (waited, actions) = harness.next();
        assert!(waited >= ms(5), "{waited:?}");
        request_id = heartbeat_request(&actions).0;
    };
    assert_eq!(error.code(), Some(ErrorCode::UnreleasedInstanceId), "{error}");
    assert!(harness.elapsed() - began >= ms(10_000), "{:?}", harness.elapsed());

    // Another member holds it.
    let (mut harness, request_id) = refused_join();
    let fenced = error_response(ErrorCode::FencedInstanceId);
    assert!(harness.respond(request_id, fenced).is_empty());
    let (error, _) = harness.complete_failure();
    assert_eq!((error.kind(), error.code()), (Kind::Broker, Some(ErrorCode::UnreleasedInstanceId)));
    assert!(error.message().contains("another member"), "{error}");
    // The next poll tries again.
    assert_eq!(heartbeat_request(&harness.on_poll()).1.member_epoch, 0);
}

/// The transition for each error code of a heartbeat.
#[test]
fn each_error_of_a_heartbeat_is_a_transition() {
    use ErrorCode as E;
    for code in [
        E::CoordinatorNotAvailable,
        E::NotCoordinator,
        E::CoordinatorLoadInProgress,
        E::RequestTimedOut,
        E::UnknownServerError,
    ] {
        let mut harness = member(&STATIC);
        let (_, actions) = respond_to_heartbeat(&mut harness, error_response(code));
        let elsewhere = matches!(code, E::CoordinatorNotAvailable | E::NotCoordinator);
        assert_eq!(finds_coordinator(&actions), elsewhere, "{code:?}");
        assert!(harness.start_event().is_none(), "nothing is revoked");
        let (waited, actions) = harness.next();
        assert!(waited >= ms(8) && waited < ms(100), "{code:?}: {waited:?}");
        assert_eq!(heartbeat_request(&actions).1.topic_partitions, owned(&[(1, &[0, 1])]));
        assert!(!finds_coordinator(&actions));
    }
    for code in [E::FencedMemberEpoch, E::UnknownMemberId] {
        let mut harness = member(&STATIC);
        let id = harness.member.group_metadata().member_id;
        let (_, actions) = respond_to_heartbeat(&mut harness, error_response(code));
        assert!(actions.is_empty(), "the loss is completed first");
        assert_eq!(harness.member.group_metadata().generation, -1);
        let (revoked, actions) = harness.complete_loss();
        assert_eq!(revoked, partitions(&["t-0", "t-1"]));
        let (request_id, request) = heartbeat_request(&actions);
        assert_eq!((request.member_epoch, &*request.member_id), (0, &*id));
        assert_eq!(request.topic_partitions, Some(vec![]));
        harness.respond(request_id, ok_response(7, Some(&[(1, &[0, 1])])));
        load_metadata(&mut harness);
        assert_eq!(harness.complete_assignment().1, partitions(&["t-0", "t-1"]));
    }
    for (code, kind, message) in [
        (E::GroupAuthorizationFailed, Kind::Authorization, "lacks Read"),
        (E::TopicAuthorizationFailed, Kind::Authorization, "group g"),
        (E::GroupMaxSizeReached, Kind::Broker, "group.max.size"),
        (E::UnreleasedInstanceId, Kind::Broker, "group.instance.id=i"),
    ] {
        let mut harness = member(&STATIC);
        assert!(respond_to_heartbeat(&mut harness, error_response(code)).1.is_empty());
        assert_eq!(harness.complete_loss().0, partitions(&["t-0", "t-1"]));
        let (error, _) = harness.complete_failure();
        assert_eq!((error.kind(), error.code()), (kind, Some(code)));
        assert!(error.message().contains(message) && error.message().contains("(says why)"), "{error}");
        assert!(harness.after(100_000).is_empty(), "it waits for a poll");
        assert_eq!(heartbeat_request(&harness.on_poll()).1.member_epoch, 0, "with the next poll");
    }
    for (code, kind, message) in [
        (E::FencedInstanceId, Kind::Fenced, "group.instance.id=i"),
        (E::UnsupportedAssignor, Kind::Broker, "group.remote.assignor="),
        (E::InvalidRegularExpression, Kind::Broker, "pattern"),
        (E::UnsupportedVersion, Kind::Broker, "set group.protocol=classic"),
        (E::InvalidRequest, Kind::Broker, "group g"),
    ] {
        let mut harness = member(&STATIC);
        respond_to_heartbeat(&mut harness, error_response(code));
        harness.complete_loss();
        for _ in 0..3 {
            let (error, _) = harness.complete_failure();
            assert_eq!((error.kind(), error.code()), (kind, Some(code)));
            assert!(error.message().contains(message), "{error}");
            assert!(harness.on_poll().is_empty(), "each poll reports it again");
        }
        assert_eq!(heartbeat_request(&harness.subscribe(&["t"])).1.member_epoch, 0);
    }
}

/// The transition for each error code of a commit.
#[test]
fn each_error_of_a_commit_is_a_transition() {
    use ErrorCode as E;
    let mut harness = member(&[]);
    let (_, delta) = heartbeat_request(&harness.report_error(E::StaleMemberEpoch));
    assert_eq!((delta.member_epoch, delta.topic_partitions), (1, None), "its response brings the epoch");

    for code in [E::CoordinatorNotAvailable, E::NotCoordinator] {
        assert_eq!(member(&[]).report_error(code), [Action::FindCoordinator]);
    }
    assert!(member(&[]).report_error(E::CoordinatorLoadInProgress).is_empty());

    for code in [E::FencedMemberEpoch, E::UnknownMemberId] {
        let mut harness = member(&[]);
        let before = harness.member.group_metadata();
        respond_to_heartbeat(&mut harness, ok_response(2, None));
        assert!(
            harness.report_error_as(&before, code).is_empty() && harness.start_event().is_none(),
            "not of this epoch"
        );
        harness.report_error(code);
        harness.complete_loss();
    }
    let mut harness = member(&STATIC);
    harness.report_error(E::FencedInstanceId);
    harness.complete_loss();
    assert_eq!(harness.complete_failure().0.kind(), Kind::Fenced);
}

#[test]
fn repeated_fencing_is_retried_with_backoff() {
    let mut harness = harness(&[]);
    let mut actions = harness.subscribe(&["t"]);
    for _ in 0..20 {
        if actions.is_empty() {
            actions = harness.next().1;
        }
        let (request_id, _) = heartbeat_request(&actions);
        actions = harness.respond(request_id, error_response(ErrorCode::FencedMemberEpoch));
    }
    assert!(harness.elapsed() > ms(5_000), "{:?}", harness.elapsed());
}

#[test]
fn a_member_leaves_after_the_poll_timeout_and_rejoins_with_the_next_poll() {
    for (pairs, epoch) in [(&[][..], -1), (&STATIC, -2)] {
        let mut harness = member(pairs);
        let mut heartbeats = 0;
        let last = loop {
            let (_, actions) = harness.next();
            let (request_id, request) = heartbeat_request(&actions);
            if request.member_epoch < 0 {
                break request;
            }
            heartbeats += 1;
            harness.respond(request_id, ok_response(1, None));
        };
        assert_eq!((harness.elapsed(), heartbeats, last.member_epoch), (ms(60_000), 11, epoch));
        let reason = harness.member.core().leave_reason.clone().expect("a reason");
        assert!(reason.contains("max.poll.interval.ms (60000 ms)"), "{reason}");
        assert!(harness.after(600_000).is_empty());
        harness.on_poll();
        let (revoked, actions) = harness.complete_loss();
        assert_eq!(revoked, partitions(&["t-0", "t-1"]));
        let (request_id, request) = heartbeat_request(&actions);
        assert_eq!(request.member_epoch, 0);
        harness.respond(request_id, ok_response(9, Some(&[])));
        assert!(harness.member.core().leave_reason.is_none());
    }
}

#[test]
fn leaving_waits_until_everything_is_revoked() {
    for (pairs, epoch) in [(&[][..], -1), (&STATIC, -2)] {
        let mut harness = member(pairs);
        harness.member.unsubscribe(harness.now);
        assert!(harness.poll().is_empty());
        assert_eq!(respond_to_heartbeat(&mut harness, ok_response(1, None)).0.member_epoch, 1, "still alive");
        let (revoked, actions) = harness.complete_revocation();
        assert_eq!(revoked, partitions(&["t-0", "t-1"]));
        let (request_id, last) = heartbeat_request(&actions);
        assert_eq!((last.member_epoch, last.instance_id.is_some()), (epoch, epoch == -2));
        assert!(harness.respond(request_id, ok_response(epoch, None)).is_empty());
        assert!(harness.member.is_idle() && harness.member.next_due().is_none());
    }
}

/// Regression: a leaving member that waited for its application ignored the epoch of a heartbeat response.
/// Its next heartbeat carried the old epoch, so the coordinator fenced it while its application was still
/// working, and rejected its last commit.
#[test]
fn a_leaving_member_adopts_a_new_epoch_but_no_partitions() {
    let mut harness = member(&[]);
    harness.member.unsubscribe(harness.now);
    assert!(harness.poll().is_empty());
    // Another member has left, and this one is to get all partitions.
    respond_to_heartbeat(&mut harness, ok_response(2, Some(&[(1, &[0, 1, 2, 3])])));
    load_metadata(&mut harness);
    assert_eq!(harness.member.group_metadata().generation, 2, "for what the application commits");
    assert_eq!(respond_to_heartbeat(&mut harness, ok_response(2, None)).0.member_epoch, 2);
    let (revoked, actions) = harness.complete_revocation();
    assert_eq!(revoked, partitions(&["t-0", "t-1"]), "nothing new is assigned");
    let (request_id, last) = heartbeat_request(&actions);
    assert_eq!(last.member_epoch, -1);
    assert!(harness.respond(request_id, ok_response(-1, None)).is_empty());
    assert!(harness.member.is_idle());

    // The leaving heartbeat is in flight: later responses are ignored.
    let mut harness = member(&[]);
    let (request_id, _) = heartbeat_request(&harness.next().1);
    harness.member.unsubscribe(harness.now);
    harness.complete_revocation();
    harness.respond(request_id, ok_response(2, None));
    assert_eq!(harness.member.group_metadata().generation, 1);
}

#[test]
fn leaving_at_once_does_not_wait_and_retries() {
    let mut harness = member(&[]);
    harness.member.leave(harness.now);
    let (request_id, _) = heartbeat_request(&harness.poll());
    assert_eq!(
        harness.respond(request_id, error_response(ErrorCode::NotCoordinator)),
        [Action::FindCoordinator]
    );
    let (request_id, last) = heartbeat_request(&harness.next().1);
    assert_eq!(last.member_epoch, -1);
    assert!(harness.respond(request_id, error_response(ErrorCode::UnknownMemberId)).is_empty());
    assert!(harness.member.is_idle());

    let mut harness = self::harness(&[]);
    let (_, _) = heartbeat_request(&harness.subscribe(&["t"]));
    harness.member.leave(harness.now);
    assert_eq!(
        heartbeat_request(&harness.poll()).1.member_epoch,
        -1,
        "it may be in the group without knowing"
    );
}

#[test]
fn a_member_removed_while_leaving_loses_its_partitions() {
    let mut harness = member(&[]);
    harness.member.unsubscribe(harness.now);
    harness.poll();
    respond_to_heartbeat(&mut harness, error_response(ErrorCode::UnknownMemberId));
    harness.complete_loss();
    assert!(!harness.member.is_idle(), "it leaves all the same");

    let mut harness = member(&[]);
    harness.member.unsubscribe(harness.now);
    harness.poll();
    assert!(harness.subscribe(&["u"]).is_empty());
    let (request_id, _) = heartbeat_request(&harness.complete_revocation().1);
    let (_, request) = heartbeat_request(&harness.respond(request_id, ok_response(-1, None)));
    assert_eq!(request.subscribed_topic_names, Some(vec!["u".to_owned()]), "it rejoins");
}

/// Regression: a member that unsubscribed twice, and subscribed in between, joined the group again.
#[test]
fn unsubscribing_again_while_leaving_does_not_rejoin() {
    let mut harness = member(&[]);
    harness.member.unsubscribe(harness.now);
    harness.poll();
    harness.subscribe(&["u"]);
    harness.member.unsubscribe(harness.now);
    let (request_id, _) = heartbeat_request(&harness.complete_revocation().1);
    assert!(harness.respond(request_id, ok_response(-1, None)).is_empty());
    assert!(harness.member.is_idle());
}

#[test]
fn an_invalid_interval_causes_no_request_storm() {
    let mut harness = harness(&[]);
    let (request_id, _) = heartbeat_request(&harness.subscribe(&["t"]));
    let GroupResponse::ConsumerHeartbeat(response) = ok_response(1, Some(&[])) else { unreachable!() };
    let invalid = ConsumerGroupHeartbeatResponse { heartbeat_interval_ms: -5, ..response };
    harness.respond(request_id, GroupResponse::ConsumerHeartbeat(invalid));
    harness.complete_assignment();
    assert!(harness.next().0 >= ms(10));
}

#[test]
fn a_leaving_member_that_does_not_poll_loses_its_partitions() {
    let mut harness = member(&[]);
    harness.member.unsubscribe(harness.now);
    harness.poll();
    let last = loop {
        let (_, actions) = harness.next();
        let (request_id, request) = heartbeat_request(&actions);
        if request.member_epoch < 0 {
            break request;
        }
        harness.respond(request_id, ok_response(1, None));
    };
    assert_eq!((harness.elapsed(), last.member_epoch), (ms(60_000), -1), "others wait for it");
    assert_eq!(harness.complete_loss().0, partitions(&["t-0", "t-1"]));
    assert!(harness.member.is_idle());
}
