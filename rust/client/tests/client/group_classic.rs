//! Proves: a classic member joins, sends heartbeats and gives up partitions by the protocol. The clock is
//! manual.

use ottla_client::consumer::assignor::topics as looked_at;
use ottla_client::consumer::group::{
    Action, GroupRequest, GroupResponse, LeaderAssignment, MembershipManager, RebalanceEvent,
};
use ottla_client::{Error, Kind};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::join_group::{JoinGroupResponse, JoinGroupResponseMember};
use ottla_protocol::messages::sync_group::SyncGroupRequestAssignment;
use tokio::time::Duration;

use crate::support::classic::*;
use crate::support::member::*;
use crate::support::ms;

#[test]
fn a_member_gets_an_id_joins_and_is_assigned_partitions() {
    let mut harness = harness(false, &[("client.rack", "a")]);
    let (request_id, request, subscription) = join_request(&harness.subscribe(&["u", "t"]));
    assert_eq!((&*request.group_id, &*request.member_id, &*request.protocol_type), ("g", "", "consumer"));
    assert_eq!((request.session_timeout_ms, request.rebalance_timeout_ms), (10_000, 60_000));
    assert_eq!(
        (subscription.topics, subscription.generation, subscription.rack.as_deref()),
        (vec!["t".into(), "u".into()], -1, Some("a"))
    );

    let required = JoinGroupResponse {
        error_code: ErrorCode::MemberIdRequired.code(),
        member_id: "me".to_owned(),
        ..Default::default()
    };
    let (request_id, request, _) = join_request(&harness.respond(request_id, GroupResponse::Join(required)));
    assert_eq!(&*request.member_id, "me", "immediately, with the id");
    let (request_id, sync) = sync_request(&harness.respond(request_id, join_response(5)));
    assert_eq!((sync.generation_id, sync.assignments.len()), (5, 0));
    assert_eq!(sync.protocol_name.as_deref(), Some("range"));
    harness.respond(request_id, sync_response(&["t-0", "u-1"]));
    let me = harness.member.group_metadata();
    assert_eq!((&*me.group_id, &*me.member_id, me.generation), ("g", "me", 5));
    let (added, all, _) = harness.complete_assignment();
    assert_eq!((added, all), (partitions(&["t-0", "u-1"]), partitions(&["t-0", "u-1"])));
}

