//! Groups: their members and committed offsets. No I/O and no clock: the time is an argument.
//!
//! A group is a classic group, a KIP-848 group or a share group; an empty one may change between the first two kinds. No timer fires:
//! [`Groups::advance`] handles passed deadlines, in their order and as of their own times, and runs before
//! every other access to a group.
//!
//! Invariant: the kind of a group changes only while the group is empty.

pub(crate) mod classic;
pub(crate) mod consumer;
pub(crate) mod consumer_protocol;
mod offsets;
pub(crate) mod share;

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use crate::config::GroupConfig;
use classic::ClassicGroup;
use consumer::ConsumerGroup;
pub use offsets::CommittedOffset;
pub(crate) use offsets::Offsets;
use share::ShareGroup;

/// A group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) offsets: Offsets,
    pub(crate) kind: Kind,
}

/// The group protocol, with the group's members.
#[derive(Debug)]
pub(crate) enum Kind {
    Classic(Box<ClassicGroup>),
    Consumer(ConsumerGroup),
    Share(ShareGroup),
}

/// The member that a request claims to come from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemberIdentity<'a> {
    pub(crate) member_id: &'a str,
    pub(crate) instance_id: Option<&'a str>,
    /// The generation, or the member epoch.
    pub(crate) epoch: i32,
}

/// All groups of the cluster.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) config: GroupConfig,
    /// The configurations of groups that have their own.
    overrides: BTreeMap<String, GroupConfig>,
    groups: BTreeMap<String, Group>,
}

impl Group {
    fn new() -> Self {
        Self { offsets: Offsets::default(), kind: Kind::Classic(Box::default()) }
    }

    pub(crate) fn classic(&self) -> Option<&ClassicGroup> {
        match &self.kind {
            Kind::Classic(group) => Some(group),
            Kind::Consumer(_) | Kind::Share(_) => None,
        }
    }

    pub(crate) fn classic_mut(&mut self) -> Option<&mut ClassicGroup> {
        match &mut self.kind {
            Kind::Classic(group) => Some(group),
            Kind::Consumer(_) | Kind::Share(_) => None,
        }
    }

    pub(crate) fn consumer(&self) -> Option<&ConsumerGroup> {
        match &self.kind {
            Kind::Consumer(group) => Some(group),
            Kind::Classic(_) | Kind::Share(_) => None,
        }
    }

    pub(crate) fn consumer_mut(&mut self) -> Option<&mut ConsumerGroup> {
        match &mut self.kind {
            Kind::Consumer(group) => Some(group),
            Kind::Classic(_) | Kind::Share(_) => None,
        }
    }

    /// Returns the classic group; an empty KIP-848 group becomes one.
    pub(crate) fn become_classic(&mut self) -> Option<&mut ClassicGroup> {
        if self.is_empty() && self.consumer().is_some() {
            self.kind = Kind::Classic(Box::default());
        }
        self.classic_mut()
    }

    /// Returns the KIP-848 group; an empty classic group becomes one.
    pub(crate) fn become_consumer(&mut self) -> Option<&mut ConsumerGroup> {
        if self.is_empty() && self.classic().is_some() {
            self.kind = Kind::Consumer(ConsumerGroup::new());
        }
        self.consumer_mut()
    }

    pub(crate) fn share(&self) -> Option<&ShareGroup> {
        match &self.kind {
            Kind::Share(group) => Some(group),
            Kind::Classic(_) | Kind::Consumer(_) => None,
        }
    }

    pub(crate) fn share_mut(&mut self) -> Option<&mut ShareGroup> {
        match &mut self.kind {
            Kind::Share(group) => Some(group),
            Kind::Classic(_) | Kind::Consumer(_) => None,
        }
    }

