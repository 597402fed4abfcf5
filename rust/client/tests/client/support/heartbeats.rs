//! A member of a KIP-848 group on the bench, and what a coordinator says to it.

use ottla_client::consumer::group::consumer_protocol::ConsumerMember;
use ottla_client::consumer::group::{Action, GroupRequest, GroupResponse, MembershipManager};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::{
    Assignment, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions, TopicPartitions,
};
use tokio::time::Instant;

use crate::support::member::{Bench, fixed, id, metadata, partitions, sent, settings};

pub(crate) const STATIC: [(&str, &str); 1] = [("group.instance.id", "i")];
/// What the coordinator wants heartbeats to be apart.
pub(crate) const INTERVAL: u64 = 5_000;

pub(crate) fn bench(pairs: &[(&str, &str)]) -> Bench<ConsumerMember> {
    let all: Vec<_> = [("group.protocol", "consumer")].iter().chain(pairs).copied().collect();
    let now = Instant::now();
    Bench::of(ConsumerMember::new(settings(&all), fixed(), now), now)
}

/// The metadata comes.
pub(crate) fn learn(bench: &mut Bench<ConsumerMember>) -> Vec<Action> {
    bench.member.update_metadata(bench.now, &metadata(&[("t", 4), ("u", 4)]));
    bench.poll()
}

pub(crate) fn beating(actions: &[Action]) -> (u64, ConsumerGroupHeartbeatRequest) {
    match sent(actions) {
        (request_id, GroupRequest::ConsumerHeartbeat(request)) => (request_id, request),
        other => panic!("no ConsumerGroupHeartbeat: {other:?}"),
    }
}

pub(crate) type Given<'a> = &'a [(u8, &'a [i32])];

/// An answer that says that all is well.
pub(crate) fn fine(epoch: i32, given: Option<Given<'_>>) -> GroupResponse {
    let topics = |given: Given<'_>| Assignment {
        topic_partitions: given
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
        assignment: given.map(topics),
        ..Default::default()
    })
}

pub(crate) fn refused(code: ErrorCode) -> GroupResponse {
    GroupResponse::ConsumerHeartbeat(ConsumerGroupHeartbeatResponse {
        error_code: code.code(),
        error_message: Some("says why".to_owned()),
        ..Default::default()
    })
}

pub(crate) fn owned(given: Given<'_>) -> Option<Vec<TopicPartitions>> {
    let topic = |(topic, partitions): &(u8, &[i32])| TopicPartitions {
        topic_id: id(*topic),
        partitions: partitions.to_vec(),
    };
    Some(given.iter().map(topic).collect())
}

/// Has the next heartbeat answered, and gives the request and what is to be done then.
pub(crate) fn hear(
    bench: &mut Bench<ConsumerMember>,
    answer: GroupResponse,
) -> (ConsumerGroupHeartbeatRequest, Vec<Action>) {
    let (_, actions) = bench.next();
    let (request_id, request) = beating(&actions);
    (request, bench.answer(request_id, answer))
}

/// A member of epoch 1 that has t-0 and t-1, and has said so.
pub(crate) fn member(pairs: &[(&str, &str)]) -> Bench<ConsumerMember> {
    let mut bench = bench(pairs);
    let (request_id, _) = beating(&bench.subscribe(&["t"]));
    bench.answer(request_id, fine(1, Some(&[(1, &[0, 1])])));
    learn(&mut bench);
    let (added, all, actions) = bench.take_up();
    assert_eq!((added, all), (partitions(&["t-0", "t-1"]), partitions(&["t-0", "t-1"])));
    let (request_id, request) = beating(&actions);
    assert_eq!(request.topic_partitions, owned(&[(1, &[0, 1])]), "at once");
    assert!(bench.answer(request_id, fine(1, None)).is_empty());
    bench
}
