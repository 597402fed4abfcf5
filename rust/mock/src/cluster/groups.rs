//! What tests do with groups: inspect them, move their coordinators, expire members and offsets.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use crate::MockCluster;
use crate::group::classic::ClassicGroup;
use crate::group::consumer::{ConsumerGroup, Partitions};
use crate::group::share::ShareGroup;
use crate::group::{CommittedOffset, Group, Kind, consumer_protocol, share};
use crate::info::{GroupInfo, MemberInfo};
use crate::state::{ApiError, ClusterState};

impl MockCluster {
    /// The broker that coordinates a group or a transactional id; `None` if no broker runs.
    #[must_use]
    pub fn coordinator(&self, key: &str) -> Option<i32> {
        self.shared.state.lock().coordinator(key)
    }

    /// Makes another broker the coordinator of a group or a transactional id. What the old coordinator had
    /// not written yet is lost: the members of a first generation that is incomplete.
    pub fn move_coordinator(&self, key: &str, to: i32) -> Result<(), ApiError> {
        let now = Instant::now();
        self.shared.change(|state| state.move_coordinator(key, to, now))
    }

    /// Returns a group's current state; `None` if it does not exist.
    #[must_use]
    pub fn group(&self, group: &str) -> Option<GroupInfo> {
        self.with_current_state(group, |state| state.groups.get(group).map(|group| show(group, state)))
    }

    /// The members of a group; empty if the group does not exist.
    #[must_use]
    pub fn members(&self, group: &str) -> Vec<MemberInfo> {
        self.group(group).map(|group| group.members).unwrap_or_default()
    }

    /// Expires a member's session, as if its heartbeats had stopped.
    pub fn expire_member(&self, group: &str, member_id: &str) -> Result<(), ApiError> {
        let now = Instant::now();
        let error = |code: ErrorCode| ApiError::new(code, format!("{member_id} in group {group}"));
        let expired = self.with_current_state(group, |state| {
            let found = state.groups.get_mut(group).ok_or(ErrorCode::GroupIdNotFound)?;
            found.expire(member_id, now)
        });
        expired.map_err(error)
    }

    /// The offset that a group has committed for a partition.
    #[must_use]
    pub fn committed(&self, group: &str, topic: &str, partition: i32) -> Option<CommittedOffset> {
        self.shared.state.lock().groups.get(group)?.offsets.get(topic, partition).cloned()
    }

    /// All offsets that a group has committed, by topic and partition.
    #[must_use]
    pub fn committed_offsets(&self, group: &str) -> BTreeMap<(String, i32), CommittedOffset> {
        let state = self.shared.state.lock();
        let Some(group) = state.groups.get(group) else { return BTreeMap::new() };
        let topics = group.offsets.all();
        let flat = topics.flat_map(|(topic, offsets)| {
            offsets.iter().map(|(partition, offset)| ((topic.clone(), *partition), offset.clone()))
        });
        flat.collect()
    }

    /// Commits an offset for a group, whether or not it has members.
    pub fn commit(&self, group: &str, topic: &str, partition: i32, offset: i64) {
        let offset = CommittedOffset { offset, leader_epoch: -1, metadata: String::new() };
        self.shared
            .change(|state| state.groups.get_or_create(group).offsets.commit(topic, partition, offset));
    }

    /// Deletes a committed offset, as after `offsets.retention.minutes`.
    pub fn expire_offset(&self, group: &str, topic: &str, partition: i32) {
        self.shared.change(|state| {
            if let Some(group) = state.groups.get_mut(group) {
                group.offsets.delete(topic, partition);
            }
        });
    }

    /// Marks a partition's offset as pending in an open transaction: an OffsetFetch with `require_stable`
    /// then gets UNSTABLE_OFFSET_COMMIT.
    pub fn set_offset_pending(&self, group: &str, topic: &str, partition: i32, pending: bool) {
        self.shared.change(|state| {
            state.groups.get_or_create(group).offsets.set_pending(topic, partition, pending);
        });
    }

    fn with_current_state<T>(&self, group: &str, read: impl FnOnce(&mut ClusterState) -> T) -> T {
        let now = Instant::now();
        self.shared.change(|state| {
            state.groups.advance(group, now);
            read(state)
        })
    }
}

fn show(group: &Group, state: &ClusterState) -> GroupInfo {
    match &group.kind {
        Kind::Classic(classic) => show_classic(group, classic),
        Kind::Consumer(consumer) => show_consumer(group, consumer, state),
        Kind::Share(share) => show_share(group, share, state),
    }
}

fn show_consumer(group: &Group, consumer: &ConsumerGroup, state: &ClusterState) -> GroupInfo {
    let members = consumer.members().iter().map(|(id, member)| MemberInfo {
        id: id.clone(),
        instance_id: member.instance_id.clone(),
        client_id: member.client_id.clone(),
        epoch: member.epoch,
        assignment: named(&member.assigned, state),
    });
    GroupInfo {
        state: group.state().to_owned(),
        kind: group.kind_name().to_owned(),
        protocol_type: group.protocol_type().to_owned(),
        protocol: Some(consumer.assignor().name().to_owned()),
        generation: consumer.epoch(),
        leader: None,
        members: members.collect(),
    }
}

fn show_share(group: &Group, share: &ShareGroup, state: &ClusterState) -> GroupInfo {
    let members = share.members().iter().map(|(id, member)| MemberInfo {
        id: id.clone(),
        instance_id: None,
        client_id: member.client_id.clone(),
        epoch: member.epoch,
        assignment: named(&member.assigned, state),
    });
    GroupInfo {
        state: group.state().to_owned(),
        kind: group.kind_name().to_owned(),
        protocol_type: group.protocol_type().to_owned(),
        protocol: Some(share::ASSIGNOR.to_owned()),
        generation: share.epoch(),
        leader: None,
        members: members.collect(),
    }
}

/// The partitions by topic name, without those of deleted topics.
fn named(partitions: &Partitions, state: &ClusterState) -> Vec<(String, i32)> {
    let name =
        |(topic, partition): &(Uuid, i32)| Some((state.topic_name("", *topic, true).ok()?, *partition));
    partitions.iter().filter_map(name).collect()
}

fn show_classic(group: &Group, classic: &ClassicGroup) -> GroupInfo {
    let members = classic.members().iter().map(|member| MemberInfo {
        id: member.id.clone(),
        instance_id: member.profile.instance_id.clone(),
        client_id: member.profile.client_id.clone(),
        epoch: classic.generation(),
        assignment: consumer_protocol::assigned_partitions(&member.assignment).unwrap_or_default(),
    });
    GroupInfo {
        state: group.state().to_owned(),
        kind: group.kind_name().to_owned(),
        protocol_type: group.protocol_type().to_owned(),
        protocol: classic.protocol().map(str::to_owned),
        generation: classic.generation(),
        leader: classic.leader().map(str::to_owned),
        members: members.collect(),
    }
}
