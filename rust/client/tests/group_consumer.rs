//! Proves: a member of a KIP-848 group sends what has changed, and everything when the coordinator may
//! know something else; gets from what it has to what it was given one step at a time; and each error
//! code is a transition. The clock is the test's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

#[path = "support/member.rs"]
mod member_bench;
mod support;

use ottla_client::Kind;
use ottla_client::consumer::group::consumer_protocol::ConsumerProtocol;
use ottla_client::consumer::group::{Action, Answer, Ask, Machine, Topics};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::{
    Assignment, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions, TopicPartitions,
};
use tokio::time::Instant;

use member_bench::{Bench, fixed, id, looks_for_coordinator, metadata, names, partitions, sent, settings};
use support::ms;

const STATIC: [(&str, &str); 1] = [("group.instance.id", "i")];
/// What the coordinator wants heartbeats to be apart.
const INTERVAL: u64 = 5_000;

fn bench(pairs: &[(&str, &str)]) -> Bench<ConsumerProtocol> {
    let all: Vec<_> = [("group.protocol", "consumer")].iter().chain(pairs).copied().collect();
    let now = Instant::now();
    Bench::of(ConsumerProtocol::new(settings(&all), fixed(), now), now)
}

/// The metadata comes.
fn learn(bench: &mut Bench<ConsumerProtocol>) -> Vec<Action> {
    bench.member.metadata(bench.now, &metadata(&[("t", 4), ("u", 4)]));
    bench.poll()
}

fn beating(actions: &[Action]) -> (u64, ConsumerGroupHeartbeatRequest) {
    match sent(actions) {
        (ticket, Ask::ConsumerHeartbeat(request)) => (ticket, request),
        other => panic!("no ConsumerGroupHeartbeat: {other:?}"),
    }
}

