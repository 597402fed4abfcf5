//! Proves: each error code and each timeout is a defined transition of a classic member. The clock is
//! manual.

use ottla_client::Kind;
use ottla_client::consumer::group::classic::ClassicMember;
use ottla_client::consumer::group::{Action, GroupResponse, MembershipManager, RebalanceEvent};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::join_group::JoinGroupResponse;
use ottla_protocol::messages::sync_group::SyncGroupResponse;

use crate::support::classic::*;
use crate::support::member::*;
use crate::support::ms;

#[test]
fn repeated_member_ids_are_requested_with_backoff() {
    let mut harness = harness(false, &[]);
    let mut actions = harness.subscribe(&["t"]);
    let start = harness.now;
    for _ in 0..20 {
        let (request_id, _, _) = join_request(&actions);
        let required = JoinGroupResponse {
            error_code: ErrorCode::MemberIdRequired.code(),
            member_id: "me".to_owned(),
            ..Default::default()
        };
        actions = harness.respond(request_id, GroupResponse::Join(required));
        if actions.is_empty() {
            actions = harness.next().1;
        }
    }
    assert!(harness.now - start > ms(5_000), "{:?}", harness.now - start);
}

/// The transition for each error code of JoinGroup.
#[test]
fn each_error_of_join_group_is_a_transition() {
    use ErrorCode as E;
    for code in [E::CoordinatorNotAvailable, E::NotCoordinator] {
        let mut harness = harness(false, &[]);
        let (request_id, _, _) = join_request(&harness.subscribe(&["t"]));
        let actions = harness.respond(request_id, join_error(code));
        assert_eq!(actions, [Action::FindCoordinator], "{code:?}");
        let (waited, actions) = harness.next();
        join_request(&actions);
        assert!(waited >= ms(8), "{waited:?}");
    }
    for code in [E::CoordinatorLoadInProgress, E::RequestTimedOut] {
        let mut harness = harness(false, &[]);
        let (request_id, _, _) = join_request(&harness.subscribe(&["t"]));
        assert!(
            harness.respond(request_id, join_error(code)).is_empty(),
            "it waits, and keeps the coordinator: {code:?}"
        );
        let (waited, actions) = harness.next();
        join_request(&actions);
        assert!(!finds_coordinator(&actions) && waited >= ms(8));
    }
    for code in [E::UnknownMemberId, E::RebalanceInProgress] {
        let mut harness = member(true, &[], &["t-0"]);
        let (request_id, _, _) = join_request(&respond_to_heartbeat(&mut harness, E::RebalanceInProgress));
        let actions = harness.respond(request_id, join_error(code));
        let (_, request, subscription) = if code == E::UnknownMemberId {
            let (lost, actions) = harness.complete_loss();
            assert_eq!(lost, partitions(&["t-0"]));
            join_request(&actions)
        } else {
            join_request(&actions)
        };
        let expected = if code == E::UnknownMemberId { ("", -1) } else { ("me", 1) };
        assert_eq!((&*request.member_id, subscription.generation), expected);
    }
    for (code, kind, message) in [
        (E::GroupAuthorizationFailed, Kind::Authorization, "lacks Read"),
        (E::GroupMaxSizeReached, Kind::Broker, "group.max.size"),
        (E::InconsistentGroupProtocol, Kind::Broker, "do not share an assignor with range"),
        (E::Unknown(12_345), Kind::Broker, "group g"),
    ] {
        let mut harness = harness(false, &[]);
        let (request_id, _, _) = join_request(&harness.subscribe(&["t"]));
        assert!(harness.respond(request_id, join_error(code)).is_empty());
        let (error, actions) = harness.complete_failure();
        assert_eq!((error.kind(), error.code()), (kind, Some(code)));
        assert!(error.message().contains(message), "{error}");
        assert!(actions.is_empty() && harness.after(30_000).is_empty(), "it waits for a poll");
        join_request(&harness.on_poll());
    }
    for (code, message) in [
        (E::FencedInstanceId, "group.instance.id=i"),
        (E::InvalidSessionTimeout, "session.timeout.ms=10000"),
        (E::InvalidGroupId, "group id is invalid"),
    ] {
        let mut harness = harness(false, &STATIC);
        let (request_id, _, _) = join_request(&harness.subscribe(&["t"]));
        harness.respond(request_id, join_error(code));
        for _ in 0..3 {
            let (error, actions) = harness.complete_failure();
            assert_eq!(error.code(), Some(code));
            assert!(error.message().contains(message), "{error}");
            assert!(actions.is_empty() && harness.start_event().is_none());
            assert!(harness.on_poll().is_empty(), "each poll reports it again");
        }
        join_request(&harness.subscribe(&["t"]));
    }
}

