//! Proves: a member of a share group sends its subscription if the coordinator may not know it, and reports
//! each new assignment as a whole, without giving up partitions first. The clock is manual.

use ottla_client::consumer::group::{Action, MembershipManager, RebalanceEvent};
use ottla_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatRequest;

use crate::support::heartbeats::INTERVAL;
use crate::support::member::*;
use crate::support::ms;
use crate::support::share_heartbeats::*;

#[test]
fn it_joins_with_all_fields_and_then_sends_changed_ones() {
    let mut harness = harness(&[("client.rack", "a")]);
    let (request_id, request) = heartbeat_request(&harness.subscribe(&["u", "t"]));
    assert_eq!((request.member_epoch, request.member_id.len()), (0, 22), "it chooses its own id");
    assert_eq!((&*request.group_id, request.rack_id.as_deref()), ("g", Some("a")));
    assert_eq!(request.subscribed_topic_names, subscribed(&["t", "u"]));
    assert!(harness.after(INTERVAL - 1).is_empty(), "one at a time");
    assert_eq!(harness.member.group_metadata().generation, -1, "not a member yet");

    assert!(harness.respond(request_id, ok_response(3, Some(&[]))).is_empty());
    let me = harness.member.group_metadata();
    assert_eq!((me.generation, &*me.member_id, me.instance_id), (3, &*request.member_id, None));
    assert!(all_assigned(&mut harness).is_empty(), "an empty first assignment is reported");

    let (delta, actions) = respond_to_heartbeat(&mut harness, ok_response(4, None));
    let expected = ShareGroupHeartbeatRequest {
        group_id: "g".to_owned(),
        member_id: request.member_id,
        member_epoch: 3,
        ..Default::default()
    };
    assert_eq!(delta, expected);
    assert!(actions.is_empty() && harness.start_event().is_none());
    let (waited, actions) = harness.next();
    assert_eq!(waited, ms(INTERVAL));
    assert_eq!(heartbeat_request(&actions).1.member_epoch, 4);
}

/// Other members may read the same partitions, so nobody waits until they are given up.
#[test]
fn a_new_assignment_replaces_the_last_one_in_one_step() {
    let mut harness = member(&[]);
    let (_, actions) = respond_to_heartbeat(&mut harness, ok_response(2, Some(&[(1, &[1, 2])])));
    assert!(actions.is_empty());
    let Some(RebalanceEvent::Assign { added, all }) = harness.start_event() else { panic!("no assignment") };
    assert_eq!((added, all), (partitions(&["t-2"]), partitions(&["t-1", "t-2"])));
    assert!(harness.complete_event().is_empty(), "without an acknowledgement");
    assert!(harness.start_event().is_none());
    let (waited, _) = harness.next();
    assert_eq!(waited, ms(INTERVAL));
}

#[test]
fn a_slow_application_gets_the_latest_assignment() {
    let mut harness = member(&[]);
    respond_to_heartbeat(&mut harness, ok_response(2, Some(&[(1, &[1])])));
    respond_to_heartbeat(&mut harness, ok_response(3, Some(&[(1, &[0, 1, 3])])));
    assert_eq!(all_assigned(&mut harness), partitions(&["t-0", "t-1", "t-3"]));
    assert!(harness.start_event().is_none());

    // One that the application is handling stays, and the next one follows it.
    respond_to_heartbeat(&mut harness, ok_response(4, Some(&[(1, &[1])])));
    harness.start_event().expect("an assignment");
    respond_to_heartbeat(&mut harness, ok_response(5, Some(&[(1, &[2])])));
    assert_eq!(all_assigned(&mut harness), partitions(&["t-1"]));
    assert_eq!(all_assigned(&mut harness), partitions(&["t-2"]));
}

#[test]
fn a_repeated_assignment_is_not_reported_again() {
    let mut harness = member(&[]);
    for _ in 0..3 {
        let (_, actions) = respond_to_heartbeat(&mut harness, ok_response(1, Some(&[(1, &[0, 1])])));
        assert!(actions.is_empty() && harness.start_event().is_none());
    }
    let (_, actions) = respond_to_heartbeat(&mut harness, ok_response(2, Some(&[])));
    assert!(actions.is_empty());
    assert!(all_assigned(&mut harness).is_empty(), "all partitions are gone");
}

#[test]
fn a_topic_unknown_to_the_metadata_is_assigned_later() {
    let mut harness = harness(&[]);
    let (request_id, _) = heartbeat_request(&harness.subscribe(&["t"]));
    let actions = harness.respond(request_id, ok_response(1, Some(&[(1, &[0]), (9, &[0])])));
    assert_eq!(actions, [Action::Resolve(vec![id(1), id(9)])]);
    let (waited, actions) = harness.next();
    assert_eq!(actions, [Action::Resolve(vec![id(1), id(9)])], "again, after a backoff");
    assert!(waited >= ms(8));
    harness.member.update_metadata(harness.now, &metadata(&[("t", 1)]));
    harness.poll();
    assert_eq!(all_assigned(&mut harness), partitions(&["t-0"]), "the known topics");
    let late: Vec<(String, i32)> = (1..=9).map(|n| (format!("t{n}"), 1)).collect();
    let late: Vec<(&str, i32)> = late.iter().map(|(name, n)| (&**name, *n)).collect();
    harness.member.update_metadata(harness.now, &metadata(&late));
    harness.poll();
    assert_eq!(all_assigned(&mut harness), partitions(&["t-0", "t9-0"]));
    assert_eq!(harness.member.topics(), ["t".into(), "t9".into()]);
    let (waited, _) = harness.next();
    assert!(waited > ms(1_000), "no more lookups: {waited:?}");
}

