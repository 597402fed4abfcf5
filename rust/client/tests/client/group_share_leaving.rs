//! Proves: a member of a share group leaves on request and after the poll timeout, and returns. The clock is
//! manual.

use ottla_client::consumer::group::{Action, MembershipManager};
use ottla_protocol::ErrorCode;

use crate::support::member::*;
use crate::support::ms;
use crate::support::share_heartbeats::{self, *};

#[test]
fn a_member_leaves_after_the_poll_timeout_and_rejoins_with_the_next_poll() {
    let mut harness = member(&[]);
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
    assert_eq!((harness.elapsed(), heartbeats, last.member_epoch), (ms(60_000), 11, -1));
    let reason = harness.member.core().leave_reason.clone().expect("a reason");
    assert!(reason.contains("max.poll.interval.ms (60000 ms)"), "{reason}");
    assert!(harness.after(600_000).is_empty());
    let (request_id, request) = heartbeat_request(&harness.on_poll());
    assert_eq!((request.member_epoch, &request.member_id), (0, &last.member_id));
    assert_eq!(request.subscribed_topic_names, subscribed(&["t"]));
    assert_eq!(harness.complete_loss().0, partitions(&["t-0", "t-1"]));
    harness.respond(request_id, ok_response(9, Some(&[(1, &[3])])));
    assert!(harness.member.core().leave_reason.is_none());
    load_metadata(&mut harness);
    assert_eq!(all_assigned(&mut harness), partitions(&["t-3"]));
}

#[test]
fn unsubscribing_leaves_at_once() {
    let mut harness = member(&[]);
    harness.member.unsubscribe(harness.now);
    let (request_id, last) = heartbeat_request(&harness.poll());
    assert_eq!((last.member_epoch, last.subscribed_topic_names), (-1, None));
    assert_eq!(harness.complete_loss().0, partitions(&["t-0", "t-1"]));
    assert!(!harness.member.is_idle(), "until the coordinator knows");
    assert!(harness.respond(request_id, ok_response(-1, None)).is_empty());
    assert!(harness.member.is_idle() && harness.member.next_due().is_none());
    harness.member.unsubscribe(harness.now);
    assert!(harness.poll().is_empty(), "once");
}

/// A heartbeat that is in flight when the member leaves neither delays it nor brings partitions back.
#[test]
fn the_response_to_an_earlier_heartbeat_is_ignored_while_leaving() {
    let mut harness = member(&[]);
    let (earlier, _) = heartbeat_request(&harness.next().1);
    harness.member.unsubscribe(harness.now);
    let (leave, _) = heartbeat_request(&harness.poll());
    harness.complete_loss();
    for response in [ok_response(2, Some(&[(1, &[0, 1, 2])])), error_response(ErrorCode::UnknownMemberId)] {
        assert!(harness.respond(earlier, response).is_empty());
        assert!(harness.start_event().is_none() && !harness.member.is_idle());
    }
    harness.respond(leave, ok_response(-1, None));
    assert!(harness.member.is_idle());
}

#[test]
fn a_lost_leave_is_retried_until_the_session_has_expired() {
    use ErrorCode as E;
    let mut harness = member(&[]);
    harness.member.leave(harness.now);
    assert!(harness.start_event().is_none(), "a closed consumer needs no events");
    let (mut request_id, _) = heartbeat_request(&harness.poll());
    for code in [E::NotCoordinator, E::CoordinatorLoadInProgress] {
        let actions = harness.respond(request_id, error_response(code));
        assert_eq!(finds_coordinator(&actions), code == E::NotCoordinator);
        let (waited, actions) = harness.next();
        assert!(waited >= ms(8), "{waited:?}");
        let (again, last) = heartbeat_request(&actions);
        assert_eq!(last.member_epoch, -1);
        request_id = again;
    }
    assert!(harness.respond(request_id, error_response(E::UnknownMemberId)).is_empty());
    assert!(harness.member.is_idle());

    let mut harness = member(&[]);
    harness.member.leave(harness.now);
    let (mut request_id, _) = heartbeat_request(&harness.poll());
    while !harness.member.is_idle() {
        assert_eq!(harness.lose_connection(request_id), [Action::FindCoordinator]);
        let (_, actions) = harness.next();
        if !actions.is_empty() {
            request_id = heartbeat_request(&actions).0;
        }
    }
    assert!(harness.elapsed() >= ms(10_000), "{:?}", harness.elapsed());
}

#[test]
fn unsubscribing_while_joining_leaves_too() {
    let mut harness = share_heartbeats::harness(&[]);
    let (join, _) = heartbeat_request(&harness.subscribe(&["t"]));
    harness.member.unsubscribe(harness.now);
    let (leave, request) = heartbeat_request(&harness.poll());
    assert_eq!(request.member_epoch, -1, "it may be in the group without knowing");
    assert!(harness.respond(join, ok_response(1, Some(&[(1, &[0])]))).is_empty());
    assert!(harness.start_event().is_none(), "nothing was assigned, so nothing is lost");
    harness.respond(leave, ok_response(-1, None));
    assert!(harness.member.is_idle());

    let mut harness = share_heartbeats::harness(&[]);
    harness.member.subscribe(harness.now, names(&["t"]));
    harness.member.unsubscribe(harness.now);
    let (leave, _) = heartbeat_request(&harness.poll());
    assert!(harness.respond(leave, error_response(ErrorCode::UnknownMemberId)).is_empty());
    assert!(harness.member.is_idle());
}

#[test]
fn a_member_that_subscribes_while_leaving_rejoins_afterwards() {
    let mut harness = member(&[]);
    harness.member.unsubscribe(harness.now);
    let (leave, _) = heartbeat_request(&harness.poll());
    assert!(harness.subscribe(&["u"]).is_empty(), "first it leaves");
    let (request_id, request) = heartbeat_request(&harness.respond(leave, ok_response(-1, None)));
    assert_eq!((request.member_epoch, request.subscribed_topic_names), (0, subscribed(&["u"])));
    harness.respond(request_id, ok_response(4, Some(&[(2, &[0])])));
    load_metadata(&mut harness);
    assert_eq!(all_assigned(&mut harness), partitions(&["u-0"]));
}

/// Regression: a member that unsubscribed twice, and subscribed in between, joined the group again.
#[test]
fn a_member_that_unsubscribes_again_while_leaving_does_not_rejoin() {
    let mut harness = member(&[]);
    harness.member.unsubscribe(harness.now);
    let (leave, _) = heartbeat_request(&harness.poll());
    harness.subscribe(&["u"]);
    harness.member.unsubscribe(harness.now);
    assert!(harness.respond(leave, ok_response(-1, None)).is_empty());
    assert!(harness.member.is_idle());
}

#[test]
fn a_failed_member_leaves_without_a_request() {
    let mut harness = member(&[]);
    respond_to_heartbeat(&mut harness, error_response(ErrorCode::GroupAuthorizationFailed));
    harness.member.unsubscribe(harness.now);
    assert!(harness.poll().is_empty(), "the coordinator does not know it");
    assert!(harness.member.is_idle());
}