/// The transition for each error code of SyncGroup.
#[test]
fn each_error_of_sync_group_is_a_transition() {
    use ErrorCode as E;
    for (code, looks, (id, generation)) in [
        (E::CoordinatorNotAvailable, true, ("me", 2)),
        (E::NotCoordinator, true, ("me", 2)),
        (E::CoordinatorLoadInProgress, false, ("me", 2)),
        (E::RebalanceInProgress, false, ("me", 2)),
        (E::IllegalGeneration, false, ("me", -1)),
        (E::UnknownMemberId, false, ("", -1)),
    ] {
        let mut harness = member(true, &[], &["t-0"]);
        let (request_id, _, _) = join_request(&respond_to_heartbeat(&mut harness, E::RebalanceInProgress));
        let (request_id, _) = sync_request(&harness.respond(request_id, join_response(2)));
        let mut actions = harness.respond(request_id, sync_error(code));
        assert_eq!(finds_coordinator(&actions), looks, "{code:?}");
        if generation < 0 {
            let (lost, next) = harness.complete_loss();
            assert_eq!(lost, partitions(&["t-0"]), "lost, not revoked: {code:?}");
            actions = next;
        }
        if !actions.iter().any(|action| matches!(action, Action::Send { .. })) {
            actions = harness.next().1;
        }
        let (_, request, subscription) = join_request(&actions);
        assert_eq!((&*request.member_id, subscription.generation), (id, generation), "{code:?}");
    }
    for code in [E::GroupAuthorizationFailed, E::FencedInstanceId] {
        let mut harness = harness(false, &STATIC);
        let (request_id, _, _) = join_request(&harness.subscribe(&["t"]));
        let (request_id, _) = sync_request(&harness.respond(request_id, join_response(2)));
        assert!(harness.respond(request_id, sync_error(code)).is_empty());
        assert_eq!(harness.complete_failure().0.code(), Some(code));
    }
}

/// The transition for each error code of Heartbeat or OffsetCommit.
#[test]
fn each_error_of_a_heartbeat_or_commit_is_a_transition() {
    use ErrorCode as E;
    for by_commit in [false, true] {
        let fail = |harness: &mut Harness<ClassicMember>, code| {
            if by_commit { harness.report_error(code) } else { respond_to_heartbeat(harness, code) }
        };
        for code in [E::CoordinatorNotAvailable, E::NotCoordinator] {
            let mut harness = member(false, &STATIC, &["t-0"]);
            assert_eq!(fail(&mut harness, code), [Action::FindCoordinator]);
            assert!(harness.start_event().is_none(), "nothing is revoked");
            let (waited, actions) = harness.next();
            heartbeat_request(&actions);
            assert!(by_commit || waited < ms(100), "soon again: {waited:?}");
        }
        let mut harness = member(false, &STATIC, &["t-0"]);
        assert!(fail(&mut harness, E::CoordinatorLoadInProgress).is_empty(), "the coordinator is known");
        heartbeat_request(&harness.next().1);

        let mut harness = member(false, &STATIC, &["t-0"]);
        fail(&mut harness, E::RebalanceInProgress);
        let (lost, actions) = harness.complete_revocation();
        assert_eq!(lost, partitions(&["t-0"]));
        assert_eq!(join_request(&actions).2.generation, 1);

        for (code, id) in [(E::IllegalGeneration, "me"), (E::UnknownMemberId, "")] {
            let mut harness = member(false, &STATIC, &["t-0"]);
            assert!(fail(&mut harness, code).is_empty());
            let (lost, actions) = harness.complete_loss();
            assert_eq!(lost, partitions(&["t-0"]), "{code:?}");
            let (_, request, subscription) = join_request(&actions);
            assert_eq!((&*request.member_id, subscription.generation, subscription.owned.len()), (id, -1, 0));
        }

        let mut harness = member(false, &STATIC, &["t-0"]);
        assert!(fail(&mut harness, E::FencedInstanceId).is_empty());
        assert_eq!(harness.complete_loss().0, partitions(&["t-0"]), "another member owns them");
        let (error, _) = harness.complete_failure();
        assert_eq!((error.kind(), error.code()), (Kind::Fenced, Some(E::FencedInstanceId)));
        assert!(harness.after(60_000).is_empty(), "no heartbeat, no JoinGroup");
    }
    let mut harness = member(true, &[], &["t-0"]);
    assert!(respond_to_heartbeat(&mut harness, E::GroupAuthorizationFailed).is_empty());
    assert_eq!(harness.complete_failure().0.code(), Some(E::GroupAuthorizationFailed));
    let (_, _, subscription) = join_request(&harness.on_poll());
    assert_eq!(
        (subscription.generation, subscription.owned),
        (1, partitions(&["t-0"])),
        "it keeps its generation and partitions"
    );
}

