//! Proves: each error code is a transition of a member of a KIP-848 group; it leaves when it is asked
//! to and when its application does not poll, and comes back. The clock is the test's.

use ottla_client::Kind;
use ottla_client::consumer::group::{Action, GroupResponse, MembershipManager};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::ConsumerGroupHeartbeatResponse;

use crate::support::heartbeats::*;
use crate::support::member::*;
use crate::support::ms;

/// What a member does about a code in a heartbeat's answer.
#[test]
fn every_refusal_of_a_heartbeat_is_a_transition() {
    use ErrorCode as E;
    for code in
        [E::CoordinatorNotAvailable, E::NotCoordinator, E::CoordinatorLoadInProgress, E::RequestTimedOut]
    {
        let mut bench = member(&STATIC);
        let (_, actions) = hear(&mut bench, refused(code));
        let elsewhere = matches!(code, E::CoordinatorNotAvailable | E::NotCoordinator);
        assert_eq!(looks_for_coordinator(&actions), elsewhere, "{code:?}");
        assert!(bench.look().is_none(), "nothing is given up for that");
        let (waited, actions) = bench.next();
        assert!(waited >= ms(8) && waited < ms(100), "{code:?}: {waited:?}");
        assert_eq!(beating(&actions).1.topic_partitions, owned(&[(1, &[0, 1])]));
        assert!(!looks_for_coordinator(&actions));
    }
    for code in [E::FencedMemberEpoch, E::UnknownMemberId] {
        let mut bench = member(&STATIC);
        let id = bench.member.group_metadata().member_id;
        let (_, actions) = hear(&mut bench, refused(code));
        assert!(actions.is_empty(), "the application has to let go first");
        assert_eq!(bench.member.group_metadata().generation, -1);
        let (gone, actions) = bench.lose();
        assert_eq!(gone, partitions(&["t-0", "t-1"]));
        let (request_id, request) = beating(&actions);
        assert_eq!((request.member_epoch, &*request.member_id), (0, &*id));
        assert_eq!(request.topic_partitions, Some(vec![]));
        bench.answer(request_id, fine(7, Some(&[(1, &[0, 1])])));
        learn(&mut bench);
        assert_eq!(bench.take_up().1, partitions(&["t-0", "t-1"]));
    }
    for (code, kind, words) in [
        (E::GroupAuthorizationFailed, Kind::Authorization, "READ"),
        (E::TopicAuthorizationFailed, Kind::Authorization, "group g"),
        (E::GroupMaxSizeReached, Kind::Broker, "group.max.size"),
        (E::UnreleasedInstanceId, Kind::Broker, "group.instance.id=i"),
        (E::UnknownServerError, Kind::Broker, "group g"),
    ] {
        let mut bench = member(&STATIC);
        assert!(hear(&mut bench, refused(code)).1.is_empty());
        assert_eq!(bench.lose().0, partitions(&["t-0", "t-1"]));
        let (error, _) = bench.failed();
        assert_eq!((error.kind(), error.code()), (kind, Some(code)));
        assert!(error.message().contains(words) && error.message().contains("(says why)"), "{error}");
        assert!(bench.after(100_000).is_empty(), "not by itself");
        assert_eq!(beating(&bench.polled()).1.member_epoch, 0, "with the next poll");
    }
    for (code, kind, words) in [
        (E::FencedInstanceId, Kind::Fenced, "group.instance.id=i"),
        (E::UnsupportedAssignor, Kind::Broker, "group.remote.assignor="),
        (E::InvalidRegularExpression, Kind::Broker, "pattern"),
        (E::UnsupportedVersion, Kind::Broker, "set group.protocol=classic"),
        (E::InvalidRequest, Kind::Broker, "group g"),
    ] {
        let mut bench = member(&STATIC);
        hear(&mut bench, refused(code));
        bench.lose();
        for _ in 0..3 {
            let (error, _) = bench.failed();
            assert_eq!((error.kind(), error.code()), (kind, Some(code)));
            assert!(error.message().contains(words), "{error}");
            assert!(bench.polled().is_empty(), "each poll says it again");
        }
        assert_eq!(beating(&bench.subscribe(&["t"])).1.member_epoch, 0);
    }
}

