//! The subscriptions and assignments that members of classic groups exchange through the coordinator,
//! encoded as Java and librdkafka do.
//!
//! A version precedes each. A newer version is decoded as the newest known one, because versions only
//! append fields.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::Message;
use ottla_protocol::messages::consumer_protocol_assignment as assignment_message;
use ottla_protocol::messages::consumer_protocol_assignment::ConsumerProtocolAssignment;
use ottla_protocol::messages::consumer_protocol_subscription as subscription_message;
use ottla_protocol::messages::consumer_protocol_subscription::ConsumerProtocolSubscription;
use ottla_protocol::wire::{Reader, Writer};

use super::{MemberAssignment, MemberSubscription};
use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;

/// The version to encode, and the newest one to decode.
const VERSION: i16 = 3;

/// Encodes a subscription without its ids, which the coordinator knows.
pub fn encode_subscription(member: &MemberSubscription) -> Result<Bytes> {
    let mut topics: Vec<String> = member.topics.iter().map(ToString::to_string).collect();
    topics.sort_unstable();
    let owned = by_topic(&member.owned);
    let owned = owned.into_iter().map(|(topic, partitions)| subscription_message::TopicPartition {
        topic: topic.to_owned(),
        partitions,
    });
    encode(&ConsumerProtocolSubscription {
        topics,
        user_data: member.user_data.clone(),
        owned_partitions: owned.collect(),
        generation_id: member.generation,
        rack_id: member.rack.as_deref().map(str::to_owned),
    })
}

/// Decodes a subscription.
pub fn decode_subscription(
    member_id: Arc<str>,
    instance_id: Option<Arc<str>>,
    bytes: Bytes,
) -> Result<MemberSubscription> {
    let what = format!("the subscription of group member {member_id}");
    let decoded: ConsumerProtocolSubscription = decode(bytes).map_err(|error| error.prefixed(what))?;
    let owned = decoded.owned_partitions.into_iter();
    Ok(MemberSubscription {
        member_id,
        instance_id,
        topics: decoded.topics.into_iter().map(Arc::from).collect(),
        owned: owned.flat_map(|owned| partitions(owned.topic, owned.partitions)).collect(),
        generation: decoded.generation_id,
        rack: decoded.rack_id.map(Arc::from),
        user_data: decoded.user_data,
    })
}

/// Encodes an assignment.
pub fn encode_assignment(assignment: &MemberAssignment) -> Result<Bytes> {
    let assigned = by_topic(&assignment.partitions);
    let assigned = assigned.into_iter().map(|(topic, partitions)| assignment_message::TopicPartition {
        topic: topic.to_owned(),
        partitions,
    });
    encode(&ConsumerProtocolAssignment {
        assigned_partitions: assigned.collect(),
        user_data: assignment.user_data.clone(),
    })
}

/// Decodes an assignment. No bytes at all stand for no partitions.
pub fn decode_assignment(bytes: Bytes) -> Result<MemberAssignment> {
    if bytes.is_empty() {
        return Ok(MemberAssignment::default());
    }
    let assignment: ConsumerProtocolAssignment =
        decode(bytes).map_err(|error| error.prefixed("the assignment from the group's leader"))?;
    let assigned = assignment.assigned_partitions.into_iter();
    Ok(MemberAssignment {
        partitions: assigned
            .flat_map(|assignment| partitions(assignment.topic, assignment.partitions))
            .collect(),
        user_data: assignment.user_data,
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
        version => Err(Error::new(Kind::Protocol, format!("unknown version {version}"))),
    }
}

/// Groups partitions by topic, both in order.
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

/// The partitions of one topic; they share its name.
pub(super) fn partitions(topic: String, all: Vec<i32>) -> impl Iterator<Item = TopicPartition> {
    let topic: Arc<str> = topic.into();
    all.into_iter().map(move |partition| (Arc::clone(&topic), partition))
}
