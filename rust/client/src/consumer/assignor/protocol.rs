//! What members of classic groups of consumers tell each other through the coordinator, which does
//! not look into it: subscriptions and assignments, as Java and librdkafka write them.
//!
//! A version goes before each. One that is newer than ours is read as ours: newer ones add fields at
//! the end.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::Message;
use ottla_protocol::messages::consumer_protocol_assignment as assignment;
use ottla_protocol::messages::consumer_protocol_assignment::ConsumerProtocolAssignment;
use ottla_protocol::messages::consumer_protocol_subscription as subscription;
use ottla_protocol::messages::consumer_protocol_subscription::ConsumerProtocolSubscription;
use ottla_protocol::wire::{Reader, Writer};

use super::{MemberAssignment, MemberSubscription};
use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;

/// The version that is written, and the highest that is understood.
const VERSION: i16 = 3;

/// What a member tells the group's leader. Its ids are not part of it: the coordinator knows them.
pub fn encode_subscription(member: &MemberSubscription) -> Result<Bytes> {
    let mut topics: Vec<String> = member.topics.iter().map(ToString::to_string).collect();
    topics.sort_unstable();
    let owned = by_topic(&member.owned);
    let owned = owned
        .into_iter()
        .map(|(topic, partitions)| subscription::TopicPartition { topic: topic.to_owned(), partitions });
    encode(&ConsumerProtocolSubscription {
        topics,
        user_data: member.user_data.clone(),
        owned_partitions: owned.collect(),
        generation_id: member.generation,
        rack_id: member.rack.as_deref().map(str::to_owned),
    })
}

/// What a member has told of itself.
pub fn decode_subscription(
    member_id: Arc<str>,
    instance_id: Option<Arc<str>>,
    bytes: Bytes,
) -> Result<MemberSubscription> {
    let what = format!("the subscription of the group's member {member_id}");
    let told: ConsumerProtocolSubscription = decode(bytes).map_err(|error| error.prefixed(what))?;
    let owned = told.owned_partitions.into_iter();
    Ok(MemberSubscription {
        member_id,
        instance_id,
        topics: told.topics.into_iter().map(Arc::from).collect(),
        owned: owned.flat_map(|owned| partitions(owned.topic, owned.partitions)).collect(),
        generation: told.generation_id,
        rack: told.rack_id.map(Arc::from),
        user_data: told.user_data,
    })
}

/// What the leader gives a member.
pub fn encode_assignment(given: &MemberAssignment) -> Result<Bytes> {
    let assigned = by_topic(&given.partitions);
    let assigned = assigned
        .into_iter()
        .map(|(topic, partitions)| assignment::TopicPartition { topic: topic.to_owned(), partitions });
    encode(&ConsumerProtocolAssignment {
        assigned_partitions: assigned.collect(),
        user_data: given.user_data.clone(),
    })
}

/// What the leader has given a member. No bytes at all are what it did not think of: no partitions.
pub fn decode_assignment(bytes: Bytes) -> Result<MemberAssignment> {
    if bytes.is_empty() {
        return Ok(MemberAssignment::default());
    }
    let given: ConsumerProtocolAssignment =
        decode(bytes).map_err(|error| error.prefixed("the assignment by the group's leader"))?;
    let assigned = given.assigned_partitions.into_iter();
    Ok(MemberAssignment {
        partitions: assigned.flat_map(|given| partitions(given.topic, given.partitions)).collect(),
        user_data: given.user_data,
    })
}

fn encode<M: Message>(message: &M) -> Result<Bytes> {
    let mut w = Writer::new();
    w.i16(VERSION);
    message.encode(&mut w, VERSION)?;
    Ok(w.finish().to_bytes())
}

fn decode<M: Message>(bytes: Bytes) -> Result<M> {
    let mut r = Reader::new(bytes);
    match r.i16()? {
        version @ 0.. => Ok(M::decode(&mut r, version.min(VERSION))?),
        version => Err(Error::new(Kind::Protocol, format!("there is no version {version}"))),
    }
}

/// Partitions by topic, both in order.
pub(super) fn by_topic(all: &[TopicPartition]) -> BTreeMap<&str, Vec<i32>> {
    let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in all {
        topics.entry(topic).or_default().push(*partition);
    }
    for partitions in topics.values_mut() {
        partitions.sort_unstable();
    }
    topics
}

/// The partitions of one topic, which share its name.
pub(super) fn partitions(topic: String, all: Vec<i32>) -> impl Iterator<Item = TopicPartition> {
    let topic: Arc<str> = topic.into();
    all.into_iter().map(move |partition| (Arc::clone(&topic), partition))
}
