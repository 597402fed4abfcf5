//! Proves: a KIP-848 member sends changed fields, or all fields if the coordinator may be out of date, and
//! reconciles its partitions one event at a time. The clock is manual.

use ottla_client::consumer::group::{Action, MembershipManager, SubscribedTopics};

use crate::support::heartbeats::*;
use crate::support::member::*;
use crate::support::ms;

#[test]
fn it_joins_with_all_fields_and_then_sends_changed_ones() {
    let mut harness =
        harness(&[("client.rack", "a"), ("group.remote.assignor", "uniform"), ("group.instance.id", "i")]);
    let (request_id, request) = heartbeat_request(&harness.subscribe(&["u", "t"]));
    assert_eq!((request.member_epoch, request.member_id.len()), (0, 22), "it chooses its own id");
    assert_eq!((request.rebalance_timeout_ms, request.rack_id.as_deref()), (60_000, Some("a")));
    assert_eq!(request.subscribed_topic_names, Some(vec!["t".to_owned(), "u".to_owned()]));
    assert_eq!(
        (request.server_assignor.as_deref(), request.instance_id.as_deref()),
        (Some("uniform"), Some("i"))
    );
    assert_eq!(request.topic_partitions, Some(vec![]), "a joining member owns nothing");
    assert!(request.subscribed_topic_regex.is_none());
    assert!(harness.after(INTERVAL - 1).is_empty(), "one at a time");

    assert!(harness.respond(request_id, ok_response(3, Some(&[]))).is_empty());
    assert_eq!(harness.member.group_metadata().generation, 3);
    let (_, all, _) = harness.complete_assignment();
    assert!(all.is_empty(), "an empty first assignment is reported");

    let (delta, actions) = respond_to_heartbeat(&mut harness, ok_response(4, None));
    assert_eq!((delta.member_epoch, delta.rebalance_timeout_ms), (3, -1));
    let rest = (delta.subscribed_topic_names, delta.rack_id, delta.server_assignor, delta.topic_partitions);
    assert_eq!(rest, (None, None, None, None));
    assert!(actions.is_empty() && harness.start_event().is_none());
    let (waited, actions) = harness.next();
    assert_eq!(waited, ms(INTERVAL));
    assert_eq!(heartbeat_request(&actions).1.member_epoch, 4);
}

#[test]
fn partitions_are_revoked_before_others_are_assigned() {
    let mut harness = member(&[]);
    let (_, actions) = respond_to_heartbeat(&mut harness, ok_response(2, Some(&[(1, &[1, 2])])));
    assert!(actions.is_empty());
    // A slow application does not delay heartbeats, which report the partitions that it still owns.
    let (delta, _) = respond_to_heartbeat(&mut harness, ok_response(2, None));
    assert_eq!((delta.member_epoch, delta.topic_partitions), (2, None));
    let (revoked, actions) = harness.complete_revocation();
    assert_eq!(revoked, partitions(&["t-0"]));
    let (request_id, request) = heartbeat_request(&actions);
    assert_eq!(request.topic_partitions, owned(&[(1, &[1])]), "the acknowledgement");
    let (added, all, actions) = harness.complete_assignment();
    assert_eq!((added, all), (partitions(&["t-2"]), partitions(&["t-1", "t-2"])));
    assert!(actions.is_empty(), "one at a time");
    let (request_id, request) = heartbeat_request(&harness.respond(request_id, ok_response(3, None)));
    assert_eq!((request.member_epoch, request.topic_partitions), (3, owned(&[(1, &[1, 2])])));
    assert!(harness.respond(request_id, ok_response(3, None)).is_empty());
    assert_eq!(harness.next().0, ms(INTERVAL));
}

#[test]
fn a_slow_application_gets_the_latest_target() {
    let mut harness = member(&[]);
    respond_to_heartbeat(&mut harness, ok_response(2, Some(&[(1, &[1])])));
    respond_to_heartbeat(&mut harness, ok_response(2, Some(&[(1, &[0, 1, 3])])));
    let (revoked, _) = harness.complete_revocation();
    assert_eq!(revoked, partitions(&["t-0"]), "the event is already queued");
    let (added, all, _) = harness.complete_assignment();
    assert_eq!((added, all), (partitions(&["t-0", "t-3"]), partitions(&["t-0", "t-1", "t-3"])));
}