type Given<'a> = &'a [(u8, &'a [i32])];

/// An answer that says that all is well.
fn fine(epoch: i32, given: Option<Given<'_>>) -> Answer {
    let topics = |given: Given<'_>| Assignment {
        topic_partitions: given
            .iter()
            .map(|(topic, partitions)| ConsumerGroupHeartbeatTopicPartitions {
                topic_id: id(*topic),
                partitions: partitions.to_vec(),
            })
            .collect(),
    };
    Answer::ConsumerHeartbeat(ConsumerGroupHeartbeatResponse {
        member_epoch: epoch,
        heartbeat_interval_ms: i32::try_from(INTERVAL).unwrap(),
        assignment: given.map(topics),
        ..Default::default()
    })
}

fn refused(code: ErrorCode) -> Answer {
    Answer::ConsumerHeartbeat(ConsumerGroupHeartbeatResponse {
        error_code: code.code(),
        error_message: Some("says why".to_owned()),
        ..Default::default()
    })
}

fn owned(given: Given<'_>) -> Option<Vec<TopicPartitions>> {
    let topic = |(topic, partitions): &(u8, &[i32])| TopicPartitions {
        topic_id: id(*topic),
        partitions: partitions.to_vec(),
    };
    Some(given.iter().map(topic).collect())
}

/// Has the next heartbeat answered, and gives the request and what is to be done then.
fn hear(bench: &mut Bench<ConsumerProtocol>, answer: Answer) -> (ConsumerGroupHeartbeatRequest, Vec<Action>) {
    let (_, actions) = bench.next();
    let (ticket, request) = beating(&actions);
    (request, bench.answer(ticket, answer))
}

/// A member of epoch 1 that has t-0 and t-1, and has said so.
fn member(pairs: &[(&str, &str)]) -> Bench<ConsumerProtocol> {
    let mut bench = bench(pairs);
    let (ticket, _) = beating(&bench.subscribe(&["t"]));
    bench.answer(ticket, fine(1, Some(&[(1, &[0, 1])])));
    learn(&mut bench);
    let (added, all, actions) = bench.take_up();
    assert_eq!((added, all), (partitions(&["t-0", "t-1"]), partitions(&["t-0", "t-1"])));
    let (ticket, request) = beating(&actions);
    assert_eq!(request.topic_partitions, owned(&[(1, &[0, 1])]), "at once");
    assert!(bench.answer(ticket, fine(1, None)).is_empty());
    bench
}

#[test]
fn it_joins_with_everything_and_goes_on_with_what_has_changed() {
    let mut bench =
        bench(&[("client.rack", "a"), ("group.remote.assignor", "uniform"), ("group.instance.id", "i")]);
    let (ticket, request) = beating(&bench.subscribe(&["u", "t"]));
    assert_eq!((request.member_epoch, request.member_id.len()), (0, 22), "an id of its own choice");
    assert_eq!((request.rebalance_timeout_ms, request.rack_id.as_deref()), (60_000, Some("a")));
    assert_eq!(request.subscribed_topic_names, Some(vec!["t".to_owned(), "u".to_owned()]));
    assert_eq!(
        (request.server_assignor.as_deref(), request.instance_id.as_deref()),
        (Some("uniform"), Some("i"))
    );
    assert_eq!(request.topic_partitions, Some(vec![]), "who joins has nothing");
    assert!(request.subscribed_topic_regex.is_none());
    assert!(bench.after(INTERVAL - 1).is_empty(), "one at a time");

    assert!(bench.answer(ticket, fine(3, Some(&[]))).is_empty());
    assert_eq!(bench.member.member().generation, 3);
    let (_, all, _) = bench.take_up();
    assert!(all.is_empty(), "nothing, but that is news");

    let (delta, actions) = hear(&mut bench, fine(4, None));
    assert_eq!((delta.member_epoch, delta.rebalance_timeout_ms), (3, -1));
    let rest = (delta.subscribed_topic_names, delta.rack_id, delta.server_assignor, delta.topic_partitions);
    assert_eq!(rest, (None, None, None, None));
    assert!(actions.is_empty() && bench.look().is_none());
    let (waited, actions) = bench.next();
    assert_eq!(waited, ms(INTERVAL));
    assert_eq!(beating(&actions).1.member_epoch, 4);
}

#[test]
fn partitions_are_given_up_before_others_are_taken() {
    let mut bench = member(&[]);
    let (_, actions) = hear(&mut bench, fine(2, Some(&[(1, &[1, 2])])));
    assert!(actions.is_empty());
    // The application takes its time; the heartbeats do not wait, and say what it still has.
    let (delta, _) = hear(&mut bench, fine(2, None));
    assert_eq!((delta.member_epoch, delta.topic_partitions), (2, None));
    let (gone, actions) = bench.revoke();
    assert_eq!(gone, partitions(&["t-0"]));
    let (ticket, request) = beating(&actions);
    assert_eq!(request.topic_partitions, owned(&[(1, &[1])]), "the coordinator waits for that");
    let (added, all, actions) = bench.take_up();
    assert_eq!((added, all), (partitions(&["t-2"]), partitions(&["t-1", "t-2"])));
    assert!(actions.is_empty(), "one at a time");
    let (ticket, request) = beating(&bench.answer(ticket, fine(3, None)));
    assert_eq!((request.member_epoch, request.topic_partitions), (3, owned(&[(1, &[1, 2])])));
    assert!(bench.answer(ticket, fine(3, None)).is_empty());
    assert_eq!(bench.next().0, ms(INTERVAL));
}

#[test]
fn what_is_wanted_by_then_counts_when_the_application_is_slow() {
    let mut bench = member(&[]);
    hear(&mut bench, fine(2, Some(&[(1, &[1])])));
    hear(&mut bench, fine(2, Some(&[(1, &[0, 1, 3])])));
    let (gone, _) = bench.revoke();
    assert_eq!(gone, partitions(&["t-0"]), "it lies on the desk already");
    let (added, all, _) = bench.take_up();
    assert_eq!((added, all), (partitions(&["t-0", "t-3"]), partitions(&["t-0", "t-1", "t-3"])));
}

#[test]
fn the_same_assignment_again_is_no_news() {
    let mut bench = member(&[]);
    for _ in 0..3 {
        let (_, actions) = hear(&mut bench, fine(1, Some(&[(1, &[0, 1])])));
        assert!(actions.is_empty() && bench.look().is_none());
    }
}

/// An answer that was lost may have brought another epoch: only who names what it owns is believed then.
#[test]
fn after_a_lost_answer_everything_is_said_again_and_nothing_given_up() {
    let mut bench = member(&[]);
    for _ in 0..4 {
        let (_, actions) = bench.next();
        let (ticket, _) = beating(&actions);
        assert_eq!(bench.lost(ticket), [Action::FindCoordinator]);
        let (waited, actions) = bench.next();
        let (ticket, full) = beating(&actions);
        assert!(waited >= ms(8) && waited <= ms(200), "{waited:?}");
        assert_eq!((full.member_epoch, full.rebalance_timeout_ms), (1, 60_000));
        assert_eq!(full.subscribed_topic_names, Some(vec!["t".to_owned()]));
        assert_eq!(full.topic_partitions, owned(&[(1, &[0, 1])]));
        assert!(bench.answer(ticket, fine(1, Some(&[(1, &[0, 1])]))).is_empty());
        assert!(bench.look().is_none(), "it is as it was");
    }
    let (delta, _) = hear(&mut bench, fine(1, None));
    assert_eq!((delta.subscribed_topic_names, delta.topic_partitions), (None, None));

    // What is being given up is still owned, and reported.
    hear(&mut bench, fine(2, Some(&[(1, &[1])])));
    let (_, actions) = bench.next();
    let (ticket, _) = beating(&actions);
    bench.lost(ticket);
    let (full, _) = hear(&mut bench, fine(2, None));
    assert_eq!(full.topic_partitions, owned(&[(1, &[0, 1])]));
}

#[test]
fn a_join_whose_answer_was_lost_is_tried_again_from_nothing() {
    let mut bench = bench(&[]);
    let (ticket, first) = beating(&bench.subscribe(&["t"]));
    bench.lost(ticket);
    let (again, _) = hear(&mut bench, fine(1, Some(&[])));
    assert_eq!((again.member_epoch, &again.member_id), (0, &first.member_id), "as the same member");
    assert_eq!(again.topic_partitions, Some(vec![]));
}

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
        let id = bench.member.member().member_id;
        let (_, actions) = hear(&mut bench, refused(code));
        assert!(actions.is_empty(), "the application has to let go first");
        assert_eq!(bench.member.member().generation, -1);
        let (gone, actions) = bench.lose();
        assert_eq!(gone, partitions(&["t-0", "t-1"]));
        let (ticket, request) = beating(&actions);
        assert_eq!((request.member_epoch, &*request.member_id), (0, &*id));
        assert_eq!(request.topic_partitions, Some(vec![]));
        bench.answer(ticket, fine(7, Some(&[(1, &[0, 1])])));
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
    let (_, delta) = beating(&bench.trouble(E::StaleMemberEpoch));
    assert_eq!((delta.member_epoch, delta.topic_partitions), (1, None), "its answer brings the epoch");

    for code in [E::CoordinatorNotAvailable, E::NotCoordinator] {
        assert_eq!(member(&[]).trouble(code), [Action::FindCoordinator]);
    }
    assert!(member(&[]).trouble(E::CoordinatorLoadInProgress).is_empty());

    for code in [E::FencedMemberEpoch, E::UnknownMemberId] {
        let mut bench = member(&[]);
        let before = bench.member.member();
        hear(&mut bench, fine(2, None));
        assert!(bench.trouble_of(&before, code).is_empty() && bench.look().is_none(), "not of this epoch");
        bench.trouble(code);
        bench.lose();
    }
    let mut bench = member(&STATIC);
    bench.trouble(E::FencedInstanceId);
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
        let (ticket, _) = beating(&actions);
        actions = bench.answer(ticket, refused(ErrorCode::FencedMemberEpoch));
    }
    assert!(bench.elapsed() > ms(5_000), "{:?}", bench.elapsed());
}