/// What a member does about a code in a commit's answer.
#[test]
fn every_refusal_of_a_commit_is_a_transition() {
    use ErrorCode as E;
    let mut bench = member(&[]);
    let (_, delta) = beating(&bench.report_error(E::StaleMemberEpoch));
    assert_eq!((delta.member_epoch, delta.topic_partitions), (1, None), "its answer brings the epoch");

    for code in [E::CoordinatorNotAvailable, E::NotCoordinator] {
        assert_eq!(member(&[]).report_error(code), [Action::FindCoordinator]);
    }
    assert!(member(&[]).report_error(E::CoordinatorLoadInProgress).is_empty());

    for code in [E::FencedMemberEpoch, E::UnknownMemberId] {
        let mut bench = member(&[]);
        let before = bench.member.group_metadata();
        hear(&mut bench, fine(2, None));
        assert!(
            bench.report_error_as(&before, code).is_empty() && bench.look().is_none(),
            "not of this epoch"
        );
        bench.report_error(code);
        bench.lose();
    }
    let mut bench = member(&STATIC);
    bench.report_error(E::FencedInstanceId);
    bench.lose();
    assert_eq!(bench.failed().0.kind(), Kind::Fenced);
}

#[test]
fn a_coordinator_that_fences_all_the_time_is_not_asked_without_a_pause() {
    let mut bench = bench(&[]);
    let mut actions = bench.subscribe(&["t"]);
    for _ in 0..20 {
        if actions.is_empty() {
            actions = bench.next().1;
        }
        let (request_id, _) = beating(&actions);
        actions = bench.answer(request_id, refused(ErrorCode::FencedMemberEpoch));
    }
    assert!(bench.elapsed() > ms(5_000), "{:?}", bench.elapsed());
}

#[test]
fn who_does_not_poll_leaves_and_comes_back_with_the_next_poll() {
    for (pairs, epoch) in [(&[][..], -1), (&STATIC, -2)] {
        let mut bench = member(pairs);
        let mut beats = 0;
        let last = loop {
            let (_, actions) = bench.next();
            let (request_id, request) = beating(&actions);
            if request.member_epoch < 0 {
                break request;
            }
            beats += 1;
            bench.answer(request_id, fine(1, None));
        };
        assert_eq!((bench.elapsed(), beats, last.member_epoch), (ms(60_000), 11, epoch));
        let why = bench.member.core().leave_reason.clone().expect("a reason");
        assert!(why.contains("max.poll.interval.ms (60000 ms)"), "{why}");
        assert!(bench.after(600_000).is_empty());
        bench.polled();
        let (gone, actions) = bench.lose();
        assert_eq!(gone, partitions(&["t-0", "t-1"]));
        let (request_id, request) = beating(&actions);
        assert_eq!(request.member_epoch, 0);
        bench.answer(request_id, fine(9, Some(&[])));
        assert!(bench.member.core().leave_reason.is_none());
    }
}

#[test]
fn leaving_waits_until_everything_is_given_up() {
    for (pairs, epoch) in [(&[][..], -1), (&STATIC, -2)] {
        let mut bench = member(pairs);
        bench.member.unsubscribe(bench.now);
        assert!(bench.poll().is_empty());
        assert_eq!(hear(&mut bench, fine(1, None)).0.member_epoch, 1, "still alive");
        let (gone, actions) = bench.revoke();
        assert_eq!(gone, partitions(&["t-0", "t-1"]));
        let (request_id, last) = beating(&actions);
        assert_eq!((last.member_epoch, last.instance_id.is_some()), (epoch, epoch == -2));
        assert!(bench.answer(request_id, fine(epoch, None)).is_empty());
        assert!(bench.member.is_idle() && bench.member.next_due().is_none());
    }
}

