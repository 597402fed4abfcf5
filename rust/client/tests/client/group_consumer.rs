//! Proves: a member of a KIP-848 group sends what has changed, and everything when the coordinator may
//! know something else, and gets from what it has to what it was given one step at a time. The clock
//! is the test's.

use ottla_client::consumer::group::{Action, MembershipManager, SubscribedTopics};

use crate::support::heartbeats::*;
use crate::support::member::*;
use crate::support::ms;

#[test]
fn it_joins_with_everything_and_goes_on_with_what_has_changed() {
    let mut bench =
        bench(&[("client.rack", "a"), ("group.remote.assignor", "uniform"), ("group.instance.id", "i")]);
    let (request_id, request) = beating(&bench.subscribe(&["u", "t"]));
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

    assert!(bench.answer(request_id, fine(3, Some(&[]))).is_empty());
    assert_eq!(bench.member.group_metadata().generation, 3);
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
    let (request_id, request) = beating(&actions);
    assert_eq!(request.topic_partitions, owned(&[(1, &[1])]), "the coordinator waits for that");
    let (added, all, actions) = bench.take_up();
    assert_eq!((added, all), (partitions(&["t-2"]), partitions(&["t-1", "t-2"])));
    assert!(actions.is_empty(), "one at a time");
    let (request_id, request) = beating(&bench.answer(request_id, fine(3, None)));
    assert_eq!((request.member_epoch, request.topic_partitions), (3, owned(&[(1, &[1, 2])])));
    assert!(bench.answer(request_id, fine(3, None)).is_empty());
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

/// The coordinator gives t-2 to nobody else before it has heard that this member is done with it.
#[test]
fn an_assignment_that_was_changed_back_before_the_application_looked_is_answered() {
    for looks_between in [false, true] {
        let mut bench = member(&[]);
        let (_, actions) = hear(&mut bench, fine(2, Some(&[(1, &[0, 1, 2])])));
        assert!(actions.is_empty(), "the application takes it up first");
        let (delta, actions) = hear(&mut bench, fine(2, Some(&[(1, &[0, 1])])));
        assert_eq!(delta.topic_partitions, None);
        assert!(actions.is_empty(), "the application has not looked yet");
        // It takes t-2 up and gives it up again at once, or gets there in two steps.
        let (request_id, request) = if looks_between {
            let (_, _, actions) = bench.take_up();
            let (request_id, request) = beating(&actions);
            assert_eq!(request.topic_partitions, owned(&[(1, &[0, 1, 2])]));
            bench.revoke();
            beating(&bench.answer(request_id, fine(2, None)))
        } else {
            for _ in 0..2 {
                bench.look().expect("a change");
                bench.member.complete_event(bench.now);
            }
            beating(&bench.poll())
        };
        assert_eq!(request.topic_partitions, owned(&[(1, &[0, 1])]), "at once");
        assert!(bench.answer(request_id, fine(3, None)).is_empty(), "once");
        let (delta, _) = hear(&mut bench, fine(3, None));
        assert_eq!(delta.topic_partitions, None);
    }
}

/// The application would read on what the coordinator gives to somebody else.
#[test]
fn a_topic_that_was_taken_away_before_the_application_looked_is_given_up_by_name() {
    let mut bench = member(&[]);
    hear(&mut bench, fine(2, Some(&[])));
    let (_, actions) = bench.revoke();
    bench.answer(beating(&actions).0, fine(2, None));
    hear(&mut bench, fine(3, Some(&[(1, &[0])])));
    learn(&mut bench);
    hear(&mut bench, fine(3, Some(&[])));
    let (added, ..) = bench.take_up();
    assert_eq!(added, partitions(&["t-0"]), "it lies on the desk already");
    let (gone, _) = bench.revoke();
    assert_eq!(gone, partitions(&["t-0"]));
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
        let (request_id, _) = beating(&actions);
        assert_eq!(bench.lost(request_id), [Action::FindCoordinator]);
        let (waited, actions) = bench.next();
        let (request_id, full) = beating(&actions);
        assert!(waited >= ms(8) && waited <= ms(200), "{waited:?}");
        assert_eq!((full.member_epoch, full.rebalance_timeout_ms), (1, 60_000));
        assert_eq!(full.subscribed_topic_names, Some(vec!["t".to_owned()]));
        assert_eq!(full.topic_partitions, owned(&[(1, &[0, 1])]));
        assert!(bench.answer(request_id, fine(1, Some(&[(1, &[0, 1])]))).is_empty());
        assert!(bench.look().is_none(), "it is as it was");
    }
    let (delta, _) = hear(&mut bench, fine(1, None));
    assert_eq!((delta.subscribed_topic_names, delta.topic_partitions), (None, None));

    // What is being given up is still owned, and reported.
    hear(&mut bench, fine(2, Some(&[(1, &[1])])));
    let (_, actions) = bench.next();
    let (request_id, _) = beating(&actions);
    bench.lost(request_id);
    let (full, _) = hear(&mut bench, fine(2, None));
    assert_eq!(full.topic_partitions, owned(&[(1, &[0, 1])]));
}