    /// The name of its state in Kafka.
    pub(crate) fn state(&self) -> &'static str {
        match &self.kind {
            Kind::Classic(group) => group.state().name(),
            Kind::Consumer(group) => group.state(),
            Kind::Share(group) => group.state(),
        }
    }

    /// The name of its kind in Kafka.
    pub(crate) fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::Classic(_) => "classic",
            Kind::Consumer(_) => "consumer",
            Kind::Share(_) => "share",
        }
    }

    pub(crate) fn protocol_type(&self) -> &str {
        match &self.kind {
            Kind::Classic(group) => group.protocol_type().unwrap_or_default(),
            Kind::Consumer(_) => "consumer",
            Kind::Share(_) => "share",
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match &self.kind {
            Kind::Classic(group) => group.is_empty(),
            Kind::Consumer(group) => group.members().is_empty(),
            Kind::Share(group) => group.members().is_empty(),
        }
    }

    /// Checks whether the member may commit offsets; in a classic group, a commit renews its session.
    pub(crate) fn check_commit(
        &mut self,
        committer: MemberIdentity<'_>,
        version: i16,
        now: Instant,
    ) -> Result<(), ErrorCode> {
        match &mut self.kind {
            Kind::Classic(group) => group.check_commit(committer, now),
            Kind::Consumer(group) => group.check_offsets(committer, Some(version)),
            Kind::Share(_) => Err(ErrorCode::GroupIdNotFound),
        }
    }

    /// Checks whether the member may fetch offsets.
    pub(crate) fn check_fetch(&self, committer: MemberIdentity<'_>) -> Result<(), ErrorCode> {
        match &self.kind {
            Kind::Classic(_) => Ok(()),
            Kind::Consumer(group) => group.check_offsets(committer, None),
            Kind::Share(_) => Err(ErrorCode::GroupIdNotFound),
        }
    }

    /// Checks whether offsets of the group may be deleted at all.
    pub(crate) fn check_delete_offsets(&self) -> Result<(), ErrorCode> {
        match &self.kind {
            Kind::Classic(group) if !group.is_empty() && group.protocol_type() != Some("consumer") => {
                Err(ErrorCode::NonEmptyGroup)
            }
            Kind::Share(_) => Err(ErrorCode::GroupIdNotFound),
            Kind::Classic(_) | Kind::Consumer(_) => Ok(()),
        }
    }

    /// Whether a member subscribes to the topic.
    pub(crate) fn subscribes_to(&self, topic: &str) -> bool {
        match &self.kind {
            Kind::Classic(group) => group.subscribes_to(topic),
            Kind::Consumer(group) => group.subscribes_to(topic),
            Kind::Share(group) => group.subscribes_to(topic),
        }
    }

    /// Expires a member's session.
    pub(crate) fn expire(&mut self, member_id: &str, now: Instant) -> Result<(), ErrorCode> {
        match &mut self.kind {
            Kind::Classic(group) => group.expire(member_id, now),
            Kind::Consumer(group) => group.expire(member_id),
            Kind::Share(group) => group.expire(member_id),
        }
    }

    /// The next deadline of a session or a rebalance.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        match &self.kind {
            Kind::Classic(group) => group.next_deadline(),
            Kind::Consumer(group) => group.next_deadline(),
            Kind::Share(group) => group.next_deadline(),
        }
    }

    fn on_deadline(&mut self, due: Instant) {
        match &mut self.kind {
            Kind::Classic(group) => group.on_deadline(due),
            Kind::Consumer(group) => group.on_deadline(due),
            Kind::Share(group) => group.on_deadline(due),
        }
    }
}

impl Groups {
    pub(crate) fn new(config: GroupConfig) -> Self {
        Self { config, overrides: BTreeMap::new(), groups: BTreeMap::new() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Group)> {
        self.groups.iter()
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Group> {
        self.groups.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Group> {
        self.groups.get_mut(id)
    }

    /// The configuration of a group's coordinator, as it holds for the group.
    pub(crate) fn config_of(&self, id: &str) -> &GroupConfig {
        self.overrides.get(id).unwrap_or(&self.config)
    }

    /// Sets the configuration that holds for a group, whether or not the group exists.
    pub(crate) fn set_config(&mut self, id: &str, config: GroupConfig) {
        if config == self.config {
            self.overrides.remove(id);
        } else {
            self.overrides.insert(id.to_owned(), config);
        }
    }

    /// Fails if the metadata of an offset is too long.
    pub(crate) fn check_metadata(&self, offset: &CommittedOffset) -> Result<(), ErrorCode> {
        let fits = offset.metadata.len() <= self.config.max_metadata;
        if fits { Ok(()) } else { Err(ErrorCode::OffsetMetadataTooLarge) }
    }

    /// Returns a group; creates it if necessary.
    pub(crate) fn get_or_create(&mut self, id: &str) -> &mut Group {
        self.groups.entry(id.to_owned()).or_insert_with(Group::new)
    }

    /// Returns a share group, or `None` if a group of another kind has the id; creates it if necessary. Unlike other
    /// groups, an empty group of another kind does not become a share group.
    pub(crate) fn share_or_create(&mut self, id: &str) -> Option<&mut ShareGroup> {
        let new = || Group { offsets: Offsets::default(), kind: Kind::Share(ShareGroup::default()) };
        self.groups.entry(id.to_owned()).or_insert_with(new).share_mut()
    }

    /// Handles a group's deadlines up to `now`; returns whether there were any.
    pub(crate) fn advance(&mut self, id: &str, now: Instant) -> bool {
        let mut changed = false;
        if let Some(group) = self.groups.get_mut(id) {
            while let Some(due) = group.next_deadline().filter(|due| *due <= now) {
                group.on_deadline(due);
                changed = true;
            }
        }
        changed
    }

    /// Like [`Self::advance`], for all groups.
    pub(crate) fn advance_all(&mut self, now: Instant) -> bool {
        let ids: Vec<String> = self.groups.keys().cloned().collect();
        ids.iter().fold(false, |changed, id| self.advance(id, now) | changed)
    }

    /// Deletes an empty group and its offsets.
    pub(crate) fn delete(&mut self, id: &str) -> Result<(), ErrorCode> {
        let group = self.groups.get(id).ok_or(ErrorCode::GroupIdNotFound)?;
        if !group.is_empty() {
            return Err(ErrorCode::NonEmptyGroup);
        }
        self.groups.remove(id);
        Ok(())
    }

    /// Reloads a group on a new coordinator: what the old one had not persisted is lost.
    pub(crate) fn reload(&mut self, id: &str, now: Instant) {
        let config = self.overrides.get(id).unwrap_or(&self.config);
        match self.groups.get_mut(id).map(|group| &mut group.kind) {
            Some(Kind::Classic(group)) => group.reload(now),
            Some(Kind::Consumer(group)) => group.reload(config, now),
            Some(Kind::Share(group)) => group.reload(&config.share, now),
            None => {}
        }
    }

    /// Deletes the offsets of a deleted topic.
    pub(crate) fn delete_topic(&mut self, topic: &str) {
        self.groups.values_mut().for_each(|group| group.offsets.delete_topic(topic));
    }
}
