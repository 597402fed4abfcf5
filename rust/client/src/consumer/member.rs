//! Who a consumer is in its group: what a commit shows, so that the coordinator can tell a member
//! from one that was thrown out.

use std::sync::Arc;

/// A member of a group as the coordinator knows it; or one that reads without membership and only
/// keeps its offsets there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The group.
    pub group_id: Arc<str>,
    /// The group's generation (classic groups) or the member's epoch (KIP-848); -1 without membership.
    pub generation: i32,
    /// The member's id; empty without membership.
    pub member_id: Arc<str>,
    /// `group.instance.id`, of a static member (KIP-345).
    pub instance_id: Option<Arc<str>>,
}

impl Member {
    /// Nobody: whoever assigns its partitions itself and commits to a group that has no members.
    #[must_use]
    pub fn none(group_id: impl Into<Arc<str>>) -> Self {
        Self { group_id: group_id.into(), generation: -1, member_id: "".into(), instance_id: None }
    }
}