/// Regression: while a member waited for its application to give everything up, the epoch that a
/// heartbeat's answer brought was ignored. The next heartbeat named the epoch before, so that the
/// coordinator fenced a member whose application was still working, and refused its last commit.
#[test]
fn who_leaves_takes_a_new_epoch_and_no_partitions() {
    let mut bench = member(&[]);
    bench.member.unsubscribe(bench.now);
    assert!(bench.poll().is_empty());
    // Another member has gone, and this one is to have all.
    hear(&mut bench, fine(2, Some(&[(1, &[0, 1, 2, 3])])));
    learn(&mut bench);
    assert_eq!(bench.member.group_metadata().generation, 2, "for what the application commits");
    assert_eq!(hear(&mut bench, fine(2, None)).0.member_epoch, 2);
    let (gone, actions) = bench.revoke();
    assert_eq!(gone, partitions(&["t-0", "t-1"]), "nothing new is taken up");
    let (request_id, last) = beating(&actions);
    assert_eq!(last.member_epoch, -1);
    assert!(bench.answer(request_id, fine(-1, None)).is_empty());
    assert!(bench.member.is_idle());

    // The goodbye is on its way: what comes late is nobody's.
    let mut bench = member(&[]);
    let (request_id, _) = beating(&bench.next().1);
    bench.member.unsubscribe(bench.now);
    bench.revoke();
    bench.answer(request_id, fine(2, None));
    assert_eq!(bench.member.group_metadata().generation, 1);
}

#[test]
fn leaving_now_waits_for_nobody_and_tries_again() {
    let mut bench = member(&[]);
    bench.member.leave(bench.now);
    let (request_id, _) = beating(&bench.poll());
    assert_eq!(bench.answer(request_id, refused(ErrorCode::NotCoordinator)), [Action::FindCoordinator]);
    let (request_id, last) = beating(&bench.next().1);
    assert_eq!(last.member_epoch, -1);
    assert!(bench.answer(request_id, refused(ErrorCode::UnknownMemberId)).is_empty());
    assert!(bench.member.is_idle());

    let mut bench = self::bench(&[]);
    let (_, _) = beating(&bench.subscribe(&["t"]));
    bench.member.leave(bench.now);
    assert_eq!(beating(&bench.poll()).1.member_epoch, -1, "it may be in the group without knowing");
}

#[test]
fn a_member_that_is_thrown_out_while_it_leaves_has_lost_what_it_had() {
    let mut bench = member(&[]);
    bench.member.unsubscribe(bench.now);
    bench.poll();
    hear(&mut bench, refused(ErrorCode::UnknownMemberId));
    bench.lose();
    assert!(!bench.member.is_idle(), "it says goodbye all the same");

    let mut bench = member(&[]);
    bench.member.unsubscribe(bench.now);
    bench.poll();
    assert!(bench.subscribe(&["u"]).is_empty());
    let (request_id, _) = beating(&bench.revoke().1);
    let (_, request) = beating(&bench.answer(request_id, fine(-1, None)));
    assert_eq!(request.subscribed_topic_names, Some(vec!["u".to_owned()]), "it joins anew");
}

#[test]
fn an_absurd_interval_is_no_storm() {
    let mut bench = bench(&[]);
    let (request_id, _) = beating(&bench.subscribe(&["t"]));
    let GroupResponse::ConsumerHeartbeat(answer) = fine(1, Some(&[])) else { unreachable!() };
    let absurd = ConsumerGroupHeartbeatResponse { heartbeat_interval_ms: -5, ..answer };
    bench.answer(request_id, GroupResponse::ConsumerHeartbeat(absurd));
    bench.take_up();
    assert!(bench.next().0 >= ms(10));
}

#[test]
fn who_does_not_give_up_what_it_leaves_has_lost_it() {
    let mut bench = member(&[]);
    bench.member.unsubscribe(bench.now);
    bench.poll();
    let last = loop {
        let (_, actions) = bench.next();
        let (request_id, request) = beating(&actions);
        if request.member_epoch < 0 {
            break request;
        }
        bench.answer(request_id, fine(1, None));
    };
    assert_eq!((bench.elapsed(), last.member_epoch), (ms(60_000), -1), "others wait for it");
    assert_eq!(bench.lose().0, partitions(&["t-0", "t-1"]));
    assert!(bench.member.is_idle());
}
