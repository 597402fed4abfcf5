//! The permission that a request lacked, by its API and the error code, and the commands that grant it.
//!
//! Invariant: the operation is the one that Kafka's broker checks (the table "Operations and resources on
//! protocols" of its documentation), or one that includes it where the request alone would not do.

use ottla_protocol::{ApiKey, ErrorCode};

use super::Error;
use crate::printable::printable;
use crate::shell::quote;

/// The kinds of resources that have access control entries.
#[derive(Clone, Copy)]
enum Resource {
    Topic,
    Group,
    TransactionalId,
    Cluster,
}

impl Resource {
    fn of(code: ErrorCode) -> Option<Self> {
        match code {
            ErrorCode::TopicAuthorizationFailed => Some(Self::Topic),
            ErrorCode::GroupAuthorizationFailed => Some(Self::Group),
            ErrorCode::TransactionalIdAuthorizationFailed => Some(Self::TransactionalId),
            ErrorCode::ClusterAuthorizationFailed => Some(Self::Cluster),
            _ => None,
        }
    }

    /// In a sentence, and as an option of both commands.
    fn named(self, name: &str) -> (String, String) {
        match self {
            Self::Topic => (format!("topic {}", printable(name)), format!("--topic {}", quoted(name))),
            Self::Group => (format!("group {}", printable(name)), format!("--group {}", quoted(name))),
            Self::TransactionalId => (
                format!("transactional id {}", printable(name)),
                format!("--transactional-id {}", quoted(name)),
            ),
            Self::Cluster => ("the cluster".to_owned(), "--cluster".to_owned()),
        }
    }
}

fn quoted(name: &str) -> String {
    quote(&printable(name).to_string())
}

/// Kafka's name of the operation.
fn operation(resource: Resource, api: ApiKey) -> Option<&'static str> {
    use ApiKey as A;
    match resource {
        Resource::Topic => match api {
            A::Produce | A::AddPartitionsToTxn => Some("Write"),
            A::Fetch
            | A::ShareFetch
            | A::ShareAcknowledge
            | A::OffsetCommit
            | A::TxnOffsetCommit
            | A::OffsetDelete
            | A::DescribeProducers
            | A::AlterShareGroupOffsets
            | A::DeleteShareGroupOffsets => Some("Read"),
            A::Metadata
            | A::ListOffsets
            | A::OffsetFetch
            | A::OffsetForLeaderEpoch
            | A::DescribeTopicPartitions
            | A::DescribeLogDirs
            | A::DescribeShareGroupOffsets
            | A::ConsumerGroupHeartbeat
            | A::ShareGroupHeartbeat
            | A::ConsumerGroupDescribe
            | A::ShareGroupDescribe => Some("Describe"),
            A::CreateTopics => Some("Create"),
            A::DeleteTopics | A::DeleteRecords => Some("Delete"),
            A::CreatePartitions => Some("Alter"),
            A::DescribeConfigs => Some("DescribeConfigs"),
            A::IncrementalAlterConfigs | A::AlterConfigs => Some("AlterConfigs"),
            _ => None,
        },
        Resource::Group => match api {
            // The lookup needs Describe only, but what follows it needs Read, which includes it.
            A::FindCoordinator
            | A::JoinGroup
            | A::SyncGroup
            | A::Heartbeat
            | A::LeaveGroup
            | A::OffsetCommit
            | A::TxnOffsetCommit
            | A::AddOffsetsToTxn
            | A::ConsumerGroupHeartbeat
            | A::ShareGroupHeartbeat
            | A::ShareFetch
            | A::ShareAcknowledge
            | A::AlterShareGroupOffsets => Some("Read"),
            A::OffsetFetch
            | A::DescribeGroups
            | A::ConsumerGroupDescribe
            | A::ShareGroupDescribe
            | A::StreamsGroupDescribe
            | A::DescribeShareGroupOffsets
            | A::ListGroups => Some("Describe"),
            A::DeleteGroups | A::OffsetDelete | A::DeleteShareGroupOffsets => Some("Delete"),
            A::DescribeConfigs => Some("DescribeConfigs"),
            A::IncrementalAlterConfigs => Some("AlterConfigs"),
            _ => None,
        },
        Resource::TransactionalId => match api {
            A::FindCoordinator
            | A::InitProducerId
            | A::AddPartitionsToTxn
            | A::AddOffsetsToTxn
            | A::TxnOffsetCommit
            | A::EndTxn
            | A::Produce => Some("Write"),
            A::DescribeTransactions | A::ListTransactions => Some("Describe"),
            _ => None,
        },
        Resource::Cluster => match api {
            A::InitProducerId | A::Produce => Some("IdempotentWrite"),
            A::CreateTopics => Some("Create"),
            A::Metadata
            | A::DescribeCluster
            | A::DescribeAcls
            | A::DescribeLogDirs
            | A::DescribeUserScramCredentials
            | A::DescribeQuorum
            | A::ListGroups
            | A::ListPartitionReassignments => Some("Describe"),
            A::CreateAcls
            | A::DeleteAcls
            | A::AlterUserScramCredentials
            | A::AlterPartitionReassignments
            | A::AlterReplicaLogDirs
            | A::ElectLeaders
            | A::UpdateFeatures
            | A::UnregisterBroker
            | A::AddRaftVoter
            | A::RemoveRaftVoter => Some("Alter"),
            A::DescribeConfigs | A::DescribeClientQuotas | A::ListConfigResources => Some("DescribeConfigs"),
            A::IncrementalAlterConfigs | A::AlterConfigs | A::AlterClientQuotas => Some("AlterConfigs"),
            A::WriteTxnMarkers => Some("ClusterAction"),
            _ => None,
        },
    }
}

