//! The identity of a consumer in its group. Commits carry it, so that the coordinator can reject members
//! that were removed.

use std::sync::Arc;

/// A group member's identity, or that of a consumer that only commits offsets to a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerGroupMetadata {
    /// The group id.
    pub group_id: Arc<str>,
    /// The generation (classic groups) or the member epoch (KIP-848); -1 without membership.
    pub generation: i32,
    /// The member id; empty without membership.
    pub member_id: Arc<str>,
    /// `group.instance.id` of a static member (KIP-345).
    pub instance_id: Option<Arc<str>>,
}

impl ConsumerGroupMetadata {
    /// The identity of a consumer with assigned partitions, which commits to a group without members.
    #[must_use]
    pub fn without_member(group_id: impl Into<Arc<str>>) -> Self {
        Self { group_id: group_id.into(), generation: -1, member_id: "".into(), instance_id: None }
    }
}
