//! A test bench for a classic group member's state machine, and the coordinator's responses to it.

use ottla_client::consumer::assignor::{MemberAssignment, MemberSubscription, encode_assignment};
use ottla_client::consumer::group::classic::Classic;
use ottla_client::consumer::group::{Action, Answer, Ask};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::heartbeat::HeartbeatResponse;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse};
use ottla_protocol::messages::leave_group::LeaveGroupRequest;
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};
use tokio::time::Instant;

use crate::support::member::{Bench, fixed, partitions, sent, settings};

pub(crate) const STATIC: [(&str, &str); 1] = [("group.instance.id", "i")];

pub(crate) fn bench(cooperative: bool, pairs: &[(&str, &str)]) -> Bench<Classic> {
    let fast = [("session.timeout.ms", "10000"), ("heartbeat.interval.ms", "3000")];
    let all: Vec<_> = fast.iter().chain(pairs).copied().collect();
    Bench::of(Classic::new(settings(&all), cooperative, fixed()), Instant::now())
}

pub(crate) fn joining(actions: &[Action]) -> (u64, JoinGroupRequest, MemberSubscription) {
    match sent(actions) {
        (ticket, Ask::Join { request, subscription, .. }) => (ticket, request, subscription),
        other => panic!("no JoinGroup: {other:?}"),
    }
}

pub(crate) fn syncing(actions: &[Action]) -> (u64, SyncGroupRequest) {
    match sent(actions) {
        (ticket, Ask::Sync(request)) => (ticket, request),
        other => panic!("no SyncGroup: {other:?}"),
    }
}

pub(crate) fn beating(actions: &[Action]) -> u64 {
    match sent(actions) {
        (ticket, Ask::Heartbeat(_)) => ticket,
        other => panic!("no Heartbeat: {other:?}"),
    }
}

pub(crate) fn leaving(actions: &[Action]) -> (u64, LeaveGroupRequest) {
    match sent(actions) {
        (ticket, Ask::Leave(request)) => (ticket, request),
        other => panic!("no LeaveGroup: {other:?}"),
    }
}

pub(crate) fn joined(generation: i32) -> Answer {
    Answer::Join(JoinGroupResponse {
        generation_id: generation,
        protocol_type: Some("consumer".to_owned()),
        protocol_name: Some("range".to_owned()),
        leader: "other".to_owned(),
        member_id: "me".to_owned(),
        ..Default::default()
    })
}

pub(crate) fn join_refused(code: ErrorCode) -> Answer {
    Answer::Join(JoinGroupResponse { error_code: code.code(), ..Default::default() })
}

pub(crate) fn synced(given: &[&str]) -> Answer {
    let given = MemberAssignment { partitions: partitions(given), user_data: None };
    Answer::Sync(SyncGroupResponse {
        protocol_type: Some("consumer".to_owned()),
        protocol_name: Some("range".to_owned()),
        assignment: encode_assignment(&given).expect("an assignment"),
        ..Default::default()
    })
}

pub(crate) fn sync_refused(code: ErrorCode) -> Answer {
    Answer::Sync(SyncGroupResponse { error_code: code.code(), ..Default::default() })
}

pub(crate) fn beat(code: ErrorCode) -> Answer {
    Answer::Heartbeat(HeartbeatResponse { error_code: code.code(), ..Default::default() })
}

/// Completes JoinGroup and SyncGroup of a follower; the assignment is then queued for the application.
pub(crate) fn join(bench: &mut Bench<Classic>, actions: &[Action], generation: i32, given: &[&str]) {
    let (ticket, _, _) = joining(actions);
    let (ticket, sync) = syncing(&bench.answer(ticket, joined(generation)));
    assert_eq!((sync.generation_id, &*sync.member_id), (generation, "me"));
    let told = bench.answer(ticket, synced(given));
    assert!(matches!(&told[..], [Action::Tell { .. }]), "{told:?}");
}

/// A member of generation 1 that owns its partitions of `t`.
pub(crate) fn member(cooperative: bool, pairs: &[(&str, &str)], given: &[&str]) -> Bench<Classic> {
    let mut bench = bench(cooperative, pairs);
    let actions = bench.subscribe(&["t"]);
    join(&mut bench, &actions, 1, given);
    let (added, all, actions) = bench.take_up();
    assert_eq!((added, all), (partitions(given), partitions(given)));
    assert!(actions.is_empty(), "{actions:?}");
    bench
}

/// Advances to the next heartbeat and responds to it.
pub(crate) fn hear(bench: &mut Bench<Classic>, code: ErrorCode) -> Vec<Action> {
    let (_, actions) = bench.next();
    let ticket = beating(&actions);
    bench.answer(ticket, beat(code))
}