#[test]
fn the_leader_assigns_partitions_and_watches_the_topics() {
    let mut harness = harness(false, &[]);
    let (request_id, _, _) = join_request(&harness.subscribe(&["t"]));
    let others = JoinGroupResponseMember { member_id: "you".to_owned(), ..Default::default() };
    let GroupResponse::Join(response) = join_response(1) else { unreachable!() };
    let leader = "me".to_owned();
    let actions = harness.respond(
        request_id,
        GroupResponse::Join(JoinGroupResponse { leader, members: vec![others], ..response }),
    );
    let [Action::Assign { request_id, protocol, members, skip_assignment: false }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!((&**protocol, &*members[0].member_id), ("range", "you"));

    let heartbeat = heartbeat_request(&harness.after(3_000));
    assert!(
        harness.respond(heartbeat, heartbeat_response(ErrorCode::RebalanceInProgress)).is_empty(),
        "nothing happens before SyncGroup"
    );

    let two = metadata(&[("t", 2), ("u", 1)]);
    let all = [("t".into()), ("u".into())];
    let assignments = vec![SyncGroupRequestAssignment { member_id: "you".to_owned(), ..Default::default() }];
    let assigned = LeaderAssignment {
        assignments: assignments.clone(),
        names: all.to_vec(),
        topics: looked_at(&two, &all),
    };
    let (request_id, sync) = sync_request(&harness.respond(*request_id, GroupResponse::Assigned(assigned)));
    assert_eq!(sync.assignments, assignments);
    harness.respond(request_id, sync_response(&["t-0"]));
    harness.complete_assignment();
    assert_eq!(harness.member.topics(), ["t".into(), "t".into(), "u".into()], "of all members");

    harness.member.update_metadata(harness.now, &two);
    assert!(harness.poll().is_empty(), "nothing has changed");
    harness.member.update_metadata(harness.now, &metadata(&[("t", 2), ("u", 3)]));
    harness.poll();
    let (revoked, actions) = harness.complete_revocation();
    assert_eq!(revoked, partitions(&["t-0"]));
    let (_, request, _) = join_request(&actions);
    assert!(request.reason.unwrap().contains("partitions of the group's topics"));
}

/// KIP-814: a static leader that returns keeps the assignment.
#[test]
fn a_returning_leader_keeps_the_assignment_and_watches_the_topics() {
    let mut harness = harness(false, &STATIC);
    let (request_id, request, _) = join_request(&harness.subscribe(&["t"]));
    assert_eq!(request.group_instance_id.as_deref(), Some("i"));
    let others = JoinGroupResponseMember { member_id: "you".to_owned(), ..Default::default() };
    let GroupResponse::Join(response) = join_response(4) else { unreachable!() };
    let skip = JoinGroupResponse {
        leader: "me".to_owned(),
        members: vec![others],
        skip_assignment: true,
        ..response
    };
    let actions = harness.respond(request_id, GroupResponse::Join(skip));
    let [Action::Assign { request_id, members, skip_assignment: true, .. }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(&*members[0].member_id, "you");
    let two = metadata(&[("t", 2), ("u", 1)]);
    let all = [("t".into()), ("u".into())];
    let noted =
        LeaderAssignment { assignments: Vec::new(), names: all.to_vec(), topics: looked_at(&two, &all) };
    let (request_id, sync) = sync_request(&harness.respond(*request_id, GroupResponse::Assigned(noted)));
    assert_eq!((sync.generation_id, sync.assignments.len()), (4, 0));
    harness.respond(request_id, sync_response(&["t-0"]));
    assert_eq!(harness.complete_assignment().1, partitions(&["t-0"]));
    // It watches for partitions that were added while it was away, or are added later.
    harness.member.update_metadata(harness.now, &metadata(&[("t", 2), ("u", 3)]));
    harness.poll();
    harness.complete_revocation();
}

#[test]
fn a_failing_assignor_is_reported_to_the_application() {
    let mut harness = harness(false, &[]);
    let (request_id, _, _) = join_request(&harness.subscribe(&["t"]));
    let GroupResponse::Join(response) = join_response(1) else { unreachable!() };
    let actions = harness
        .respond(request_id, GroupResponse::Join(JoinGroupResponse { leader: "me".to_owned(), ..response }));
    let [Action::Assign { request_id, .. }] = actions[..] else { panic!("{actions:?}") };
    harness.respond(request_id, GroupResponse::Failed(Error::new(Kind::Config, "division by zero")));
    let (error, actions) = harness.complete_failure();
    assert!(error.message().contains("assignor") && error.message().contains("division by zero"), "{error}");
    assert!(actions.is_empty());
    join_request(&harness.on_poll());
}

#[test]
fn an_eager_member_revokes_everything_before_it_rejoins() {
    let mut harness = member(false, &[], &["t-0", "t-1"]);
    assert!(respond_to_heartbeat(&mut harness, ErrorCode::None).is_empty());
    assert!(
        respond_to_heartbeat(&mut harness, ErrorCode::RebalanceInProgress).is_empty(),
        "the application has to let go first"
    );
    // A slow application does not delay heartbeats.
    let took: Vec<Duration> = (0..3)
        .map(|_| {
            let (waited, actions) = harness.next();
            let request_id = heartbeat_request(&actions);
            assert!(
                harness.respond(request_id, heartbeat_response(ErrorCode::RebalanceInProgress)).is_empty()
            );
            waited
        })
        .collect();
    assert_eq!(took, [ms(3_000); 3]);
    assert_eq!(harness.member.group_metadata().generation, 1, "it may still commit");
    let (revoked, actions) = harness.complete_revocation();
    assert_eq!(revoked, partitions(&["t-0", "t-1"]));
    let (_, request, subscription) = join_request(&actions);
    assert_eq!((&*request.member_id, subscription.generation, subscription.owned), ("me", 1, vec![]));
    let Some(GroupRequest::Join { last, .. }) = actions.into_iter().find_map(|action| match action {
        Action::Send { request, .. } => Some(*request),
        _ => None,
    }) else {
        unreachable!()
    };
    assert_eq!((last.partitions, last.generation), (partitions(&["t-0", "t-1"]), Some(1)));
    assert!(harness.after(9_000).is_empty(), "no heartbeats while it joins");
}

#[test]
fn a_cooperative_member_revokes_only_moving_partitions_and_rejoins() {
    let mut harness = member(true, &[], &["t-0", "t-1", "t-2"]);
    let (request_id, _, subscription) =
        join_request(&respond_to_heartbeat(&mut harness, ErrorCode::RebalanceInProgress));
    assert_eq!((subscription.owned, subscription.generation), (partitions(&["t-0", "t-1", "t-2"]), 1));
    let (request_id, _) = sync_request(&harness.respond(request_id, join_response(2)));
    harness.respond(request_id, sync_response(&["t-0", "t-3"]));
    let (revoked, actions) = harness.complete_revocation();
    assert_eq!(revoked, partitions(&["t-1", "t-2"]));
    assert!(actions.is_empty(), "the assignment comes first");
    let (added, all, actions) = harness.complete_assignment();
    assert_eq!((added, all), (partitions(&["t-3"]), partitions(&["t-0", "t-3"])));
    let (_, request, subscription) = join_request(&actions);
    assert!(request.reason.unwrap().contains("revoked partitions"));
    assert_eq!((subscription.owned, subscription.generation), (partitions(&["t-0", "t-3"]), 2));
    join(&mut harness, &actions, 3, &["t-0", "t-3"]);
    let (added, _, actions) = harness.complete_assignment();
    assert!(added.is_empty() && actions.is_empty(), "the rebalance is over");
}

#[test]
fn a_changed_subscription_rejoins() {
    let mut harness = member(true, &[], &["t-0", "t-1"]);
    assert!(harness.subscribe(&["t"]).is_empty(), "an unchanged one does not");
    assert_eq!(join_request(&harness.subscribe(&["t", "u"])).2.owned, partitions(&["t-0", "t-1"]));

    let mut harness = member(true, &[], &["t-0"]);
    assert!(harness.subscribe(&["u"]).is_empty());
    let (revoked, actions) = harness.complete_revocation();
    assert_eq!(
        (revoked, join_request(&actions).2.owned),
        (partitions(&["t-0"]), vec![]),
        "it wants them no more"
    );

    // During a join, the rebalance in progress completes first.
    let (request_id, _, _) = join_request(&actions);
    assert!(harness.subscribe(&["v"]).is_empty());
    let (request_id, _) = sync_request(&harness.respond(request_id, join_response(2)));
    let actions = harness.respond(request_id, sync_response(&["u-0"]));
    assert!(harness.start_event().is_none(), "u is not subscribed any more");
    assert_eq!(join_request(&actions).2.topics, ["v".into()]);
}

#[test]
fn unstarted_events_are_withdrawn_on_a_loss() {
    let mut harness = harness(false, &[]);
    let actions = harness.subscribe(&["t"]);
    join(&mut harness, &actions, 1, &["t-0"]);
    let actions = respond_to_heartbeat(&mut harness, ErrorCode::UnknownMemberId);
    assert!(harness.start_event().is_none());
    join(&mut harness, &actions, 2, &["t-1"]);

    assert!(matches!(harness.start_event(), Some(RebalanceEvent::Assign { .. })));
    assert!(
        respond_to_heartbeat(&mut harness, ErrorCode::UnknownMemberId).is_empty(),
        "the application is at it"
    );
    assert!(
        matches!(harness.start_event(), Some(RebalanceEvent::Assign { .. })),
        "the same until it is acknowledged"
    );
    assert!(harness.complete_event().is_empty());
    assert_eq!(harness.complete_loss().0, partitions(&["t-1"]));
}

#[test]
fn an_event_that_was_not_started_is_not_completed() {
    let mut harness = harness(false, &[]);
    let actions = harness.subscribe(&["t"]);
    join(&mut harness, &actions, 1, &["t-0"]);
    harness.complete_event();
    assert_eq!(harness.complete_assignment().1, partitions(&["t-0"]));
}

#[test]
fn settings_are_checked() {
    let error_of = |pairs: &[(&str, &str)]| {
        let config = crate::support::config("localhost:1", pairs);
        ottla_client::consumer::group::GroupSettings::try_from(&config).expect_err("invalid")
    };
    let error = error_of(&[("group.id", "g"), ("session.timeout.ms", "3000")]);
    assert!(error.message().contains("heartbeat.interval.ms (3000)"), "{error}");
}
