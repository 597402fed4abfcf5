//! A harness for a KIP-848 member, with requests and responses.

use ottla_client::consumer::group::consumer_protocol::ConsumerMember;
use ottla_client::consumer::group::{Action, GroupRequest, GroupResponse, MembershipManager};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::{
    Assignment, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions, TopicPartitions,
};
use tokio::time::Instant;

use crate::support::member::{Harness, fixed_environment, id, metadata, partitions, sent, settings};

pub(crate) const STATIC: [(&str, &str); 1] = [("group.instance.id", "i")];
/// The heartbeat interval that the coordinator sets.
pub(crate) const INTERVAL: u64 = 5_000;

pub(crate) fn harness(pairs: &[(&str, &str)]) -> Harness<ConsumerMember> {
    let all: Vec<_> = [("group.protocol", "consumer")].iter().chain(pairs).copied().collect();
    let now = Instant::now();
    Harness::of(ConsumerMember::new(settings(&all), fixed_environment(), now), now)
}

/// Loads the metadata of all topics.
pub(crate) fn load_metadata(harness: &mut Harness<ConsumerMember>) -> Vec<Action> {
    harness.member.update_metadata(harness.now, &metadata(&[("t", 4), ("u", 4)]));
    harness.poll()
}

pub(crate) fn heartbeat_request(actions: &[Action]) -> (u64, ConsumerGroupHeartbeatRequest) {
    match sent(actions) {
        (request_id, GroupRequest::ConsumerHeartbeat(request)) => (request_id, request),
        other => panic!("no ConsumerGroupHeartbeat: {other:?}"),
    }
}

pub(crate) type Assigned<'a> = &'a [(u8, &'a [i32])];

/// A successful response.
pub(crate) fn ok_response(epoch: i32, assigned: Option<Assigned<'_>>) -> GroupResponse {
    let topics = |assigned: Assigned<'_>| Assignment {
        topic_partitions: assigned
            .iter()
            .map(|(topic, partitions)| ConsumerGroupHeartbeatTopicPartitions {
                topic_id: id(*topic),
                partitions: partitions.to_vec(),
            })
            .collect(),
    };
    GroupResponse::ConsumerHeartbeat(ConsumerGroupHeartbeatResponse {
        member_epoch: epoch,
        heartbeat_interval_ms: i32::try_from(INTERVAL).unwrap(),
        assignment: assigned.map(topics),
        ..Default::default()
    })
}

pub(crate) fn error_response(code: ErrorCode) -> GroupResponse {
    GroupResponse::ConsumerHeartbeat(ConsumerGroupHeartbeatResponse {
        error_code: code.code(),
        error_message: Some("says why".to_owned()),
        ..Default::default()
    })
}

pub(crate) fn owned(assigned: Assigned<'_>) -> Option<Vec<TopicPartitions>> {
    let topic = |(topic, partitions): &(u8, &[i32])| TopicPartitions {
        topic_id: id(*topic),
        partitions: partitions.to_vec(),
    };
    Some(assigned.iter().map(topic).collect())
}

/// Responds to the next heartbeat; returns its request and the resulting actions.
pub(crate) fn respond_to_heartbeat(
    harness: &mut Harness<ConsumerMember>,
    response: GroupResponse,
) -> (ConsumerGroupHeartbeatRequest, Vec<Action>) {
    let (_, actions) = harness.next();
    let (request_id, request) = heartbeat_request(&actions);
    (request, harness.respond(request_id, response))
}

/// A member of epoch 1 that owns t-0 and t-1 and has reported them.
pub(crate) fn member(pairs: &[(&str, &str)]) -> Harness<ConsumerMember> {
    let mut harness = harness(pairs);
    let (request_id, _) = heartbeat_request(&harness.subscribe(&["t"]));
    harness.respond(request_id, ok_response(1, Some(&[(1, &[0, 1])])));
    load_metadata(&mut harness);
    let (added, all, actions) = harness.complete_assignment();
    assert_eq!((added, all), (partitions(&["t-0", "t-1"]), partitions(&["t-0", "t-1"])));
    let (request_id, request) = heartbeat_request(&actions);
    assert_eq!(request.topic_partitions, owned(&[(1, &[0, 1])]), "at once");
    assert!(harness.respond(request_id, ok_response(1, None)).is_empty());
    harness
}
