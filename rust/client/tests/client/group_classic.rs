//! Proves: a member of a classic group joins, keeps alive and gives up as the protocol wants it. The
//! clock is the test's.

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
fn a_member_asks_for_an_id_joins_and_takes_up_what_it_is_given() {
    let mut bench = bench(false, &[("client.rack", "a")]);
    let (request_id, request, told) = joining(&bench.subscribe(&["u", "t"]));
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
    let (request_id, request, _) = joining(&bench.answer(request_id, GroupResponse::Join(required)));
    assert_eq!(&*request.member_id, "me", "at once, with the id");
    let (request_id, sync) = syncing(&bench.answer(request_id, joined(5)));
    assert_eq!((sync.generation_id, sync.assignments.len()), (5, 0));
    assert_eq!(sync.protocol_name.as_deref(), Some("range"));
    bench.answer(request_id, synced(&["t-0", "u-1"]));
    let me = bench.member.group_metadata();
    assert_eq!((&*me.group_id, &*me.member_id, me.generation), ("g", "me", 5));
    let (added, all, _) = bench.take_up();
    assert_eq!((added, all), (partitions(&["t-0", "u-1"]), partitions(&["t-0", "u-1"])));
}

#[test]
fn the_leader_has_the_partitions_assigned_and_watches_the_topics() {
    let mut bench = bench(false, &[]);
    let (request_id, _, _) = joining(&bench.subscribe(&["t"]));
    let others = JoinGroupResponseMember { member_id: "you".to_owned(), ..Default::default() };
    let GroupResponse::Join(response) = joined(1) else { unreachable!() };
    let leader = "me".to_owned();
    let actions = bench.answer(
        request_id,
        GroupResponse::Join(JoinGroupResponse { leader, members: vec![others], ..response }),
    );
    let [Action::Assign { request_id, protocol, members, skip_assignment: false }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!((&**protocol, &*members[0].member_id), ("range", "you"));

    let beats = beating(&bench.after(3_000));
    assert!(bench.answer(beats, beat(ErrorCode::RebalanceInProgress)).is_empty(), "no news before SyncGroup");

    let two = metadata(&[("t", 2), ("u", 1)]);
    let all = [("t".into()), ("u".into())];
    let assignments = vec![SyncGroupRequestAssignment { member_id: "you".to_owned(), ..Default::default() }];
    let assigned = LeaderAssignment {
        assignments: assignments.clone(),
        names: all.to_vec(),
        topics: looked_at(&two, &all),
    };
    let (request_id, sync) = syncing(&bench.answer(*request_id, GroupResponse::Assigned(assigned)));
    assert_eq!(sync.assignments, assignments);
    bench.answer(request_id, synced(&["t-0"]));
    bench.take_up();
    assert_eq!(bench.member.topics(), ["t".into(), "t".into(), "u".into()], "of all members");

    bench.member.update_metadata(bench.now, &two);
    assert!(bench.poll().is_empty(), "nothing has changed");
    bench.member.update_metadata(bench.now, &metadata(&[("t", 2), ("u", 3)]));
    bench.poll();
    let (gone, actions) = bench.revoke();
    assert_eq!(gone, partitions(&["t-0"]));
    let (_, request, _) = joining(&actions);
    assert!(request.reason.unwrap().contains("partitions of the group's topics"));
}

/// KIP-814: a static leader that comes back finds the group as it was.
#[test]
fn a_leader_that_comes_back_keeps_the_assignment_and_watches_the_topics() {
    let mut bench = bench(false, &STATIC);
    let (request_id, request, _) = joining(&bench.subscribe(&["t"]));
    assert_eq!(request.group_instance_id.as_deref(), Some("i"));
    let others = JoinGroupResponseMember { member_id: "you".to_owned(), ..Default::default() };
    let GroupResponse::Join(response) = joined(4) else { unreachable!() };
    let skip = JoinGroupResponse {
        leader: "me".to_owned(),
        members: vec![others],
        skip_assignment: true,
        ..response
    };
    let actions = bench.answer(request_id, GroupResponse::Join(skip));
    let [Action::Assign { request_id, members, skip_assignment: true, .. }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(&*members[0].member_id, "you");
    let two = metadata(&[("t", 2), ("u", 1)]);
    let all = [("t".into()), ("u".into())];
    let noted =
        LeaderAssignment { assignments: Vec::new(), names: all.to_vec(), topics: looked_at(&two, &all) };
    let (request_id, sync) = syncing(&bench.answer(*request_id, GroupResponse::Assigned(noted)));
    assert_eq!((sync.generation_id, sync.assignments.len()), (4, 0));
    bench.answer(request_id, synced(&["t-0"]));
    assert_eq!(bench.take_up().1, partitions(&["t-0"]));
    // Partitions that came while it was away, or come later, are its matter again.
    bench.member.update_metadata(bench.now, &metadata(&[("t", 2), ("u", 3)]));
    bench.poll();
    bench.revoke();
}

#[test]
fn an_assignor_that_fails_is_told_to_the_application() {
    let mut bench = bench(false, &[]);
    let (request_id, _, _) = joining(&bench.subscribe(&["t"]));
    let GroupResponse::Join(response) = joined(1) else { unreachable!() };
    let actions = bench
        .answer(request_id, GroupResponse::Join(JoinGroupResponse { leader: "me".to_owned(), ..response }));
    let [Action::Assign { request_id, .. }] = actions[..] else { panic!("{actions:?}") };
    bench.answer(request_id, GroupResponse::Failed(Error::new(Kind::Config, "division by zero")));
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
            let request_id = beating(&actions);
            assert!(bench.answer(request_id, beat(ErrorCode::RebalanceInProgress)).is_empty());
            waited
        })
        .collect();
    assert_eq!(took, [ms(3_000); 3]);
    assert_eq!(bench.member.group_metadata().generation, 1, "it may still commit");
    let (gone, actions) = bench.revoke();
    assert_eq!(gone, partitions(&["t-0", "t-1"]));
    let (_, request, told) = joining(&actions);
    assert_eq!((&*request.member_id, told.generation, told.owned), ("me", 1, vec![]));
    let Some(GroupRequest::Join { last, .. }) = actions.into_iter().find_map(|action| match action {
        Action::Send { request, .. } => Some(*request),
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
    let (request_id, _, told) = joining(&hear(&mut bench, ErrorCode::RebalanceInProgress));
    assert_eq!((told.owned, told.generation), (partitions(&["t-0", "t-1", "t-2"]), 1));
    let (request_id, _) = syncing(&bench.answer(request_id, joined(2)));
    bench.answer(request_id, synced(&["t-0", "t-3"]));
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
    let (request_id, _, _) = joining(&actions);
    assert!(bench.subscribe(&["v"]).is_empty());
    let (request_id, _) = syncing(&bench.answer(request_id, joined(2)));
    let actions = bench.answer(request_id, synced(&["u-0"]));
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

    assert!(matches!(bench.look(), Some(RebalanceEvent::Assign { .. })));
    assert!(hear(&mut bench, ErrorCode::UnknownMemberId).is_empty(), "the application is at it");
    assert!(matches!(bench.look(), Some(RebalanceEvent::Assign { .. })), "the same until it is acknowledged");
    assert!(bench.complete_event().is_empty());
    assert_eq!(bench.lose().0, partitions(&["t-1"]));
}

#[test]
fn a_change_that_nobody_took_is_not_acknowledged() {
    let mut bench = bench(false, &[]);
    let actions = bench.subscribe(&["t"]);
    join(&mut bench, &actions, 1, &["t-0"]);
    bench.complete_event();
    assert_eq!(bench.take_up().1, partitions(&["t-0"]));
}

#[test]
fn settings_are_checked() {
    let refused = |pairs: &[(&str, &str)]| {
        let config = crate::support::config("localhost:1", pairs);
        ottla_client::consumer::group::GroupSettings::try_from(&config).expect_err("refused")
    };
    assert!(refused(&[]).message().contains("group.id"));
    let error = refused(&[("group.id", "g"), ("session.timeout.ms", "3000")]);
    assert!(error.message().contains("heartbeat.interval.ms (3000)"), "{error}");
}
