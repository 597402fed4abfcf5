//! Proves: a member of a classic group joins, keeps alive, gives up and leaves as the protocol wants
//! it, and each error code is a transition. The clock is the test's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

#[path = "support/member.rs"]
mod member_bench;
mod support;

use ottla_client::consumer::assignor::{
    MemberAssignment, MemberSubscription, encode_assignment, topics as looked_at,
};
use ottla_client::consumer::group::classic::Classic;
use ottla_client::consumer::group::{Action, Answer, Ask, Assigned, Change, Machine};
use ottla_client::{Error, Kind};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::heartbeat::HeartbeatResponse;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};
use ottla_protocol::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse, MemberResponse};
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};
use tokio::time::{Duration, Instant};

use member_bench::{Bench, fixed, looks_for_coordinator, metadata, names, partitions, sent, settings};
use support::ms;

const STATIC: [(&str, &str); 1] = [("group.instance.id", "i")];

fn bench(cooperative: bool, pairs: &[(&str, &str)]) -> Bench<Classic> {
    let fast = [("session.timeout.ms", "10000"), ("heartbeat.interval.ms", "3000")];
    let all: Vec<_> = fast.iter().chain(pairs).copied().collect();
    Bench::of(Classic::new(settings(&all), cooperative, fixed()), Instant::now())
}

fn joining(actions: &[Action]) -> (u64, JoinGroupRequest, MemberSubscription) {
    match sent(actions) {
        (ticket, Ask::Join { request, subscription, .. }) => (ticket, request, subscription),
        other => panic!("no JoinGroup: {other:?}"),
    }
}

fn syncing(actions: &[Action]) -> (u64, SyncGroupRequest) {
    match sent(actions) {
        (ticket, Ask::Sync(request)) => (ticket, request),
        other => panic!("no SyncGroup: {other:?}"),
    }
}

fn beating(actions: &[Action]) -> u64 {
    match sent(actions) {
        (ticket, Ask::Heartbeat(_)) => ticket,
        other => panic!("no Heartbeat: {other:?}"),
    }
}

fn leaving(actions: &[Action]) -> (u64, LeaveGroupRequest) {
    match sent(actions) {
        (ticket, Ask::Leave(request)) => (ticket, request),
        other => panic!("no LeaveGroup: {other:?}"),
    }
}

fn joined(generation: i32) -> Answer {
    Answer::Join(JoinGroupResponse {
        generation_id: generation,
        protocol_type: Some("consumer".to_owned()),
        protocol_name: Some("range".to_owned()),
        leader: "other".to_owned(),
        member_id: "me".to_owned(),
        ..Default::default()
    })
}

fn join_refused(code: ErrorCode) -> Answer {
    Answer::Join(JoinGroupResponse { error_code: code.code(), ..Default::default() })
}

fn synced(given: &[&str]) -> Answer {
    let given = MemberAssignment { partitions: partitions(given), user_data: None };
    Answer::Sync(SyncGroupResponse {
        protocol_type: Some("consumer".to_owned()),
        protocol_name: Some("range".to_owned()),
        assignment: encode_assignment(&given).expect("an assignment"),
        ..Default::default()
    })
}

fn sync_refused(code: ErrorCode) -> Answer {
    Answer::Sync(SyncGroupResponse { error_code: code.code(), ..Default::default() })
}

fn beat(code: ErrorCode) -> Answer {
    Answer::Heartbeat(HeartbeatResponse { error_code: code.code(), ..Default::default() })
}

/// Answers JoinGroup and SyncGroup of a follower; what is assigned lies on the desk then.
fn join(bench: &mut Bench<Classic>, actions: &[Action], generation: i32, given: &[&str]) {
    let (ticket, _, _) = joining(actions);
    let (ticket, sync) = syncing(&bench.answer(ticket, joined(generation)));
    assert_eq!((sync.generation_id, &*sync.member_id), (generation, "me"));
    let told = bench.answer(ticket, synced(given));
    assert!(matches!(&told[..], [Action::Tell { .. }]), "{told:?}");
}

