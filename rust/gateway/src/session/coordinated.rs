//! [`Coordinated`]: a group or a transactional id, which a client's requests to its coordinator name.

use ottla_protocol::ApiKey;

use super::role::Role;
use crate::stream::RequestHead;

/// The longest name that is kept.
const NAME_MAX: usize = 256;

/// A group or a transactional id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Coordinated {
    /// Whether it is a group, a share group or a transactional id.
    pub role: Role,
    /// Its name.
    pub name: String,
}

impl Coordinated {
    /// What the request names, if it goes to the coordinator of one.
    pub(super) fn of(head: &RequestHead<'_>) -> Option<Self> {
        // In all of these the name is the first field.
        let role = match head.api {
            ApiKey::JoinGroup
            | ApiKey::SyncGroup
            | ApiKey::Heartbeat
            | ApiKey::ConsumerGroupHeartbeat
            | ApiKey::StreamsGroupHeartbeat
            | ApiKey::OffsetCommit => Role::Group,
            ApiKey::ShareGroupHeartbeat => Role::Share,
            ApiKey::AddPartitionsToTxn if head.version < FIRST_WITH_SEVERAL_IDS => Role::Transaction,
            ApiKey::AddOffsetsToTxn | ApiKey::EndTxn => Role::Transaction,
            _ => return None,
        };
        let name = head.first_string()?;
        let name = std::str::from_utf8(name).ok().filter(|name| (1..=NAME_MAX).contains(&name.len()))?;
        Some(Self { role, name: name.to_owned() })
    }
}

/// The first version of AddPartitionsToTxn that names several transactional ids, which only brokers send.
const FIRST_WITH_SEVERAL_IDS: i16 = 4;
