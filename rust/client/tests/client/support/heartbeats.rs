//! A test bench for a KIP-848 group member's state machine, and the coordinator's responses to it.

use ottla_client::consumer::group::consumer_protocol::ConsumerProtocol;
use ottla_client::consumer::group::{Action, Answer, Ask, Machine};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::{
    Assignment, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatTopicPartitions, TopicPartitions,
};
use tokio::time::Instant;

use crate::support::member::{Bench, fixed, id, metadata, partitions, sent, settings};

pub(crate) const STATIC: [(&str, &str); 1] = [("group.instance.id", "i")];
/// The heartbeat interval that the coordinator sets, in milliseconds.
pub(crate) const INTERVAL: u64 = 5_000;

pub(crate) fn bench(pairs: &[(&str, &str)]) -> Bench<ConsumerProtocol> {
    let all: Vec<_> = [("group.protocol", "consumer")].iter().chain(pairs).copied().collect();
    let now = Instant::now();
    Bench::of(ConsumerProtocol::new(settings(&all), fixed(), now), now)
}

/// Delivers the metadata.
pub(crate) fn learn(bench: &mut Bench<ConsumerProtocol>) -> Vec<Action> {
    bench.member.metadata(bench.now, &metadata(&[("t", 4), ("u", 4)]));
    bench.poll()
}

pub(crate) fn beating(actions: &[Action]) -> (u64, ConsumerGroupHeartbeatRequest) {
    match sent(actions) {
        (ticket, Ask::ConsumerHeartbeat(request)) => (ticket, request),
        other => panic!("no ConsumerGroupHeartbeat: {other:?}"),
    }
}

pub(crate) type Given<'a> = &'a [(u8, &'a [i32])];

/// A successful response.
pub(crate) fn fine(epoch: i32, given: Option<Given<'_>>) -> Answer {
    let topics = |given: Given<'_>| Assignment {
        topic_partitions: given
            .iter()
            .map(|(topic, partitions)| ConsumerGroupHeartbeatTopicPartitions {
                topic_id: id(*topic),
                partitions: partitions.to_vec(),
            })
            .collect(),
    };
    Answer::ConsumerHeartbeat(ConsumerGroupHeartbeatResponse {
        member_epoch: epoch,
        heartbeat_interval_ms: i32::try_from(INTERVAL).unwrap(),
        assignment: given.map(topics),
        ..Default::default()
    })
}

pub(crate) fn refused(code: ErrorCode) -> Answer {
    Answer::ConsumerHeartbeat(ConsumerGroupHeartbeatResponse {
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

/// Responds to the next heartbeat. Returns its request and the actions that follow.
pub(crate) fn hear(
    bench: &mut Bench<ConsumerProtocol>,
    answer: Answer,
) -> (ConsumerGroupHeartbeatRequest, Vec<Action>) {
    let (_, actions) = bench.next();
    let (ticket, request) = beating(&actions);
    (request, bench.answer(ticket, answer))
}

/// A member of epoch 1 that owns t-0 and t-1 and has reported them.
pub(crate) fn member(pairs: &[(&str, &str)]) -> Bench<ConsumerProtocol> {
    let mut bench = bench(pairs);
    let (ticket, _) = beating(&bench.subscribe(&["t"]));
    bench.answer(ticket, fine(1, Some(&[(1, &[0, 1])])));
    learn(&mut bench);
    let (added, all, actions) = bench.take_up();
    assert_eq!((added, all), (partitions(&["t-0", "t-1"]), partitions(&["t-0", "t-1"])));
    let (ticket, request) = beating(&actions);
    assert_eq!(request.topic_partitions, owned(&[(1, &[0, 1])]), "at once");
    assert!(bench.answer(ticket, fine(1, None)).is_empty());
    bench
}
