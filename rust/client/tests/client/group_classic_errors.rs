//! Proves: each error code, and each silence, is a transition of a member of a classic group. The clock
//! is the test's.

use ottla_client::Kind;
use ottla_client::consumer::group::classic::Classic;
use ottla_client::consumer::group::{Action, Answer, Machine};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::join_group::JoinGroupResponse;
use ottla_protocol::messages::sync_group::SyncGroupResponse;

use crate::support::classic::*;
use crate::support::member::*;
use crate::support::ms;

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
        (E::InvalidGroupId, "group id is invalid"),
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