#[test]
fn a_recreated_topic_is_another_one() {
    let mut harness = member(&[]);
    respond_to_heartbeat(&mut harness, ok_response(2, Some(&[(2, &[0])])));
    assert!(all_assigned(&mut harness).is_empty(), "the old topic is gone");
    harness.member.update_metadata(harness.now, &metadata(&[("old", 1), ("t", 1)]));
    harness.poll();
    assert_eq!(all_assigned(&mut harness), partitions(&["t-0"]));
}

#[test]
fn a_changed_subscription_is_sent_at_once() {
    let mut harness = member(&[("client.rack", "a")]);
    assert!(harness.subscribe(&["t"]).is_empty(), "an unchanged one is not");
    let (request_id, delta) = heartbeat_request(&harness.subscribe(&["t", "u"]));
    assert_eq!((delta.member_epoch, delta.subscribed_topic_names), (1, subscribed(&["t", "u"])));
    assert_eq!(delta.rack_id, None, "the others have not changed");
    // Another change while that one is in flight.
    assert!(harness.subscribe(&["u"]).is_empty(), "one at a time");
    let (request_id, delta) = heartbeat_request(&harness.respond(request_id, ok_response(2, None)));
    assert_eq!((delta.member_epoch, delta.subscribed_topic_names), (2, subscribed(&["u"])));
    harness.respond(request_id, ok_response(3, Some(&[(2, &[0])])));
    load_metadata(&mut harness);
    assert_eq!(all_assigned(&mut harness), partitions(&["u-0"]));
    assert_eq!(respond_to_heartbeat(&mut harness, ok_response(3, None)).0.subscribed_topic_names, None);
}

/// The coordinator may not have received the subscription.
#[test]
fn after_a_lost_response_all_fields_are_sent_and_nothing_is_lost() {
    let mut harness = member(&[("client.rack", "a")]);
    for _ in 0..4 {
        let (_, actions) = harness.next();
        let (request_id, delta) = heartbeat_request(&actions);
        assert_eq!(delta.subscribed_topic_names, None);
        assert_eq!(harness.lose_connection(request_id), [Action::FindCoordinator]);
        let (waited, actions) = harness.next();
        let (request_id, full) = heartbeat_request(&actions);
        assert!(waited >= ms(8) && waited <= ms(200), "{waited:?}");
        assert_eq!((full.member_epoch, full.rack_id.as_deref()), (1, Some("a")));
        assert_eq!(full.subscribed_topic_names, subscribed(&["t"]));
        assert!(harness.respond(request_id, ok_response(1, Some(&[(1, &[0, 1])]))).is_empty());
        assert!(harness.start_event().is_none(), "nothing has changed");
    }
    // A changed subscription whose response is lost is not sent without a pause.
    let (request_id, _) = heartbeat_request(&harness.subscribe(&["u"]));
    assert_eq!(harness.lose_connection(request_id), [Action::FindCoordinator]);
    let (waited, actions) = harness.next();
    assert!(waited >= ms(8), "{waited:?}");
    assert_eq!(heartbeat_request(&actions).1.subscribed_topic_names, subscribed(&["u"]));
}

#[test]
fn a_join_with_a_lost_response_is_retried_from_the_start() {
    let mut harness = harness(&[]);
    let (request_id, first) = heartbeat_request(&harness.subscribe(&["t"]));
    harness.lose_connection(request_id);
    let (again, _) = respond_to_heartbeat(&mut harness, ok_response(1, Some(&[])));
    assert_eq!((again.member_epoch, &again.member_id), (0, &first.member_id), "as the same member");
    assert_eq!(again.subscribed_topic_names, subscribed(&["t"]));
    // The first response arrives after all.
    assert!(harness.respond(request_id, ok_response(9, Some(&[(1, &[3])]))).is_empty());
    assert_eq!(harness.member.group_metadata().generation, 1, "it is ignored");
}

#[test]
fn a_coordinator_may_choose_another_member_id() {
    let mut harness = harness(&[]);
    let (request_id, _) = heartbeat_request(&harness.subscribe(&["t"]));
    let response = ottla_protocol::messages::share_group_heartbeat::ShareGroupHeartbeatResponse {
        member_id: Some("chosen".to_owned()),
        ..success(1, Some(&[]))
    };
    harness.respond(request_id, ottla_client::consumer::group::GroupResponse::ShareHeartbeat(response));
    assert_eq!(&*harness.member.group_metadata().member_id, "chosen");
    assert_eq!(respond_to_heartbeat(&mut harness, ok_response(1, None)).0.member_id, "chosen");
    assert_eq!(&*harness.member.group_metadata().member_id, "chosen", "it is kept");
}
