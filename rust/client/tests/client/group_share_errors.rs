//! Proves: each error code is a defined transition of a member of a share group; a hostile coordinator causes
//! neither a panic nor a request storm. The clock is manual.

use ottla_client::Kind;
use ottla_client::consumer::group::{Action, GroupResponse, MembershipManager, RebalanceEvent};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatResponse;

use crate::support::heartbeats::INTERVAL;
use crate::support::member::*;
use crate::support::ms;
use crate::support::share_heartbeats::*;

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
        let mut harness = member(&[]);
        let (_, actions) = respond_to_heartbeat(&mut harness, error_response(code));
        let elsewhere = matches!(code, E::CoordinatorNotAvailable | E::NotCoordinator);
        assert_eq!(finds_coordinator(&actions), elsewhere, "{code:?}");
        assert!(harness.start_event().is_none(), "nothing is lost");
        let (waited, actions) = harness.next();
        assert!(waited >= ms(8) && waited < ms(100), "{code:?}: {waited:?}");
        assert!(!finds_coordinator(&actions));
        let (_, full) = heartbeat_request(&actions);
        assert_eq!((full.member_epoch, full.subscribed_topic_names), (1, subscribed(&["t"])));
    }
    for code in [E::FencedMemberEpoch, E::UnknownMemberId] {
        let mut harness = member(&[]);
        let id = harness.member.group_metadata().member_id;
        let (_, actions) = respond_to_heartbeat(&mut harness, error_response(code));
        assert_eq!(harness.member.group_metadata().generation, -1);
        // Unlike in a consumer group, nobody waits until the application has given up its partitions.
        let (request_id, request) = heartbeat_request(&actions);
        assert_eq!((request.member_epoch, &*request.member_id), (0, &*id), "{code:?}: at once");
        assert_eq!(request.subscribed_topic_names, subscribed(&["t"]));
        assert_eq!(harness.complete_loss().0, partitions(&["t-0", "t-1"]));
        harness.respond(request_id, ok_response(7, Some(&[(1, &[0, 1])])));
        assert_eq!(all_assigned(&mut harness), partitions(&["t-0", "t-1"]));
    }
    for (code, kind, message) in [
        (E::GroupAuthorizationFailed, Kind::Authorization, "lacks Read"),
        (E::TopicAuthorizationFailed, Kind::Authorization, "group g"),
        (E::GroupMaxSizeReached, Kind::Broker, "group.max.size"),
        (E::GroupIdNotFound, Kind::Broker, "not a share group"),
        (E::InconsistentGroupProtocol, Kind::Broker, "not a share group"),
    ] {
        let mut harness = member(&[]);
        assert!(respond_to_heartbeat(&mut harness, error_response(code)).1.is_empty());
        assert_eq!(harness.complete_loss().0, partitions(&["t-0", "t-1"]));
        let (error, _) = harness.complete_failure();
        assert_eq!((error.kind(), error.code()), (kind, Some(code)));
        assert!(error.message().contains(message) && error.message().contains("(says why)"), "{error}");
        assert!(harness.after(100_000).is_empty(), "it waits for a poll");
        assert_eq!(heartbeat_request(&harness.on_poll()).1.member_epoch, 0, "with the next poll");
    }
    for (code, message) in
        [(E::UnsupportedVersion, "share.version"), (E::InvalidRequest, "group g"), (E::InvalidGroupId, "g")]
    {
        let mut harness = member(&[]);
        respond_to_heartbeat(&mut harness, error_response(code));
        harness.complete_loss();
        for _ in 0..3 {
            let (error, _) = harness.complete_failure();
            assert_eq!((error.kind(), error.code()), (Kind::Broker, Some(code)));
            assert!(error.message().contains(message), "{error}");
            assert!(harness.on_poll().is_empty(), "each poll reports it again");
        }
        assert_eq!(heartbeat_request(&harness.subscribe(&["t"])).1.member_epoch, 0);
    }
}

/// No code leaves a member without a heartbeat, an error or a loss.
#[test]
fn no_error_code_leaves_a_member_stuck() {
    let unknown = [ErrorCode::Unknown(-77), ErrorCode::Unknown(31_000)];
    for code in ErrorCode::ALL.iter().copied().chain(unknown) {
        for joins in [false, true] {
            let mut harness = if joins { harness(&[]) } else { member(&[]) };
            if joins {
                let (request_id, _) = heartbeat_request(&harness.subscribe(&["t"]));
                harness.respond(request_id, error_response(code));
            } else {
                respond_to_heartbeat(&mut harness, error_response(code));
            }
            let mut failed = false;
            while let Some(event) = harness.start_event() {
                assert_ne!(code, ErrorCode::None);
                failed |= matches!(event, RebalanceEvent::Failed(_));
                harness.complete_event();
            }
            let heartbeats = harness.member.next_due().is_some();
            assert_ne!(heartbeats, failed, "{code:?}: either it sends heartbeats or it has failed");
        }
    }
}