#[test]
fn a_topic_that_metadata_does_not_know_yet_is_waited_for() {
    let mut bench = bench(&[]);
    let (ticket, _) = beating(&bench.subscribe(&["t"]));
    let actions = bench.answer(ticket, fine(1, Some(&[(1, &[0]), (9, &[0])])));
    assert_eq!(actions, [Action::Resolve(vec![id(1), id(9)])]);
    assert!(bench.look().is_none());
    let (waited, actions) = bench.next();
    assert_eq!(actions, [Action::Resolve(vec![id(1), id(9)])], "again, after a pause");
    assert!(waited >= ms(8));
    bench.member.metadata(bench.now, &metadata(&[("t", 1)]));
    bench.poll();
    let (added, all, _) = bench.take_up();
    assert_eq!((added, all), (partitions(&["t-0"]), partitions(&["t-0"])), "what is known already");
    let late: Vec<(String, i32)> = (1..=9).map(|n| (format!("t{n}"), 1)).collect();
    let late: Vec<(&str, i32)> = late.iter().map(|(name, n)| (&**name, *n)).collect();
    bench.member.metadata(bench.now, &metadata(&late));
    bench.poll();
    let (added, all, _) = bench.take_up();
    assert_eq!((added, all), (partitions(&["t9-0"]), partitions(&["t-0", "t9-0"])));
    assert_eq!(bench.member.topics(), ["t".into(), "t9".into()]);
}

