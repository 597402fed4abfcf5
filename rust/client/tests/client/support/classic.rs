//! A member of a classic group on the bench, and what a coordinator says to it.

use ottla_client::consumer::assignor::{MemberAssignment, MemberSubscription, encode_assignment};
use ottla_client::consumer::group::classic::ClassicMember;
use ottla_client::consumer::group::{Action, GroupRequest, GroupResponse};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::heartbeat::HeartbeatResponse;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse};
use ottla_protocol::messages::leave_group::LeaveGroupRequest;
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};
use tokio::time::Instant;

use crate::support::member::{Bench, fixed, partitions, sent, settings};

pub(crate) const STATIC: [(&str, &str); 1] = [("group.instance.id", "i")];

pub(crate) fn bench(cooperative: bool, pairs: &[(&str, &str)]) -> Bench<ClassicMember> {
    let fast = [("session.timeout.ms", "10000"), ("heartbeat.interval.ms", "3000")];
    let all: Vec<_> = fast.iter().chain(pairs).copied().collect();
    Bench::of(ClassicMember::new(settings(&all), cooperative, fixed()), Instant::now())
}

pub(crate) fn joining(actions: &[Action]) -> (u64, JoinGroupRequest, MemberSubscription) {
    match sent(actions) {
        (request_id, GroupRequest::Join { request, subscription, .. }) => (request_id, request, subscription),
        other => panic!("no JoinGroup: {other:?}"),
    }
}

pub(crate) fn syncing(actions: &[Action]) -> (u64, SyncGroupRequest) {
    match sent(actions) {
        (request_id, GroupRequest::Sync(request)) => (request_id, request),
        other => panic!("no SyncGroup: {other:?}"),
    }
}

pub(crate) fn beating(actions: &[Action]) -> u64 {
    match sent(actions) {
        (request_id, GroupRequest::Heartbeat(_)) => request_id,
        other => panic!("no Heartbeat: {other:?}"),
    }
}

pub(crate) fn leaving(actions: &[Action]) -> (u64, LeaveGroupRequest) {
    match sent(actions) {
        (request_id, GroupRequest::Leave(request)) => (request_id, request),
        other => panic!("no LeaveGroup: {other:?}"),
    }
}

pub(crate) fn joined(generation: i32) -> GroupResponse {
    GroupResponse::Join(JoinGroupResponse {
        generation_id: generation,
        protocol_type: Some("consumer".to_owned()),
        protocol_name: Some("range".to_owned()),
        leader: "other".to_owned(),
        member_id: "me".to_owned(),
        ..Default::default()
    })
}

pub(crate) fn join_refused(code: ErrorCode) -> GroupResponse {
    GroupResponse::Join(JoinGroupResponse { error_code: code.code(), ..Default::default() })
}

pub(crate) fn synced(given: &[&str]) -> GroupResponse {
    let given = MemberAssignment { partitions: partitions(given), user_data: None };
    GroupResponse::Sync(SyncGroupResponse {
        protocol_type: Some("consumer".to_owned()),
        protocol_name: Some("range".to_owned()),
        assignment: encode_assignment(&given).expect("an assignment"),
        ..Default::default()
    })
}

pub(crate) fn sync_refused(code: ErrorCode) -> GroupResponse {
    GroupResponse::Sync(SyncGroupResponse { error_code: code.code(), ..Default::default() })
}

pub(crate) fn beat(code: ErrorCode) -> GroupResponse {
    GroupResponse::Heartbeat(HeartbeatResponse { error_code: code.code(), ..Default::default() })
}

/// Answers JoinGroup and SyncGroup of a follower; what is assigned lies on the desk then.
pub(crate) fn join(bench: &mut Bench<ClassicMember>, actions: &[Action], generation: i32, given: &[&str]) {
    let (request_id, _, _) = joining(actions);
    let (request_id, sync) = syncing(&bench.answer(request_id, joined(generation)));
    assert_eq!((sync.generation_id, &*sync.member_id), (generation, "me"));
    let told = bench.answer(request_id, synced(given));
    assert!(matches!(&told[..], [Action::NotifyAssignor { .. }]), "{told:?}");
}

/// A member of generation 1 that has taken up its partitions of `t`.
pub(crate) fn member(cooperative: bool, pairs: &[(&str, &str)], given: &[&str]) -> Bench<ClassicMember> {
    let mut bench = bench(cooperative, pairs);
    let actions = bench.subscribe(&["t"]);
    join(&mut bench, &actions, 1, given);
    let (added, all, actions) = bench.take_up();
    assert_eq!((added, all), (partitions(given), partitions(given)));
    assert!(actions.is_empty(), "{actions:?}");
    bench
}

/// Goes to the next heartbeat, and has it answered.
pub(crate) fn hear(bench: &mut Bench<ClassicMember>, code: ErrorCode) -> Vec<Action> {
    let (_, actions) = bench.next();
    let request_id = beating(&actions);
    bench.answer(request_id, beat(code))
}
