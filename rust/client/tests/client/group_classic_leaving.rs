//! Proves: a member of a classic group leaves when it is asked to and when its application does not
//! poll, and comes back. The clock is the test's.

use ottla_client::consumer::group::{Action, GroupRequest, GroupResponse, MembershipManager};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::leave_group::{LeaveGroupResponse, MemberResponse};

use crate::support::classic::*;
use crate::support::member::*;
use crate::support::ms;

#[test]
fn who_does_not_poll_leaves_and_comes_back_with_the_next_poll() {
    for pairs in [&[][..], &STATIC] {
        let mut bench = member(false, pairs, &["t-0"]);
        let mut beats = 0;
        let actions = loop {
            let (_, actions) = bench.next();
            let heartbeat = |action: &Action| matches!(action, Action::Send { request, .. } if matches!(**request, GroupRequest::Heartbeat(_)));
            if !actions.iter().any(heartbeat) {
                break actions;
            }
            beats += 1;
            let request_id = beating(&actions);
            bench.answer(request_id, beat(ErrorCode::None));
        };
        assert_eq!((bench.elapsed(), beats), (ms(60_000), 19), "heartbeats until then");
        if pairs.is_empty() {
            assert_eq!(&*leaving(&actions).1.members[0].member_id, "me");
        } else {
            assert!(actions.is_empty(), "a static member only goes silent");
        }
        let why = bench.member.core().leave_reason.clone().expect("a reason");
        assert!(why.contains("max.poll.interval.ms (60000 ms)") && why.contains("Poll more often"), "{why}");
        assert!(bench.after(600_000).is_empty(), "it waits for the application");
        assert!(bench.polled().is_empty(), "which first hears what it has lost");
        let (gone, actions) = bench.lose();
        assert_eq!(gone, partitions(&["t-0"]));
        assert_eq!(&*joining(&actions).1.member_id, "");
        join(&mut bench, &actions, 2, &["t-1"]);
        assert_eq!(bench.take_up().1, partitions(&["t-1"]));
        assert!(bench.member.core().leave_reason.is_none());
    }
}

