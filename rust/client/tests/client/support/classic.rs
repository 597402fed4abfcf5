//! A harness for a classic member, with requests and responses.

use ottla_client::consumer::assignor::{MemberAssignment, MemberSubscription, encode_assignment};
use ottla_client::consumer::group::classic::ClassicMember;
use ottla_client::consumer::group::{Action, GroupRequest, GroupResponse};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::heartbeat::HeartbeatResponse;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse};
use ottla_protocol::messages::leave_group::LeaveGroupRequest;
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};
use tokio::time::Instant;

use crate::support::member::{Harness, fixed_environment, partitions, sent, settings};

pub(crate) const STATIC: [(&str, &str); 1] = [("group.instance.id", "i")];

pub(crate) fn harness(cooperative: bool, pairs: &[(&str, &str)]) -> Harness<ClassicMember> {
    let fast = [("session.timeout.ms", "10000"), ("heartbeat.interval.ms", "3000")];
    let all: Vec<_> = fast.iter().chain(pairs).copied().collect();
    Harness::of(ClassicMember::new(settings(&all), cooperative, fixed_environment()), Instant::now())
}

pub(crate) fn join_request(actions: &[Action]) -> (u64, JoinGroupRequest, MemberSubscription) {
    match sent(actions) {
        (request_id, GroupRequest::Join { request, subscription, .. }) => (request_id, request, subscription),
        other => panic!("no JoinGroup: {other:?}"),
    }
}

pub(crate) fn sync_request(actions: &[Action]) -> (u64, SyncGroupRequest) {
    match sent(actions) {
        (request_id, GroupRequest::Sync(request)) => (request_id, request),
        other => panic!("no SyncGroup: {other:?}"),
    }
}

pub(crate) fn heartbeat_request(actions: &[Action]) -> u64 {
    match sent(actions) {
        (request_id, GroupRequest::Heartbeat(_)) => request_id,
        other => panic!("no Heartbeat: {other:?}"),
    }
}

pub(crate) fn leave_request(actions: &[Action]) -> (u64, LeaveGroupRequest) {
    match sent(actions) {
        (request_id, GroupRequest::Leave(request)) => (request_id, request),
        other => panic!("no LeaveGroup: {other:?}"),
    }
}

pub(crate) fn join_response(generation: i32) -> GroupResponse {
    GroupResponse::Join(JoinGroupResponse {
        generation_id: generation,
        protocol_type: Some("consumer".to_owned()),
        protocol_name: Some("range".to_owned()),
        leader: "other".to_owned(),
        member_id: "me".to_owned(),
        ..Default::default()
    })
}

pub(crate) fn join_error(code: ErrorCode) -> GroupResponse {
    GroupResponse::Join(JoinGroupResponse { error_code: code.code(), ..Default::default() })
}

pub(crate) fn sync_response(assigned: &[&str]) -> GroupResponse {
    let assigned = MemberAssignment { partitions: partitions(assigned), user_data: None };
    GroupResponse::Sync(SyncGroupResponse {
        protocol_type: Some("consumer".to_owned()),
        protocol_name: Some("range".to_owned()),
        assignment: encode_assignment(&assigned).expect("an assignment"),
        ..Default::default()
    })
}

pub(crate) fn sync_error(code: ErrorCode) -> GroupResponse {
    GroupResponse::Sync(SyncGroupResponse { error_code: code.code(), ..Default::default() })
}

pub(crate) fn heartbeat_response(code: ErrorCode) -> GroupResponse {
    GroupResponse::Heartbeat(HeartbeatResponse { error_code: code.code(), ..Default::default() })
}

/// Responds to JoinGroup and SyncGroup of a follower; the assignment is queued then.
pub(crate) fn join(
    harness: &mut Harness<ClassicMember>,
    actions: &[Action],
    generation: i32,
    assigned: &[&str],
) {
    let (request_id, _, _) = join_request(actions);
    let (request_id, sync) = sync_request(&harness.respond(request_id, join_response(generation)));
    assert_eq!((sync.generation_id, &*sync.member_id), (generation, "me"));
    let actions = harness.respond(request_id, sync_response(assigned));
    assert!(matches!(&actions[..], [Action::NotifyAssignor { .. }]), "{actions:?}");
}

/// A member of generation 1 that owns its partitions of `t`.
pub(crate) fn member(cooperative: bool, pairs: &[(&str, &str)], assigned: &[&str]) -> Harness<ClassicMember> {
    let mut harness = harness(cooperative, pairs);
    let actions = harness.subscribe(&["t"]);
    join(&mut harness, &actions, 1, assigned);
    let (added, all, actions) = harness.complete_assignment();
    assert_eq!((added, all), (partitions(assigned), partitions(assigned)));
    assert!(actions.is_empty(), "{actions:?}");
    harness
}

/// Advances to the next heartbeat and responds to it.
pub(crate) fn respond_to_heartbeat(harness: &mut Harness<ClassicMember>, code: ErrorCode) -> Vec<Action> {
    let (_, actions) = harness.next();
    let request_id = heartbeat_request(&actions);
    harness.respond(request_id, heartbeat_response(code))
}
