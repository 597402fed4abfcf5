//! Proves: a classic member leaves on request and after the poll timeout, and returns. The clock is manual.

use ottla_client::consumer::group::{Action, GroupRequest, GroupResponse, MembershipManager};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::leave_group::{LeaveGroupResponse, MemberResponse};

use crate::support::classic::*;
use crate::support::member::*;
use crate::support::ms;

#[test]
fn a_member_leaves_after_the_poll_timeout_and_rejoins_with_the_next_poll() {
    for pairs in [&[][..], &STATIC] {
        let mut harness = member(false, pairs, &["t-0"]);
        let mut heartbeats = 0;
        let actions = loop {
            let (_, actions) = harness.next();
            let heartbeat = |action: &Action| matches!(action, Action::Send { request, .. } if matches!(**request, GroupRequest::Heartbeat(_)));
            if !actions.iter().any(heartbeat) {
                break actions;
            }
            heartbeats += 1;
            let request_id = heartbeat_request(&actions);
            harness.respond(request_id, heartbeat_response(ErrorCode::None));
        };
        assert_eq!((harness.elapsed(), heartbeats), (ms(60_000), 19), "heartbeats until then");
        if pairs.is_empty() {
            assert_eq!(&*leave_request(&actions).1.members[0].member_id, "me");
        } else {
            assert!(actions.is_empty(), "a static member sends nothing");
        }
        let reason = harness.member.core().leave_reason.clone().expect("a reason");
        assert!(
            reason.contains("max.poll.interval.ms (60000 ms)") && reason.contains("Poll more often"),
            "{reason}"
        );
        assert!(harness.after(600_000).is_empty(), "it waits for the application");
        assert!(harness.on_poll().is_empty(), "the loss is reported first");
        let (revoked, actions) = harness.complete_loss();
        assert_eq!(revoked, partitions(&["t-0"]));
        assert_eq!(&*join_request(&actions).1.member_id, "");
        join(&mut harness, &actions, 2, &["t-1"]);
        assert_eq!(harness.complete_assignment().1, partitions(&["t-1"]));
        assert!(harness.member.core().leave_reason.is_none());
    }
}