#[test]
fn repeated_fencing_is_retried_with_backoff() {
    for code in [ErrorCode::FencedMemberEpoch, ErrorCode::UnknownMemberId] {
        let mut harness = harness(&[]);
        let mut actions = harness.subscribe(&["t"]);
        for _ in 0..20 {
            if actions.is_empty() {
                actions = harness.next().1;
            }
            let (request_id, _) = heartbeat_request(&actions);
            actions = harness.respond(request_id, error_response(code));
        }
        assert!(harness.elapsed() > ms(5_000), "{:?}", harness.elapsed());
    }
}

/// The interval of a coordinator is kept between 10 ms and an hour.
#[test]
fn an_invalid_interval_causes_no_request_storm_and_no_silence() {
    for (millis, expected) in [
        (i32::MIN, 10),
        (-5, 10),
        (0, 10),
        (1, 10),
        (11, 11),
        (5_000, 5_000),
        (3_600_000, 3_600_000),
        (i32::MAX, 3_600_000),
    ] {
        let mut harness = self::harness(&[("max.poll.interval.ms", "86400000")]);
        let (request_id, _) = heartbeat_request(&harness.subscribe(&["t"]));
        let response = ShareGroupHeartbeatResponse { heartbeat_interval_ms: millis, ..success(1, Some(&[])) };
        harness.respond(request_id, GroupResponse::ShareHeartbeat(response));
        assert_eq!(harness.next().0, ms(expected), "{millis}");
    }
}

#[test]
fn hostile_assignments_neither_panic_nor_are_reported_twice() {
    let mut harness = member(&[]);
    let hostile: &[(u8, &[i32])] =
        &[(1, &[1, 1, 0, i32::MAX, -1, i32::MIN, 0]), (1, &[1]), (0, &[0]), (200, &[0, 0])];
    let (_, actions) = respond_to_heartbeat(&mut harness, ok_response(2, Some(hostile)));
    assert_eq!(actions, [Action::Resolve(vec![id(0), id(200)])], "each unknown id once");
    let mut all = all_assigned(&mut harness);
    all.dedup();
    let expected: Vec<_> = [i32::MIN, -1, 0, 1, i32::MAX].map(|partition| ("t".into(), partition)).into();
    assert_eq!(all, expected, "each partition once");
    let heartbeat = loop {
        let (waited, actions) = harness.next();
        if !matches!(actions[..], [Action::Resolve(_)]) {
            break heartbeat_request(&actions).0;
        }
        assert!(waited >= ms(8), "lookups pause: {waited:?}");
    };
    harness.respond(heartbeat, ok_response(3, Some(&[(1, &[0])])));
    assert_eq!(all_assigned(&mut harness), partitions(&["t-0"]));
}

#[test]
fn a_hostile_epoch_neither_panics_nor_ends_the_heartbeats() {
    for epoch in [i32::MIN, -2, -1, 0, i32::MAX] {
        let mut harness = member(&[]);
        respond_to_heartbeat(&mut harness, ok_response(epoch, None));
        let generation = harness.member.group_metadata().generation;
        assert_eq!(generation, if epoch > 0 { epoch } else { -1 });
        let (waited, actions) = harness.next();
        assert_eq!((waited, heartbeat_request(&actions).1.member_epoch), (ms(INTERVAL), epoch));
    }
}

/// Responses to requests that are not in flight, or of another kind, change nothing.
#[test]
fn unexpected_responses_are_ignored() {
    use crate::support::heartbeats;
    let mut harness = member(&[]);
    let (_, actions) = harness.next();
    let (request_id, _) = heartbeat_request(&actions);
    assert!(harness.respond(request_id + 1, error_response(ErrorCode::UnknownMemberId)).is_empty());
    assert!(harness.start_event().is_none());
    assert!(harness.respond(request_id, heartbeats::ok_response(9, None)).is_empty());
    assert_eq!(harness.member.group_metadata().generation, 1);
    assert_eq!(harness.next().0, ms(INTERVAL), "and the member goes on");
}