/// A member of generation 1 that has taken up its partitions of `t`.
fn member(cooperative: bool, pairs: &[(&str, &str)], given: &[&str]) -> Bench<Classic> {
    let mut bench = bench(cooperative, pairs);
    let actions = bench.subscribe(&["t"]);
    join(&mut bench, &actions, 1, given);
    let (added, all, actions) = bench.take_up();
    assert_eq!((added, all), (partitions(given), partitions(given)));
    assert!(actions.is_empty(), "{actions:?}");
    bench
}

/// Goes to the next heartbeat, and has it answered.
fn hear(bench: &mut Bench<Classic>, code: ErrorCode) -> Vec<Action> {
    let (_, actions) = bench.next();
    let ticket = beating(&actions);
    bench.answer(ticket, beat(code))
}

#[test]
fn a_member_asks_for_an_id_joins_and_takes_up_what_it_is_given() {
    let mut bench = bench(false, &[("client.rack", "a")]);
    let (ticket, request, told) = joining(&bench.subscribe(&["u", "t"]));
    assert_eq!((&*request.group_id, &*request.member_id, &*request.protocol_type), ("g", "", "consumer"));
    assert_eq!((request.session_timeout_ms, request.rebalance_timeout_ms), (10_000, 60_000));
    assert_eq!(
        (told.topics, told.generation, told.rack.as_deref()),
        (vec!["t".into(), "u".into()], -1, Some("a"))
    );

    let required = JoinGroupResponse {
        error_code: ErrorCode::MemberIdRequired.code(),
        member_id: "me".to_owned(),
        ..Default::default()
    };
    let (ticket, request, _) = joining(&bench.answer(ticket, Answer::Join(required)));
    assert_eq!(&*request.member_id, "me", "at once, with the id");
    let (ticket, sync) = syncing(&bench.answer(ticket, joined(5)));
    assert_eq!((sync.generation_id, sync.assignments.len()), (5, 0));
    assert_eq!(sync.protocol_name.as_deref(), Some("range"));
    bench.answer(ticket, synced(&["t-0", "u-1"]));
    let me = bench.member.member();
    assert_eq!((&*me.group_id, &*me.member_id, me.generation), ("g", "me", 5));
    let (added, all, _) = bench.take_up();
    assert_eq!((added, all), (partitions(&["t-0", "u-1"]), partitions(&["t-0", "u-1"])));
}

#[test]
fn a_coordinator_that_never_has_enough_of_ids_is_not_asked_without_a_pause() {
    let mut bench = bench(false, &[]);
    let mut actions = bench.subscribe(&["t"]);
    let start = bench.now;
    for _ in 0..20 {
        let (ticket, _, _) = joining(&actions);
        let required = JoinGroupResponse {
            error_code: ErrorCode::MemberIdRequired.code(),
            member_id: "me".to_owned(),
            ..Default::default()
        };
        actions = bench.answer(ticket, Answer::Join(required));
        if actions.is_empty() {
            actions = bench.next().1;
        }
    }
    assert!(bench.now - start > ms(5_000), "{:?}", bench.now - start);
}