#[test]
fn a_topic_that_was_made_again_is_another_one() {
    let mut bench = member(&[]);
    hear(&mut bench, fine(2, Some(&[(2, &[0])])));
    let (gone, _) = bench.revoke();
    assert_eq!(gone, partitions(&["t-0", "t-1"]));
    let again = metadata(&[("old", 1), ("t", 1)]);
    bench.member.metadata(bench.now, &again);
    bench.poll();
    assert_eq!(bench.take_up().0, partitions(&["t-0"]));
}

#[test]
fn another_subscription_is_said_at_once() {
    let mut bench = member(&[]);
    assert!(bench.subscribe(&["t"]).is_empty(), "the same one is not");
    let (ticket, delta) = beating(&bench.subscribe(&["t", "u"]));
    assert_eq!(delta.subscribed_topic_names, Some(vec!["t".to_owned(), "u".to_owned()]));
    assert_eq!((delta.subscribed_topic_regex, delta.topic_partitions), (None, None));
    bench.answer(ticket, fine(2, None));

    let pattern = Topics { regex: Some("t.*".to_owned()), ..Topics::default() };
    bench.member.subscribe(bench.now, pattern);
    let (ticket, delta) = beating(&bench.poll());
    assert_eq!(
        (delta.subscribed_topic_names, delta.subscribed_topic_regex.as_deref()),
        (Some(vec![]), Some("t.*"))
    );
    bench.answer(ticket, fine(3, None));
    let (_, delta) = beating(&bench.subscribe(&["t"]));
    assert_eq!(delta.subscribed_topic_regex.as_deref(), Some(""), "no pattern any more");
}

#[test]
fn who_does_not_poll_leaves_and_comes_back_with_the_next_poll() {
    for (pairs, epoch) in [(&[][..], -1), (&STATIC, -2)] {
        let mut bench = member(pairs);
        let mut beats = 0;
        let last = loop {
            let (_, actions) = bench.next();
            let (ticket, request) = beating(&actions);
            if request.member_epoch < 0 {
                break request;
            }
            beats += 1;
            bench.answer(ticket, fine(1, None));
        };
        assert_eq!((bench.elapsed(), beats, last.member_epoch), (ms(60_000), 11, epoch));
        let why = bench.member.core().why_left.clone().expect("a reason");
        assert!(why.contains("max.poll.interval.ms (60000 ms)"), "{why}");
        assert!(bench.after(600_000).is_empty());
        bench.polled();
        let (gone, actions) = bench.lose();
        assert_eq!(gone, partitions(&["t-0", "t-1"]));
        let (ticket, request) = beating(&actions);
        assert_eq!(request.member_epoch, 0);
        bench.answer(ticket, fine(9, Some(&[])));
        assert!(bench.member.core().why_left.is_none());
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
        let (ticket, last) = beating(&actions);
        assert_eq!((last.member_epoch, last.instance_id.is_some()), (epoch, epoch == -2));
        assert!(bench.answer(ticket, fine(epoch, None)).is_empty());
        assert!(bench.member.is_idle() && bench.member.next().is_none());
    }
}

#[test]
fn leaving_now_waits_for_nobody_and_tries_again() {
    let mut bench = member(&[]);
    bench.member.leave(bench.now);
    let (ticket, _) = beating(&bench.poll());
    assert_eq!(bench.answer(ticket, refused(ErrorCode::NotCoordinator)), [Action::FindCoordinator]);
    let (ticket, last) = beating(&bench.next().1);
    assert_eq!(last.member_epoch, -1);
    assert!(bench.answer(ticket, refused(ErrorCode::UnknownMemberId)).is_empty());
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
    let (ticket, _) = beating(&bench.revoke().1);
    let (_, request) = beating(&bench.answer(ticket, fine(-1, None)));
    assert_eq!(request.subscribed_topic_names, Some(vec!["u".to_owned()]), "it joins anew");
}

#[test]
fn an_absurd_interval_is_no_storm() {
    let mut bench = bench(&[]);
    let (ticket, _) = beating(&bench.subscribe(&["t"]));
    let Answer::ConsumerHeartbeat(answer) = fine(1, Some(&[])) else { unreachable!() };
    let absurd = ConsumerGroupHeartbeatResponse { heartbeat_interval_ms: -5, ..answer };
    bench.answer(ticket, Answer::ConsumerHeartbeat(absurd));
    bench.take_up();
    assert!(bench.next().0 >= ms(10));
    assert_eq!(names(&[]), Topics::default());
}