/// `DescribeConfigs` as `describe_configs`.
fn snake_case(operation: &str) -> String {
    let mut out = String::new();
    for (at, letter) in operation.chars().enumerate() {
        if letter.is_ascii_uppercase() && at > 0 {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

impl Error {
    /// Says which permission a request of `api` lacked, and how to grant it, if that is why it was refused. `name`
    /// is the topic, group or transactional id that the code is about.
    #[must_use]
    pub fn lacking(self, api: ApiKey, name: &str) -> Self {
        let Some(code) = self.code() else { return self };
        let Some(resource) = Resource::of(code) else { return self };
        let Some(operation) = operation(resource, api) else { return self };
        let (place, option) = resource.named(name);
        self.with_message(format!(
            "{} ({}): the principal lacks {operation} on {place}; grant it with `ottla acls create --principal \
             User:NAME --allow {} {option}`, or Kafka's `kafka-acls.sh --add --allow-principal User:NAME --operation \
             {operation} {option}`",
            code.name(),
            code.code(),
            snake_case(operation),
        ))
    }
}

/// Of a request about a topic and something else, such as a group: the name that a code is about.
#[must_use]
pub fn either<'a>(code: ErrorCode, topic: &'a str, other: &'a str) -> &'a str {
    if code == ErrorCode::TopicAuthorizationFailed { topic } else { other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operation_and_both_commands_are_named() {
        let error =
            Error::from_code(ErrorCode::TopicAuthorizationFailed).lacking(ApiKey::DescribeConfigs, "a b");
        assert_eq!(
            error.message(),
            "TOPIC_AUTHORIZATION_FAILED (29): the principal lacks DescribeConfigs on topic a b; grant it with \
             `ottla acls create --principal User:NAME --allow describe_configs --topic 'a b'`, or Kafka's \
             `kafka-acls.sh --add --allow-principal User:NAME --operation DescribeConfigs --topic 'a b'`"
        );
        let error =
            Error::from_code(ErrorCode::ClusterAuthorizationFailed).lacking(ApiKey::InitProducerId, "");
        assert!(error.message().contains("--allow idempotent_write --cluster`"), "{error}");
    }

    #[test]
    fn other_errors_keep_their_messages() {
        for code in ErrorCode::ALL.iter().copied().filter(|code| Resource::of(*code).is_none()) {
            let error = Error::from_code(code).lacking(ApiKey::Fetch, "orders");
            assert_eq!(error.message(), Error::from_code(code).message());
        }
        let unlikely = Error::from_code(ErrorCode::GroupAuthorizationFailed).lacking(ApiKey::Fetch, "orders");
        assert_eq!(unlikely.message(), Error::from_code(ErrorCode::GroupAuthorizationFailed).message());
    }
}