#[test]
fn the_leader_has_the_partitions_assigned_and_watches_the_topics() {
    let mut bench = bench(false, &[]);
    let (ticket, _, _) = joining(&bench.subscribe(&["t"]));
    let others = JoinGroupResponseMember { member_id: "you".to_owned(), ..Default::default() };
    let Answer::Join(response) = joined(1) else { unreachable!() };
    let leader = "me".to_owned();
    let actions =
        bench.answer(ticket, Answer::Join(JoinGroupResponse { leader, members: vec![others], ..response }));
    let [Action::Assign { ticket, protocol, members, skip: false }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!((&**protocol, &*members[0].member_id), ("range", "you"));

    let beats = beating(&bench.after(3_000));
    assert!(bench.answer(beats, beat(ErrorCode::RebalanceInProgress)).is_empty(), "no news before SyncGroup");

    let two = metadata(&[("t", 2), ("u", 1)]);
    let all = [("t".into()), ("u".into())];
    let assignments = vec![SyncGroupRequestAssignment { member_id: "you".to_owned(), ..Default::default() }];
    let assigned =
        Assigned { assignments: assignments.clone(), names: all.to_vec(), topics: looked_at(&two, &all) };
    let (ticket, sync) = syncing(&bench.answer(*ticket, Answer::Assigned(assigned)));
    assert_eq!(sync.assignments, assignments);
    bench.answer(ticket, synced(&["t-0"]));
    bench.take_up();
    assert_eq!(bench.member.topics(), ["t".into(), "t".into(), "u".into()], "of all members");

    bench.member.metadata(bench.now, &two);
    assert!(bench.poll().is_empty(), "nothing has changed");
    bench.member.metadata(bench.now, &metadata(&[("t", 2), ("u", 3)]));
    bench.poll();
    let (gone, actions) = bench.revoke();
    assert_eq!(gone, partitions(&["t-0"]));
    let (_, request, _) = joining(&actions);
    assert!(request.reason.unwrap().contains("partitions of the group's topics"));
}

#[test]
fn an_assignor_that_fails_is_told_to_the_application() {
    let mut bench = bench(false, &[]);
    let (ticket, _, _) = joining(&bench.subscribe(&["t"]));
    let Answer::Join(response) = joined(1) else { unreachable!() };
    let actions =
        bench.answer(ticket, Answer::Join(JoinGroupResponse { leader: "me".to_owned(), ..response }));
    let [Action::Assign { ticket, .. }] = actions[..] else { panic!("{actions:?}") };
    bench.answer(ticket, Answer::Failed(Error::new(Kind::Config, "division by zero")));
    let (error, actions) = bench.failed();
    assert!(error.message().contains("assignor") && error.message().contains("division by zero"), "{error}");
    assert!(actions.is_empty());
    joining(&bench.polled());
}

#[test]
fn an_eager_member_gives_up_everything_before_it_joins_again() {
    let mut bench = member(false, &[], &["t-0", "t-1"]);
    assert!(hear(&mut bench, ErrorCode::None).is_empty());
    assert!(
        hear(&mut bench, ErrorCode::RebalanceInProgress).is_empty(),
        "the application has to let go first"
    );
    // The application takes its time; the heartbeats do not wait for it.
    let took: Vec<Duration> = (0..3)
        .map(|_| {
            let (waited, actions) = bench.next();
            let ticket = beating(&actions);
            assert!(bench.answer(ticket, beat(ErrorCode::RebalanceInProgress)).is_empty());
            waited
        })
        .collect();
    assert_eq!(took, [ms(3_000); 3]);
    assert_eq!(bench.member.member().generation, 1, "it may still commit");
    let (gone, actions) = bench.revoke();
    assert_eq!(gone, partitions(&["t-0", "t-1"]));
    let (_, request, told) = joining(&actions);
    assert_eq!((&*request.member_id, told.generation, told.owned), ("me", 1, vec![]));
    let Some(Ask::Join { last, .. }) = actions.into_iter().find_map(|action| match action {
        Action::Send { ask, .. } => Some(*ask),
        _ => None,
    }) else {
        unreachable!()
    };
    assert_eq!((last.partitions, last.generation), (partitions(&["t-0", "t-1"]), Some(1)));
    assert!(bench.after(9_000).is_empty(), "no heartbeats while it joins");
}

#[test]
fn a_cooperative_member_gives_up_only_what_moves_and_joins_again() {
    let mut bench = member(true, &[], &["t-0", "t-1", "t-2"]);
    let (ticket, _, told) = joining(&hear(&mut bench, ErrorCode::RebalanceInProgress));
    assert_eq!((told.owned, told.generation), (partitions(&["t-0", "t-1", "t-2"]), 1));
    let (ticket, _) = syncing(&bench.answer(ticket, joined(2)));
    bench.answer(ticket, synced(&["t-0", "t-3"]));
    let (gone, actions) = bench.revoke();
    assert_eq!(gone, partitions(&["t-1", "t-2"]));
    assert!(actions.is_empty(), "first it takes up what it was given");
    let (added, all, actions) = bench.take_up();
    assert_eq!((added, all), (partitions(&["t-3"]), partitions(&["t-0", "t-3"])));
    let (_, request, told) = joining(&actions);
    assert!(request.reason.unwrap().contains("given up"));
    assert_eq!((told.owned, told.generation), (partitions(&["t-0", "t-3"]), 2));
    join(&mut bench, &actions, 3, &["t-0", "t-3"]);
    let (added, _, actions) = bench.take_up();
    assert!(added.is_empty() && actions.is_empty(), "the rebalance is over");
}

/// What a member does about a code in JoinGroup's answer.
#[test]
fn every_refusal_of_join_group_is_a_transition() {
    use ErrorCode as E;
    for code in [E::CoordinatorNotAvailable, E::NotCoordinator] {
        let mut bench = bench(false, &[]);
        let (ticket, _, _) = joining(&bench.subscribe(&["t"]));
        let actions = bench.answer(ticket, join_refused(code));
        assert_eq!(actions, [Action::FindCoordinator], "{code:?}");
        let (waited, actions) = bench.next();
        joining(&actions);
        assert!(waited >= ms(8), "{waited:?}");
    }
    for code in [E::CoordinatorLoadInProgress, E::RequestTimedOut] {
        let mut bench = bench(false, &[]);
        let (ticket, _, _) = joining(&bench.subscribe(&["t"]));
        assert!(
            bench.answer(ticket, join_refused(code)).is_empty(),
            "it waits, and looks for nobody: {code:?}"
        );
        let (waited, actions) = bench.next();
        joining(&actions);
        assert!(!looks_for_coordinator(&actions) && waited >= ms(8));
    }
    for code in [E::UnknownMemberId, E::RebalanceInProgress] {
        let mut bench = member(true, &[], &["t-0"]);
        let (ticket, _, _) = joining(&hear(&mut bench, E::RebalanceInProgress));
        let actions = bench.answer(ticket, join_refused(code));
        let (_, request, told) = if code == E::UnknownMemberId {
            let (gone, actions) = bench.lose();
            assert_eq!(gone, partitions(&["t-0"]));
            joining(&actions)
        } else {
            joining(&actions)
        };
        let expected = if code == E::UnknownMemberId { ("", -1) } else { ("me", 1) };
        assert_eq!((&*request.member_id, told.generation), expected);
    }
    for (code, kind, words) in [
        (E::GroupAuthorizationFailed, Kind::Authorization, "READ"),
        (E::GroupMaxSizeReached, Kind::Broker, "group.max.size"),
        (E::InconsistentGroupProtocol, Kind::Broker, "no assignor in common with range"),
        (E::UnknownServerError, Kind::Broker, "group g"),
        (E::Unknown(12_345), Kind::Broker, "group g"),
    ] {
        let mut bench = bench(false, &[]);
        let (ticket, _, _) = joining(&bench.subscribe(&["t"]));
        assert!(bench.answer(ticket, join_refused(code)).is_empty());
        let (error, actions) = bench.failed();
        assert_eq!((error.kind(), error.code()), (kind, Some(code)));
        assert!(error.message().contains(words), "{error}");
        assert!(actions.is_empty() && bench.after(30_000).is_empty(), "not by itself");
        joining(&bench.polled());
    }
    for (code, words) in [
        (E::FencedInstanceId, "group.instance.id=i"),
        (E::InvalidSessionTimeout, "session.timeout.ms=10000"),
        (E::InvalidGroupId, "group id is not legal"),
    ] {
        let mut bench = bench(false, &STATIC);
        let (ticket, _, _) = joining(&bench.subscribe(&["t"]));
        bench.answer(ticket, join_refused(code));
        for _ in 0..3 {
            let (error, actions) = bench.failed();
            assert_eq!(error.code(), Some(code));
            assert!(error.message().contains(words), "{error}");
            assert!(actions.is_empty() && bench.look().is_none());
            assert!(bench.polled().is_empty(), "each poll says it again");
        }
        joining(&bench.subscribe(&["t"]));
    }
}

/// What a member does about a code in SyncGroup's answer.
#[test]
fn every_refusal_of_sync_group_is_a_transition() {
    use ErrorCode as E;
    for (code, looks, (id, generation)) in [
        (E::CoordinatorNotAvailable, true, ("me", 2)),
        (E::NotCoordinator, true, ("me", 2)),
        (E::CoordinatorLoadInProgress, false, ("me", 2)),
        (E::RebalanceInProgress, false, ("me", 2)),
        (E::IllegalGeneration, false, ("me", -1)),
        (E::UnknownMemberId, false, ("", -1)),
    ] {
        let mut bench = member(true, &[], &["t-0"]);
        let (ticket, _, _) = joining(&hear(&mut bench, E::RebalanceInProgress));
        let (ticket, _) = syncing(&bench.answer(ticket, joined(2)));
        let mut actions = bench.answer(ticket, sync_refused(code));
        assert_eq!(looks_for_coordinator(&actions), looks, "{code:?}");
        if generation < 0 {
            let (gone, next) = bench.lose();
            assert_eq!(gone, partitions(&["t-0"]), "lost, not revoked: {code:?}");
            actions = next;
        }
        if !actions.iter().any(|action| matches!(action, Action::Send { .. })) {
            actions = bench.next().1;
        }
        let (_, request, told) = joining(&actions);
        assert_eq!((&*request.member_id, told.generation), (id, generation), "{code:?}");
    }
    for code in [E::GroupAuthorizationFailed, E::FencedInstanceId, E::UnknownServerError] {
        let mut bench = bench(false, &STATIC);
        let (ticket, _, _) = joining(&bench.subscribe(&["t"]));
        let (ticket, _) = syncing(&bench.answer(ticket, joined(2)));
        assert!(bench.answer(ticket, sync_refused(code)).is_empty());
        assert_eq!(bench.failed().0.code(), Some(code));
    }
}

/// What a member does about a code in a heartbeat's answer, or in that to a commit.
#[test]
fn every_refusal_of_a_heartbeat_or_a_commit_is_a_transition() {
    use ErrorCode as E;
    for by_commit in [false, true] {
        let refuse = |bench: &mut Bench<Classic>, code| {
            if by_commit { bench.trouble(code) } else { hear(bench, code) }
        };
        for code in [E::CoordinatorNotAvailable, E::NotCoordinator] {
            let mut bench = member(false, &STATIC, &["t-0"]);
            assert_eq!(refuse(&mut bench, code), [Action::FindCoordinator]);
            assert!(bench.look().is_none(), "nothing is given up for that");
            let (waited, actions) = bench.next();
            beating(&actions);
            assert!(by_commit || waited < ms(100), "soon again: {waited:?}");
        }
        let mut bench = member(false, &STATIC, &["t-0"]);
        assert!(refuse(&mut bench, E::CoordinatorLoadInProgress).is_empty(), "it looks for nobody");
        beating(&bench.next().1);

        let mut bench = member(false, &STATIC, &["t-0"]);
        refuse(&mut bench, E::RebalanceInProgress);
        let (gone, actions) = bench.revoke();
        assert_eq!(gone, partitions(&["t-0"]));
        assert_eq!(joining(&actions).2.generation, 1);

        for (code, id) in [(E::IllegalGeneration, "me"), (E::UnknownMemberId, "")] {
            let mut bench = member(false, &STATIC, &["t-0"]);
            assert!(refuse(&mut bench, code).is_empty());
            let (gone, actions) = bench.lose();
            assert_eq!(gone, partitions(&["t-0"]), "{code:?}");
            let (_, request, told) = joining(&actions);
            assert_eq!((&*request.member_id, told.generation, told.owned.len()), (id, -1, 0));
        }

        let mut bench = member(false, &STATIC, &["t-0"]);
        assert!(refuse(&mut bench, E::FencedInstanceId).is_empty());
        assert_eq!(bench.lose().0, partitions(&["t-0"]), "somebody else has them");
        let (error, _) = bench.failed();
        assert_eq!((error.kind(), error.code()), (Kind::Fenced, Some(E::FencedInstanceId)));
        assert!(bench.after(60_000).is_empty(), "no heartbeat, no JoinGroup");
    }
    for code in [E::GroupAuthorizationFailed, E::UnknownServerError] {
        let mut bench = member(true, &[], &["t-0"]);
        assert!(hear(&mut bench, code).is_empty());
        assert_eq!(bench.failed().0.code(), Some(code));
        let (_, _, told) = joining(&bench.polled());
        assert_eq!((told.generation, told.owned), (1, partitions(&["t-0"])), "it tries to go on");
    }
}

#[test]
fn trouble_of_an_earlier_generation_is_none() {
    let mut bench = member(true, &[], &["t-0"]);
    let before = bench.member.member();
    let actions = hear(&mut bench, ErrorCode::RebalanceInProgress);
    join(&mut bench, &actions, 2, &["t-0"]);
    bench.take_up();
    assert!(bench.trouble_of(&before, ErrorCode::IllegalGeneration).is_empty());
    assert!(bench.look().is_none());
    assert!(bench.trouble_of(&before, ErrorCode::RebalanceInProgress).is_empty());
}

#[test]
fn a_lost_connection_is_no_reason_to_give_anything_up() {
    let mut bench = member(false, &[], &["t-0"]);
    for _ in 0..5 {
        let (_, actions) = bench.next();
        let ticket = beating(&actions);
        assert_eq!(bench.lost(ticket), [Action::FindCoordinator]);
    }
    assert!(bench.elapsed() < ms(4_000), "soon again, but not at once: {:?}", bench.elapsed());
    assert!(bench.look().is_none());

    let actions = hear(&mut bench, ErrorCode::RebalanceInProgress);
    assert!(actions.is_empty());
    let (ticket, _, _) = joining(&bench.revoke().1);
    assert!(looks_for_coordinator(&bench.lost(ticket)));
    let (ticket, request, _) = joining(&bench.next().1);
    assert_eq!(&*request.member_id, "me");
    let (ticket, _) = syncing(&bench.answer(ticket, joined(3)));
    assert!(looks_for_coordinator(&bench.lost(ticket)));
    joining(&bench.next().1);
}

#[test]
fn a_silent_coordinator_is_looked_for_when_the_session_is_over() {
    let mut bench = member(false, &[], &["t-0"]);
    let (waited, actions) = bench.next();
    let silent = beating(&actions);
    assert_eq!(waited, ms(3_000));
    let (waited, actions) = bench.next();
    assert_eq!(waited, ms(7_000), "of the session of 10 s");
    assert!(looks_for_coordinator(&actions));
    let ticket = beating(&actions);
    assert!(bench.answer(silent, beat(ErrorCode::UnknownMemberId)).is_empty(), "too late to matter");
    assert!(bench.answer(ticket, beat(ErrorCode::None)).is_empty());
    assert_eq!(bench.next().0, ms(3_000));
}

#[test]
fn who_does_not_poll_leaves_and_comes_back_with_the_next_poll() {
    for pairs in [&[][..], &STATIC] {
        let mut bench = member(false, pairs, &["t-0"]);
        let mut beats = 0;
        let actions = loop {
            let (_, actions) = bench.next();
            let heartbeat = |action: &Action| matches!(action, Action::Send { ask, .. } if matches!(**ask, Ask::Heartbeat(_)));
            if !actions.iter().any(heartbeat) {
                break actions;
            }
            beats += 1;
            let ticket = beating(&actions);
            bench.answer(ticket, beat(ErrorCode::None));
        };
        assert_eq!((bench.elapsed(), beats), (ms(60_000), 19), "heartbeats until then");
        if pairs.is_empty() {
            assert_eq!(&*leaving(&actions).1.members[0].member_id, "me");
        } else {
            assert!(actions.is_empty(), "a static member only goes silent");
        }
        let why = bench.member.core().why_left.clone().expect("a reason");
        assert!(why.contains("max.poll.interval.ms (60000 ms)") && why.contains("Poll more often"), "{why}");
        assert!(bench.after(600_000).is_empty(), "it waits for the application");
        assert!(bench.polled().is_empty(), "which first hears what it has lost");
        let (gone, actions) = bench.lose();
        assert_eq!(gone, partitions(&["t-0"]));
        assert_eq!(&*joining(&actions).1.member_id, "");
        join(&mut bench, &actions, 2, &["t-1"]);
        assert_eq!(bench.take_up().1, partitions(&["t-1"]));
        assert!(bench.member.core().why_left.is_none());
    }
}

#[test]
fn leaving_waits_until_everything_is_given_up() {
    let mut bench = member(false, &[], &["t-0"]);
    bench.member.unsubscribe(bench.now);
    assert!(bench.poll().is_empty());
    let ticket = beating(&bench.after(3_000));
    bench.answer(ticket, beat(ErrorCode::None));
    let (gone, actions) = bench.revoke();
    assert_eq!(gone, partitions(&["t-0"]));
    let (ticket, request) = leaving(&actions);
    assert_eq!((&*request.member_id, request.members.len()), ("me", 1));
    assert!(request.members[0].reason.is_some() && !bench.member.is_idle());
    let answer = LeaveGroupResponse { members: vec![MemberResponse::default()], ..Default::default() };
    assert!(bench.answer(ticket, Answer::Leave(answer)).is_empty());
    assert!(bench.member.is_idle() && bench.member.next().is_none());
    assert_eq!(bench.member.member().generation, -1);
}

#[test]
fn leaving_now_waits_for_nobody_and_tries_again() {
    let mut bench = member(false, &[], &["t-0"]);
    bench.member.leave(bench.now);
    let (ticket, _) = leaving(&bench.poll());
    assert!(bench.look().is_none());
    let elsewhere = LeaveGroupResponse { error_code: ErrorCode::NotCoordinator.code(), ..Default::default() };
    assert_eq!(bench.answer(ticket, Answer::Leave(elsewhere)), [Action::FindCoordinator]);
    let (ticket, _) = leaving(&bench.next().1);
    let loading =
        LeaveGroupResponse { error_code: ErrorCode::CoordinatorLoadInProgress.code(), ..Default::default() };
    assert!(bench.answer(ticket, Answer::Leave(loading)).is_empty());
    let (ticket, _) = leaving(&bench.next().1);
    let gone = MemberResponse { error_code: ErrorCode::UnknownMemberId.code(), ..Default::default() };
    bench.answer(ticket, Answer::Leave(LeaveGroupResponse { members: vec![gone], ..Default::default() }));
    assert!(bench.member.is_idle(), "somebody else has thrown it out");

    let mut bench = member(false, &[], &["t-0"]);
    bench.member.leave(bench.now);
    let mut actions = bench.poll();
    while !bench.member.is_idle() {
        let (ticket, _) = leaving(&actions);
        bench.lost(ticket);
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
    let ticket = beating(&bench.next().1);
    bench.member.unsubscribe(bench.now);
    bench.poll();
    assert!(bench.answer(ticket, beat(ErrorCode::UnknownMemberId)).is_empty());
    bench.lose();
    assert!(bench.member.is_idle());
}

#[test]
fn subscribing_while_it_leaves_joins_afterwards() {
    let mut bench = member(false, &[], &["t-0"]);
    bench.member.unsubscribe(bench.now);
    bench.poll();
    assert!(bench.subscribe(&["u"]).is_empty());
    let (ticket, _) = leaving(&bench.revoke().1);
    let actions = bench.answer(ticket, Answer::Leave(LeaveGroupResponse::default()));
    assert_eq!(joining(&actions).2.topics, ["u".into()]);
}

#[test]
fn another_subscription_joins_again() {
    let mut bench = member(true, &[], &["t-0", "t-1"]);
    assert!(bench.subscribe(&["t"]).is_empty(), "the same one does not");
    assert_eq!(joining(&bench.subscribe(&["t", "u"])).2.owned, partitions(&["t-0", "t-1"]));

    let mut bench = member(true, &[], &["t-0"]);
    assert!(bench.subscribe(&["u"]).is_empty());
    let (gone, actions) = bench.revoke();
    assert_eq!((gone, joining(&actions).2.owned), (partitions(&["t-0"]), vec![]), "it wants them no more");

    // While it joins: the round under way is ended first.
    let (ticket, _, _) = joining(&actions);
    assert!(bench.subscribe(&["v"]).is_empty());
    let (ticket, _) = syncing(&bench.answer(ticket, joined(2)));
    let actions = bench.answer(ticket, synced(&["u-0"]));
    assert!(bench.look().is_none(), "nobody wants u any more");
    assert_eq!(joining(&actions).2.topics, ["v".into()]);
}

#[test]
fn what_the_application_has_not_seen_is_taken_back_when_it_is_lost() {
    let mut bench = bench(false, &[]);
    let actions = bench.subscribe(&["t"]);
    join(&mut bench, &actions, 1, &["t-0"]);
    let actions = hear(&mut bench, ErrorCode::UnknownMemberId);
    assert!(bench.look().is_none());
    join(&mut bench, &actions, 2, &["t-1"]);

    assert!(matches!(bench.look(), Some(Change::Assign { .. })));
    assert!(hear(&mut bench, ErrorCode::UnknownMemberId).is_empty(), "the application is at it");
    assert!(matches!(bench.look(), Some(Change::Assign { .. })), "the same until it is acknowledged");
    assert!(bench.acknowledge().is_empty());
    assert_eq!(bench.lose().0, partitions(&["t-1"]));
}

#[test]
fn a_change_that_nobody_took_is_not_acknowledged() {
    let mut bench = bench(false, &[]);
    let actions = bench.subscribe(&["t"]);
    join(&mut bench, &actions, 1, &["t-0"]);
    bench.acknowledge();
    assert_eq!(bench.take_up().1, partitions(&["t-0"]));
}

#[test]
fn an_answer_that_nobody_waits_for_changes_nothing() {
    let mut bench = member(false, &[], &["t-0"]);
    let late = beating(&bench.next().1);
    bench.trouble(ErrorCode::RebalanceInProgress);
    let (ticket, _, _) = joining(&bench.revoke().1);
    assert!(bench.answer(late, beat(ErrorCode::UnknownMemberId)).is_empty());
    assert!(bench.answer(ticket + 100, joined(9)).is_empty());
    assert!(bench.answer(ticket, synced(&["t-9"])).is_empty(), "an answer of another kind");
    syncing(&bench.answer(ticket, joined(2)));
}

#[test]
fn a_group_of_another_kind_is_refused() {
    for (protocol_type, protocol_name) in [("connect", Some("range")), ("consumer", None)] {
        let mut bench = bench(false, &[]);
        let (ticket, _, _) = joining(&bench.subscribe(&["t"]));
        let Answer::Join(response) = joined(1) else { unreachable!() };
        bench.answer(
            ticket,
            Answer::Join(JoinGroupResponse {
                protocol_type: Some(protocol_type.to_owned()),
                protocol_name: protocol_name.map(str::to_owned),
                ..response
            }),
        );
        assert_eq!(bench.failed().0.code(), Some(ErrorCode::InconsistentGroupProtocol));
    }
    let mut bench = bench(false, &[]);
    let (ticket, _, _) = joining(&bench.subscribe(&["t"]));
    let (ticket, _) = syncing(&bench.answer(ticket, joined(1)));
    let garbage = SyncGroupResponse { assignment: vec![0, 0, 0xff].into(), ..Default::default() };
    bench.answer(ticket, Answer::Sync(garbage));
    assert_eq!(bench.failed().0.kind(), Kind::Protocol);
}

#[test]
fn settings_are_checked() {
    let refused = |pairs: &[(&str, &str)]| {
        let config = support::config("localhost:1", pairs);
        ottla_client::consumer::group::GroupSettings::try_from(&config).expect_err("refused")
    };
    assert!(refused(&[]).message().contains("group.id"));
    let error = refused(&[("group.id", "g"), ("session.timeout.ms", "3000")]);
    assert!(error.message().contains("heartbeat.interval.ms (3000)"), "{error}");
    assert_eq!(names(&["t"]).names.len(), 1);
}