/// As in Java, whose heartbeat thread stands still meanwhile: the coordinator has the member's
/// rebalance timeout to answer, which is `max.poll.interval.ms`.
#[test]
fn who_waits_in_join_group_need_not_poll_until_it_is_answered() {
    let mut bench = bench(false, &[]);
    let (request_id, request, _) = joining(&bench.subscribe(&["t"]));
    assert_eq!(request.rebalance_timeout_ms, 60_000);
    assert!(bench.after(600_000).is_empty() && bench.member.next_due().is_none(), "it waits for others");
    assert!(bench.member.core().leave_reason.is_none());
    // By then others would wait for this one.
    let actions = bench.answer(request_id, joined(1));
    let [Action::Send { request: sync, .. }, Action::Send { request: leave, .. }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert!(matches!((&**sync, &**leave), (GroupRequest::Sync(_), GroupRequest::Leave(_))), "{actions:?}");
    assert!(bench.member.core().leave_reason.is_some());
    joining(&bench.polled());
    // Who polls in time is answered and stays.
    let mut bench = self::bench(false, &[]);
    let (request_id, _, _) = joining(&bench.subscribe(&["t"]));
    bench.after(600_000);
    assert!(bench.polled().is_empty());
    let (request_id, _) = syncing(&bench.answer(request_id, joined(1)));
    bench.answer(request_id, synced(&["t-0"]));
    assert_eq!(bench.take_up().1, partitions(&["t-0"]));
}

#[test]
fn leaving_waits_until_everything_is_given_up() {
    let mut bench = member(false, &[], &["t-0"]);
    bench.member.unsubscribe(bench.now);
    assert!(bench.poll().is_empty());
    let request_id = beating(&bench.after(3_000));
    bench.answer(request_id, beat(ErrorCode::None));
    let (gone, actions) = bench.revoke();
    assert_eq!(gone, partitions(&["t-0"]));
    let (request_id, request) = leaving(&actions);
    assert_eq!((&*request.member_id, request.members.len()), ("me", 1));
    assert!(request.members[0].reason.is_some() && !bench.member.is_idle());
    let answer = LeaveGroupResponse { members: vec![MemberResponse::default()], ..Default::default() };
    assert!(bench.answer(request_id, GroupResponse::Leave(answer)).is_empty());
    assert!(bench.member.is_idle() && bench.member.next_due().is_none());
    assert_eq!(bench.member.group_metadata().generation, -1);
}

#[test]
fn leaving_now_waits_for_nobody_and_tries_again() {
    let mut bench = member(false, &[], &["t-0"]);
    bench.member.leave(bench.now);
    let (request_id, _) = leaving(&bench.poll());
    assert!(bench.look().is_none());
    let elsewhere = LeaveGroupResponse { error_code: ErrorCode::NotCoordinator.code(), ..Default::default() };
    assert_eq!(bench.answer(request_id, GroupResponse::Leave(elsewhere)), [Action::FindCoordinator]);
    let (request_id, _) = leaving(&bench.next().1);
    let loading =
        LeaveGroupResponse { error_code: ErrorCode::CoordinatorLoadInProgress.code(), ..Default::default() };
    assert!(bench.answer(request_id, GroupResponse::Leave(loading)).is_empty());
    let (request_id, _) = leaving(&bench.next().1);
    let gone = MemberResponse { error_code: ErrorCode::UnknownMemberId.code(), ..Default::default() };
    bench.answer(
        request_id,
        GroupResponse::Leave(LeaveGroupResponse { members: vec![gone], ..Default::default() }),
    );
    assert!(bench.member.is_idle(), "somebody else has thrown it out");

    let mut bench = member(false, &[], &["t-0"]);
    bench.member.leave(bench.now);
    let mut actions = bench.poll();
    while !bench.member.is_idle() {
        let (request_id, _) = leaving(&actions);
        bench.lost(request_id);
        actions = bench.next().1;
    }
    assert!(bench.elapsed() >= ms(10_000) && bench.elapsed() < ms(12_000), "for as long as it matters");

    let mut bench = member(false, &STATIC, &["t-0"]);
    bench.member.leave(bench.now);
    assert!(bench.poll().is_empty() && bench.member.is_idle(), "static members come back");
}

#[test]
fn a_member_that_is_thrown_out_while_it_leaves_has_lost_what_it_had() {
    let mut bench = member(false, &[], &["t-0"]);
    let request_id = beating(&bench.next().1);
    bench.member.unsubscribe(bench.now);
    bench.poll();
    assert!(bench.answer(request_id, beat(ErrorCode::UnknownMemberId)).is_empty());
    bench.lose();
    assert!(bench.member.is_idle());
}

#[test]
fn subscribing_while_it_leaves_joins_afterwards() {
    let mut bench = member(false, &[], &["t-0"]);
    bench.member.unsubscribe(bench.now);
    bench.poll();
    assert!(bench.subscribe(&["u"]).is_empty());
    let (request_id, _) = leaving(&bench.revoke().1);
    let actions = bench.answer(request_id, GroupResponse::Leave(LeaveGroupResponse::default()));
    assert_eq!(joining(&actions).2.topics, ["u".into()]);
}

#[test]
fn who_does_not_give_up_what_it_leaves_has_lost_it() {
    let mut bench = member(false, &[], &["t-0"]);
    bench.member.unsubscribe(bench.now);
    let mut actions = bench.poll();
    while bench.elapsed() < ms(60_000) {
        if !actions.is_empty() {
            let request_id = beating(&actions);
            bench.answer(request_id, beat(ErrorCode::None));
        }
        actions = bench.next().1;
    }
    assert_eq!(&*leaving(&actions).1.members[0].member_id, "me", "others wait for it");
    assert!(bench.after(60_000).is_empty());
    assert_eq!(bench.lose().0, partitions(&["t-0"]));
    assert!(bench.member.is_idle());
}