#[test]
fn a_join_whose_answer_was_lost_is_tried_again_from_nothing() {
    let mut bench = bench(&[]);
    let (request_id, first) = beating(&bench.subscribe(&["t"]));
    bench.lost(request_id);
    let (again, _) = hear(&mut bench, fine(1, Some(&[])));
    assert_eq!((again.member_epoch, &again.member_id), (0, &first.member_id), "as the same member");
    assert_eq!(again.topic_partitions, Some(vec![]));
}

#[test]
fn a_topic_that_metadata_does_not_know_yet_is_waited_for() {
    let mut bench = bench(&[]);
    let (request_id, _) = beating(&bench.subscribe(&["t"]));
    let actions = bench.answer(request_id, fine(1, Some(&[(1, &[0]), (9, &[0])])));
    assert_eq!(actions, [Action::Resolve(vec![id(1), id(9)])]);
    assert!(bench.look().is_none());
    let (waited, actions) = bench.next();
    assert_eq!(actions, [Action::Resolve(vec![id(1), id(9)])], "again, after a pause");
    assert!(waited >= ms(8));
    bench.member.update_metadata(bench.now, &metadata(&[("t", 1)]));
    bench.poll();
    let (added, all, _) = bench.take_up();
    assert_eq!((added, all), (partitions(&["t-0"]), partitions(&["t-0"])), "what is known already");
    let late: Vec<(String, i32)> = (1..=9).map(|n| (format!("t{n}"), 1)).collect();
    let late: Vec<(&str, i32)> = late.iter().map(|(name, n)| (&**name, *n)).collect();
    bench.member.update_metadata(bench.now, &metadata(&late));
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
    bench.member.update_metadata(bench.now, &again);
    bench.poll();
    assert_eq!(bench.take_up().0, partitions(&["t-0"]));
}

#[test]
fn another_subscription_is_said_at_once() {
    let mut bench = member(&[]);
    assert!(bench.subscribe(&["t"]).is_empty(), "the same one is not");
    let (request_id, delta) = beating(&bench.subscribe(&["t", "u"]));
    assert_eq!(delta.subscribed_topic_names, Some(vec!["t".to_owned(), "u".to_owned()]));
    assert_eq!((delta.subscribed_topic_regex, delta.topic_partitions), (None, None));
    bench.answer(request_id, fine(2, None));

    let pattern = SubscribedTopics { regex: Some("t.*".to_owned()), ..SubscribedTopics::default() };
    bench.member.subscribe(bench.now, pattern);
    let (request_id, delta) = beating(&bench.poll());
    assert_eq!(
        (delta.subscribed_topic_names, delta.subscribed_topic_regex.as_deref()),
        (Some(vec![]), Some("t.*"))
    );
    bench.answer(request_id, fine(3, None));
    let (_, delta) = beating(&bench.subscribe(&["t"]));
    assert_eq!(delta.subscribed_topic_regex.as_deref(), Some(""), "no pattern any more");
}
