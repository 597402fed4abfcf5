//! A harness for a member of a share group, with requests and responses.

use ottla_client::TopicPartition;
use ottla_client::consumer::group::share_protocol::ShareMember;
use ottla_client::consumer::group::{Action, GroupRequest, GroupResponse, MembershipManager};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::share_group_heartbeat::{
    Assignment, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse, TopicPartitions,
};
use tokio::time::Instant;

use crate::support::heartbeats::{Assigned, INTERVAL};
use crate::support::member::{Harness, fixed_environment, id, metadata, partitions, sent, settings};

pub(crate) fn harness(pairs: &[(&str, &str)]) -> Harness<ShareMember> {
    let now = Instant::now();
    Harness::of(ShareMember::new(settings(pairs), fixed_environment(), now), now)
}

/// Loads the metadata of all topics.
pub(crate) fn load_metadata(harness: &mut Harness<ShareMember>) -> Vec<Action> {
    harness.member.update_metadata(harness.now, &metadata(&[("t", 4), ("u", 4)]));
    harness.poll()
}

pub(crate) fn heartbeat_request(actions: &[Action]) -> (u64, ShareGroupHeartbeatRequest) {
    match sent(actions) {
        (request_id, GroupRequest::ShareHeartbeat(request)) => (request_id, request),
        other => panic!("no ShareGroupHeartbeat: {other:?}"),
    }
}

/// The response without an error.
pub(crate) fn success(epoch: i32, assigned: Option<Assigned<'_>>) -> ShareGroupHeartbeatResponse {
    let topics = |assigned: Assigned<'_>| Assignment {
        topic_partitions: assigned
            .iter()
            .map(|(topic, partitions)| TopicPartitions {
                topic_id: id(*topic),
                partitions: partitions.to_vec(),
            })
            .collect(),
    };
    ShareGroupHeartbeatResponse {
        member_epoch: epoch,
        heartbeat_interval_ms: i32::try_from(INTERVAL).unwrap(),
        assignment: assigned.map(topics),
        ..Default::default()
    }
}

pub(crate) fn ok_response(epoch: i32, assigned: Option<Assigned<'_>>) -> GroupResponse {
    GroupResponse::ShareHeartbeat(success(epoch, assigned))
}

pub(crate) fn error_response(code: ErrorCode) -> GroupResponse {
    GroupResponse::ShareHeartbeat(ShareGroupHeartbeatResponse {
        error_code: code.code(),
        error_message: Some("says why".to_owned()),
        ..Default::default()
    })
}

/// The names of a full heartbeat or of a changed subscription.
pub(crate) fn subscribed(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(ToString::to_string).collect())
}

/// Responds to the next heartbeat; returns its request and the resulting actions.
pub(crate) fn respond_to_heartbeat(
    harness: &mut Harness<ShareMember>,
    response: GroupResponse,
) -> (ShareGroupHeartbeatRequest, Vec<Action>) {
    let (_, actions) = harness.next();
    let (request_id, request) = heartbeat_request(&actions);
    (request, harness.respond(request_id, response))
}

/// A member of epoch 1 whose application has received t-0 and t-1.
pub(crate) fn member(pairs: &[(&str, &str)]) -> Harness<ShareMember> {
    let mut harness = harness(pairs);
    let (request_id, _) = heartbeat_request(&harness.subscribe(&["t"]));
    harness.respond(request_id, ok_response(1, Some(&[(1, &[0, 1])])));
    load_metadata(&mut harness);
    assert_eq!(all_assigned(&mut harness), partitions(&["t-0", "t-1"]));
    harness
}

/// Completes an assignment; returns all partitions, which is what a share consumer uses.
pub(crate) fn all_assigned(harness: &mut Harness<ShareMember>) -> Vec<TopicPartition> {
    let (_, all, actions) = harness.complete_assignment();
    assert!(actions.is_empty(), "the coordinator waits for nothing: {actions:?}");
    all
}