/// As in Java, which pauses its heartbeats meanwhile: the coordinator responds within the rebalance
/// timeout, which is `max.poll.interval.ms`.
#[test]
fn no_poll_is_required_until_join_group_returns() {
    let mut harness = harness(false, &[]);
    let (request_id, request, _) = join_request(&harness.subscribe(&["t"]));
    assert_eq!(request.rebalance_timeout_ms, 60_000);
    assert!(harness.after(600_000).is_empty() && harness.member.next_due().is_none(), "it waits for others");
    assert!(harness.member.core().leave_reason.is_none());
    // After that, others would wait for this member.
    let actions = harness.respond(request_id, join_response(1));
    let [Action::Send { request: sync, .. }, Action::Send { request: leave, .. }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert!(matches!((&**sync, &**leave), (GroupRequest::Sync(_), GroupRequest::Leave(_))), "{actions:?}");
    assert!(harness.member.core().leave_reason.is_some());
    join_request(&harness.on_poll());
    // A member that polls in time gets its response and stays.
    let mut harness = self::harness(false, &[]);
    let (request_id, _, _) = join_request(&harness.subscribe(&["t"]));
    harness.after(600_000);
    assert!(harness.on_poll().is_empty());
    let (request_id, _) = sync_request(&harness.respond(request_id, join_response(1)));
    harness.respond(request_id, sync_response(&["t-0"]));
    assert_eq!(harness.complete_assignment().1, partitions(&["t-0"]));
}

#[test]
fn leaving_waits_until_everything_is_revoked() {
    let mut harness = member(false, &[], &["t-0"]);
    harness.member.unsubscribe(harness.now);
    assert!(harness.poll().is_empty());
    let request_id = heartbeat_request(&harness.after(3_000));
    harness.respond(request_id, heartbeat_response(ErrorCode::None));
    let (revoked, actions) = harness.complete_revocation();
    assert_eq!(revoked, partitions(&["t-0"]));
    let (request_id, request) = leave_request(&actions);
    assert_eq!((&*request.member_id, request.members.len()), ("me", 1));
    assert!(request.members[0].reason.is_some() && !harness.member.is_idle());
    let response = LeaveGroupResponse { members: vec![MemberResponse::default()], ..Default::default() };
    assert!(harness.respond(request_id, GroupResponse::Leave(response)).is_empty());
    assert!(harness.member.is_idle() && harness.member.next_due().is_none());
    assert_eq!(harness.member.group_metadata().generation, -1);
}

#[test]
fn leaving_at_once_does_not_wait_and_retries() {
    let mut harness = member(false, &[], &["t-0"]);
    harness.member.leave(harness.now);
    let (request_id, _) = leave_request(&harness.poll());
    assert!(harness.start_event().is_none());
    let elsewhere = LeaveGroupResponse { error_code: ErrorCode::NotCoordinator.code(), ..Default::default() };
    assert_eq!(harness.respond(request_id, GroupResponse::Leave(elsewhere)), [Action::FindCoordinator]);
    let (request_id, _) = leave_request(&harness.next().1);
    let loading =
        LeaveGroupResponse { error_code: ErrorCode::CoordinatorLoadInProgress.code(), ..Default::default() };
    assert!(harness.respond(request_id, GroupResponse::Leave(loading)).is_empty());
    let (request_id, _) = leave_request(&harness.next().1);
    let unknown_member =
        MemberResponse { error_code: ErrorCode::UnknownMemberId.code(), ..Default::default() };
    harness.respond(
        request_id,
        GroupResponse::Leave(LeaveGroupResponse { members: vec![unknown_member], ..Default::default() }),
    );
    assert!(harness.member.is_idle(), "the coordinator has removed it");

    let mut harness = member(false, &[], &["t-0"]);
    harness.member.leave(harness.now);
    let mut actions = harness.poll();
    while !harness.member.is_idle() {
        let (request_id, _) = leave_request(&actions);
        harness.lose_connection(request_id);
        actions = harness.next().1;
    }
    assert!(harness.elapsed() >= ms(10_000) && harness.elapsed() < ms(12_000), "until the session expires");

    let mut harness = member(false, &STATIC, &["t-0"]);
    harness.member.leave(harness.now);
    assert!(harness.poll().is_empty() && harness.member.is_idle(), "static members return");
}

#[test]
fn a_member_removed_while_leaving_loses_its_partitions() {
    let mut harness = member(false, &[], &["t-0"]);
    let request_id = heartbeat_request(&harness.next().1);
    harness.member.unsubscribe(harness.now);
    harness.poll();
    assert!(harness.respond(request_id, heartbeat_response(ErrorCode::UnknownMemberId)).is_empty());
    harness.complete_loss();
    assert!(harness.member.is_idle());
}

#[test]
fn subscribing_while_leaving_joins_afterwards() {
    let mut harness = member(false, &[], &["t-0"]);
    harness.member.unsubscribe(harness.now);
    harness.poll();
    assert!(harness.subscribe(&["u"]).is_empty());
    let (request_id, _) = leave_request(&harness.complete_revocation().1);
    let actions = harness.respond(request_id, GroupResponse::Leave(LeaveGroupResponse::default()));
    assert_eq!(join_request(&actions).2.topics, ["u".into()]);
}

/// Regression: a member that unsubscribed twice, and subscribed in between, joined the group again.
#[test]
fn unsubscribing_again_while_leaving_does_not_rejoin() {
    let mut harness = member(false, &[], &["t-0"]);
    harness.member.unsubscribe(harness.now);
    harness.poll();
    harness.subscribe(&["u"]);
    harness.member.unsubscribe(harness.now);
    let (request_id, _) = leave_request(&harness.complete_revocation().1);
    let left = GroupResponse::Leave(LeaveGroupResponse::default());
    assert!(harness.respond(request_id, left).is_empty());
    assert!(harness.member.is_idle());
}

#[test]
fn a_leaving_member_that_does_not_poll_loses_its_partitions() {
    let mut harness = member(false, &[], &["t-0"]);
    harness.member.unsubscribe(harness.now);
    let mut actions = harness.poll();
    while harness.elapsed() < ms(60_000) {
        if !actions.is_empty() {
            let request_id = heartbeat_request(&actions);
            harness.respond(request_id, heartbeat_response(ErrorCode::None));
        }
        actions = harness.next().1;
    }
    assert_eq!(&*leave_request(&actions).1.members[0].member_id, "me", "others wait for it");
    assert!(harness.after(60_000).is_empty());
    assert_eq!(harness.complete_loss().0, partitions(&["t-0"]));
    assert!(harness.member.is_idle());
}