/// An error that the coordinator did not expect is repeated for ten seconds, and raised if it lasts.
#[test]
fn an_unexpected_error_is_repeated_before_it_is_raised() {
    let code = ErrorCode::UnknownServerError;
    let mut harness = member(true, &[], &["t-0"]);
    for _ in 0..3 {
        assert!(respond_to_heartbeat(&mut harness, code).is_empty());
        assert!(harness.start_event().is_none(), "nothing is raised");
    }
    let mut harness = self::harness(false, &[]);
    let mut request_id = join_request(&harness.subscribe(&["t"])).0;
    let mut waited = ms(0);
    let error = loop {
        assert!(harness.respond(request_id, join_error(code)).is_empty());
        if let Some(RebalanceEvent::Failed(error)) = harness.start_event() {
            break error;
        }
        let (wait, actions) = harness.next();
        waited += wait;
        request_id = join_request(&actions).0;
    };
    assert!(waited >= ms(10_000) && waited < ms(12_000), "{waited:?}");
    assert_eq!(error.code(), Some(code));
}

#[test]
fn an_error_for_an_earlier_generation_is_ignored() {
    let mut harness = member(true, &[], &["t-0"]);
    let before = harness.member.group_metadata();
    let actions = respond_to_heartbeat(&mut harness, ErrorCode::RebalanceInProgress);
    join(&mut harness, &actions, 2, &["t-0"]);
    harness.complete_assignment();
    assert!(harness.report_error_as(&before, ErrorCode::IllegalGeneration).is_empty());
    assert!(harness.start_event().is_none());
    assert!(harness.report_error_as(&before, ErrorCode::RebalanceInProgress).is_empty());
}

#[test]
fn a_lost_connection_revokes_nothing() {
    let mut harness = member(false, &[], &["t-0"]);
    for _ in 0..5 {
        let (_, actions) = harness.next();
        let request_id = heartbeat_request(&actions);
        assert_eq!(harness.lose_connection(request_id), [Action::FindCoordinator]);
    }
    assert!(harness.elapsed() < ms(4_000), "soon again, but not at once: {:?}", harness.elapsed());
    assert!(harness.start_event().is_none());

    let actions = respond_to_heartbeat(&mut harness, ErrorCode::RebalanceInProgress);
    assert!(actions.is_empty());
    let (request_id, _, _) = join_request(&harness.complete_revocation().1);
    assert!(finds_coordinator(&harness.lose_connection(request_id)));
    let (request_id, request, _) = join_request(&harness.next().1);
    assert_eq!(&*request.member_id, "me");
    let (request_id, _) = sync_request(&harness.respond(request_id, join_response(3)));
    assert!(finds_coordinator(&harness.lose_connection(request_id)));
    join_request(&harness.next().1);
}

#[test]
fn a_silent_coordinator_is_looked_up_after_the_session_timeout() {
    let mut harness = member(false, &[], &["t-0"]);
    let (waited, actions) = harness.next();
    let silent = heartbeat_request(&actions);
    assert_eq!(waited, ms(3_000));
    let (waited, actions) = harness.next();
    assert_eq!(waited, ms(7_000), "the rest of the session of 10 s");
    assert!(finds_coordinator(&actions));
    let request_id = heartbeat_request(&actions);
    assert!(
        harness.respond(silent, heartbeat_response(ErrorCode::UnknownMemberId)).is_empty(),
        "it is outdated"
    );
    assert!(harness.respond(request_id, heartbeat_response(ErrorCode::None)).is_empty());
    assert_eq!(harness.next().0, ms(3_000));
}

#[test]
fn an_unexpected_response_is_ignored() {
    let mut harness = member(false, &[], &["t-0"]);
    let late = heartbeat_request(&harness.next().1);
    harness.report_error(ErrorCode::RebalanceInProgress);
    let (request_id, _, _) = join_request(&harness.complete_revocation().1);
    assert!(harness.respond(late, heartbeat_response(ErrorCode::UnknownMemberId)).is_empty());
    assert!(harness.respond(request_id + 100, join_response(9)).is_empty());
    assert!(harness.respond(request_id, sync_response(&["t-9"])).is_empty(), "a response to another request");
    sync_request(&harness.respond(request_id, join_response(2)));
}

#[test]
fn a_group_of_another_type_is_rejected() {
    for (protocol_type, protocol_name) in [("connect", Some("range")), ("consumer", None)] {
        let mut harness = harness(false, &[]);
        let (request_id, _, _) = join_request(&harness.subscribe(&["t"]));
        let GroupResponse::Join(response) = join_response(1) else { unreachable!() };
        harness.respond(
            request_id,
            GroupResponse::Join(JoinGroupResponse {
                protocol_type: Some(protocol_type.to_owned()),
                protocol_name: protocol_name.map(str::to_owned),
                ..response
            }),
        );
        assert_eq!(harness.complete_failure().0.code(), Some(ErrorCode::InconsistentGroupProtocol));
    }
    let mut harness = harness(false, &[]);
    let (request_id, _, _) = join_request(&harness.subscribe(&["t"]));
    let (request_id, _) = sync_request(&harness.respond(request_id, join_response(1)));
    let garbage = SyncGroupResponse { assignment: vec![0, 0, 0xff].into(), ..Default::default() };
    harness.respond(request_id, GroupResponse::Sync(garbage));
    assert_eq!(harness.complete_failure().0.kind(), Kind::Protocol);
}