/// The coordinator assigns t-2 to no other member before this one has acknowledged the change.
#[test]
fn an_assignment_reverted_before_the_poll_is_acknowledged() {
    for looks_between in [false, true] {
        let mut harness = member(&[]);
        let (_, actions) = respond_to_heartbeat(&mut harness, ok_response(2, Some(&[(1, &[0, 1, 2])])));
        assert!(actions.is_empty(), "the assignment is completed first");
        let (delta, actions) = respond_to_heartbeat(&mut harness, ok_response(2, Some(&[(1, &[0, 1])])));
        assert_eq!(delta.topic_partitions, None);
        assert!(actions.is_empty(), "the application has not polled yet");
        // The application either completes t-2 and gives it up at once, or takes two steps.
        let (request_id, request) = if looks_between {
            let (_, _, actions) = harness.complete_assignment();
            let (request_id, request) = heartbeat_request(&actions);
            assert_eq!(request.topic_partitions, owned(&[(1, &[0, 1, 2])]));
            harness.complete_revocation();
            heartbeat_request(&harness.respond(request_id, ok_response(2, None)))
        } else {
            for _ in 0..2 {
                harness.start_event().expect("a change");
                harness.member.complete_event(harness.now);
            }
            heartbeat_request(&harness.poll())
        };
        assert_eq!(request.topic_partitions, owned(&[(1, &[0, 1])]), "at once");
        assert!(harness.respond(request_id, ok_response(3, None)).is_empty(), "once");
        let (delta, _) = respond_to_heartbeat(&mut harness, ok_response(3, None));
        assert_eq!(delta.topic_partitions, None);
    }
}

/// Otherwise the application would keep reading a partition that is assigned to another member.
#[test]
fn a_topic_removed_before_the_poll_is_revoked_by_name() {
    let mut harness = member(&[]);
    respond_to_heartbeat(&mut harness, ok_response(2, Some(&[])));
    let (_, actions) = harness.complete_revocation();
    harness.respond(heartbeat_request(&actions).0, ok_response(2, None));
    respond_to_heartbeat(&mut harness, ok_response(3, Some(&[(1, &[0])])));
    load_metadata(&mut harness);
    respond_to_heartbeat(&mut harness, ok_response(3, Some(&[])));
    let (added, ..) = harness.complete_assignment();
    assert_eq!(added, partitions(&["t-0"]), "the event is already queued");
    let (revoked, _) = harness.complete_revocation();
    assert_eq!(revoked, partitions(&["t-0"]));
}

#[test]
fn a_repeated_assignment_is_ignored() {
    let mut harness = member(&[]);
    for _ in 0..3 {
        let (_, actions) = respond_to_heartbeat(&mut harness, ok_response(1, Some(&[(1, &[0, 1])])));
        assert!(actions.is_empty() && harness.start_event().is_none());
    }
}

/// A lost response may have brought another epoch: then the coordinator accepts only a member that reports
/// its partitions.
#[test]
fn after_a_lost_response_all_fields_are_sent_and_nothing_is_revoked() {
    let mut harness = member(&[]);
    for _ in 0..4 {
        let (_, actions) = harness.next();
        let (request_id, _) = heartbeat_request(&actions);
        assert_eq!(harness.lose_connection(request_id), [Action::FindCoordinator]);
        let (waited, actions) = harness.next();
        let (request_id, full) = heartbeat_request(&actions);
        assert!(waited >= ms(8) && waited <= ms(200), "{waited:?}");
        assert_eq!((full.member_epoch, full.rebalance_timeout_ms), (1, 60_000));
        assert_eq!(full.subscribed_topic_names, Some(vec!["t".to_owned()]));
        assert_eq!(full.topic_partitions, owned(&[(1, &[0, 1])]));
        assert!(harness.respond(request_id, ok_response(1, Some(&[(1, &[0, 1])]))).is_empty());
        assert!(harness.start_event().is_none(), "nothing has changed");
    }
    let (delta, _) = respond_to_heartbeat(&mut harness, ok_response(1, None));
    assert_eq!((delta.subscribed_topic_names, delta.topic_partitions), (None, None));

    // A partition being revoked is still owned, and reported.
    respond_to_heartbeat(&mut harness, ok_response(2, Some(&[(1, &[1])])));
    let (_, actions) = harness.next();
    let (request_id, _) = heartbeat_request(&actions);
    harness.lose_connection(request_id);
    let (full, _) = respond_to_heartbeat(&mut harness, ok_response(2, None));
    assert_eq!(full.topic_partitions, owned(&[(1, &[0, 1])]));
}

