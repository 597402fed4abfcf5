//! [`Codes`]: the error code of each thing that a request names.

use std::cell::Cell;

use ottla_protocol::ErrorCode;
use ottla_protocol::wire::Uuid;

/// Something that a request names, and for which its response has an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named<'a> {
    /// The cluster as a whole, or a broker.
    Cluster,
    /// A topic, or one of its partitions.
    Topic(&'a str, Option<i32>),
    /// All topics: the request names none.
    AllTopics,
    /// A topic that the request creates besides what it is for.
    CreatedTopic(&'a str),
    /// A topic of which only the id is known, or one of its partitions.
    TopicId(Uuid, Option<i32>),
    /// A group of any kind.
    Group(&'a str),
    /// A transactional id.
    TransactionalId(&'a str),
    /// A delegation token.
    Token,
}

/// The types of resources with configurations of their own, as in Kafka's ConfigResource.
pub(crate) const RESOURCE_TOPIC: i8 = 2;
pub(crate) const RESOURCE_GROUP: i8 = 32;

/// Gives an error code to what a request names.
pub(crate) struct Codes<'a> {
    of: &'a dyn Fn(Named<'_>) -> Option<ErrorCode>,
    message: &'a str,
    any: Cell<bool>,
}

impl<'a> Codes<'a> {
    /// `of` returns `None` for what nothing speaks against; `message` is for humans, where a response has one.
    pub(crate) fn new(of: &'a dyn Fn(Named<'_>) -> Option<ErrorCode>, message: &'a str) -> Self {
        Self { of, message, any: Cell::new(false) }
    }

    /// Whether anything that the request names is refused; known after the response was made.
    pub(crate) fn any(&self) -> bool {
        self.any.get()
    }

    /// The message for humans, once something is refused.
    pub(super) fn message(&self) -> Option<String> {
        self.any().then(|| self.message.to_owned())
    }

    /// The code of something that is refused.
    pub(super) fn refused(&self, named: Named<'_>) -> Option<i16> {
        let code = (self.of)(named)?;
        self.any.set(true);
        Some(code.code())
    }

    /// The code of the first that is refused, or that nothing was done.
    pub(super) fn first<'n>(&self, named: impl IntoIterator<Item = Named<'n>>) -> i16 {
        let refused = named.into_iter().find_map(|named| self.refused(named));
        refused.unwrap_or(ErrorCode::OperationNotAttempted.code())
    }

    /// The code of a partition of a request that clients repeat when a leader has moved: it says so if nothing speaks
    /// against the partition, since then nothing was done and the client must not give up.
    pub(super) fn repeated(&self, topic: &str, partition: i32) -> i16 {
        let code = self.refused(Named::Topic(topic, Some(partition)));
        code.unwrap_or(ErrorCode::NotLeaderOrFollower.code())
    }

    /// As [`Codes::repeated`], with the topic's id where it has no name.
    pub(super) fn repeated_by_id(&self, topic: &str, id: Uuid, partition: i32) -> i16 {
        match topic {
            "" => {
                let code = self.refused(Named::TopicId(id, Some(partition)));
                code.unwrap_or(ErrorCode::NotLeaderOrFollower.code())
            }
            topic => self.repeated(topic, partition),
        }
    }

    pub(super) fn cluster(&self) -> i16 {
        self.first([Named::Cluster])
    }

    pub(super) fn topic(&self, topic: &str) -> i16 {
        self.first([Named::Topic(topic, None)])
    }

    pub(super) fn partition(&self, topic: &str, partition: i32) -> i16 {
        self.first([Named::Topic(topic, Some(partition))])
    }

    pub(super) fn group(&self, group: &str) -> i16 {
        self.first([Named::Group(group)])
    }

    pub(super) fn transactional_id(&self, id: &str) -> i16 {
        self.first([Named::TransactionalId(id)])
    }

    pub(super) fn token(&self) -> i16 {
        self.first([Named::Token])
    }

    /// The code of a resource with configurations.
    pub(super) fn resource(&self, kind: i8, name: &str) -> i16 {
        match kind {
            RESOURCE_TOPIC => self.topic(name),
            RESOURCE_GROUP => self.group(name),
            _ => self.cluster(),
        }
    }
}