#[test]
fn a_join_with_a_lost_response_is_retried_from_the_start() {
    let mut harness = harness(&[]);
    let (request_id, first) = heartbeat_request(&harness.subscribe(&["t"]));
    harness.lose_connection(request_id);
    let (again, _) = respond_to_heartbeat(&mut harness, ok_response(1, Some(&[])));
    assert_eq!((again.member_epoch, &again.member_id), (0, &first.member_id), "as the same member");
    assert_eq!(again.topic_partitions, Some(vec![]));
}

#[test]
fn a_topic_unknown_to_the_metadata_is_assigned_later() {
    let mut harness = harness(&[]);
    let (request_id, _) = heartbeat_request(&harness.subscribe(&["t"]));
    let actions = harness.respond(request_id, ok_response(1, Some(&[(1, &[0]), (9, &[0])])));
    assert_eq!(actions, [Action::Resolve(vec![id(1), id(9)])]);
    assert!(harness.start_event().is_none());
    let (waited, actions) = harness.next();
    assert_eq!(actions, [Action::Resolve(vec![id(1), id(9)])], "again, after a backoff");
    assert!(waited >= ms(8));
    harness.member.update_metadata(harness.now, &metadata(&[("t", 1)]));
    harness.poll();
    let (added, all, _) = harness.complete_assignment();
    assert_eq!((added, all), (partitions(&["t-0"]), partitions(&["t-0"])), "the known topics");
    let late: Vec<(String, i32)> = (1..=9).map(|n| (format!("t{n}"), 1)).collect();
    let late: Vec<(&str, i32)> = late.iter().map(|(name, n)| (&**name, *n)).collect();
    harness.member.update_metadata(harness.now, &metadata(&late));
    harness.poll();
    let (added, all, _) = harness.complete_assignment();
    assert_eq!((added, all), (partitions(&["t9-0"]), partitions(&["t-0", "t9-0"])));
    assert_eq!(harness.member.topics(), ["t".into(), "t9".into()]);
}

#[test]
fn a_recreated_topic_is_another_one() {
    let mut harness = member(&[]);
    respond_to_heartbeat(&mut harness, ok_response(2, Some(&[(2, &[0])])));
    let (revoked, _) = harness.complete_revocation();
    assert_eq!(revoked, partitions(&["t-0", "t-1"]));
    let again = metadata(&[("old", 1), ("t", 1)]);
    harness.member.update_metadata(harness.now, &again);
    harness.poll();
    assert_eq!(harness.complete_assignment().0, partitions(&["t-0"]));
}

#[test]
fn a_changed_subscription_is_sent_at_once() {
    let mut harness = member(&[]);
    assert!(harness.subscribe(&["t"]).is_empty(), "an unchanged one is not");
    let (request_id, delta) = heartbeat_request(&harness.subscribe(&["t", "u"]));
    assert_eq!(delta.subscribed_topic_names, Some(vec!["t".to_owned(), "u".to_owned()]));
    assert_eq!((delta.subscribed_topic_regex, delta.topic_partitions), (None, None));
    harness.respond(request_id, ok_response(2, None));

    let pattern = SubscribedTopics { regex: Some("t.*".to_owned()), ..SubscribedTopics::default() };
    harness.member.subscribe(harness.now, pattern);
    let (request_id, delta) = heartbeat_request(&harness.poll());
    assert_eq!(
        (delta.subscribed_topic_names, delta.subscribed_topic_regex.as_deref()),
        (Some(vec![]), Some("t.*"))
    );
    harness.respond(request_id, ok_response(3, None));
    let (_, delta) = heartbeat_request(&harness.subscribe(&["t"]));
    assert_eq!(delta.subscribed_topic_regex.as_deref(), Some(""), "the pattern is removed");
}
