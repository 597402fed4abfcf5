//! Groups: who is in them, what they have committed. No I/O and no clock: the time is an argument.
//!
//! A group is of the classic kind or of KIP-848's; one that nobody is in may change its kind.
//! Deadlines are met when somebody looks: [`Groups::advance`] does in their order, and as of their
//! own times, what had to happen until now, and comes before everything else that asks about a group.
//!
//! Invariant: the kind of a group changes only while nobody is in it.

pub(crate) mod classic;
pub(crate) mod consumer;
pub(crate) mod embedded;
mod offsets;

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use crate::config::GroupConfig;
use classic::ClassicGroup;
use consumer::ConsumerGroup;
pub use offsets::CommittedOffset;
pub(crate) use offsets::Offsets;

/// A group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) offsets: Offsets,
    pub(crate) kind: Kind,
}

/// By which protocol its members come together.
#[derive(Debug)]
pub(crate) enum Kind {
    Classic(Box<ClassicGroup>),
    Consumer(ConsumerGroup),
}

/// Who commits or fetches offsets, as the request says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Committer<'a> {
    pub(crate) member_id: &'a str,
    pub(crate) instance_id: Option<&'a str>,
    /// The generation or the member's epoch.
    pub(crate) epoch: i32,
}

/// All groups of the cluster.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) config: GroupConfig,
    groups: BTreeMap<String, Group>,
}

impl Group {
    fn new() -> Self {
        Self { offsets: Offsets::default(), kind: Kind::Classic(Box::default()) }
    }

    pub(crate) fn classic(&self) -> Option<&ClassicGroup> {
        match &self.kind {
            Kind::Classic(group) => Some(group),
            Kind::Consumer(_) => None,
        }
    }

    pub(crate) fn classic_mut(&mut self) -> Option<&mut ClassicGroup> {
        match &mut self.kind {
            Kind::Classic(group) => Some(group),
            Kind::Consumer(_) => None,
        }
    }

    pub(crate) fn consumer(&self) -> Option<&ConsumerGroup> {
        match &self.kind {
            Kind::Consumer(group) => Some(group),
            Kind::Classic(_) => None,
        }
    }

    pub(crate) fn consumer_mut(&mut self) -> Option<&mut ConsumerGroup> {
        match &mut self.kind {
            Kind::Consumer(group) => Some(group),
            Kind::Classic(_) => None,
        }
    }

    /// The classic group that this is, or becomes because nobody is in it.
    pub(crate) fn become_classic(&mut self) -> Option<&mut ClassicGroup> {
        if self.is_empty() && self.consumer().is_some() {
            self.kind = Kind::Classic(Box::default());
        }
        self.classic_mut()
    }

    /// The KIP-848 group that this is, or becomes because nobody is in it.
    pub(crate) fn become_consumer(&mut self) -> Option<&mut ConsumerGroup> {
        if self.is_empty() && self.classic().is_some() {
            self.kind = Kind::Consumer(ConsumerGroup::new());
        }
        self.consumer_mut()
    }

    /// Its state by Kafka's name.
    pub(crate) fn state(&self) -> &'static str {
        match &self.kind {
            Kind::Classic(group) => group.state().name(),
            Kind::Consumer(group) => group.state(),
        }
    }

    /// Its kind by Kafka's name.
    pub(crate) fn kind_name(&self) -> &'static str {
        match &self.kind {
            Kind::Classic(_) => "classic",
            Kind::Consumer(_) => "consumer",
        }
    }

    pub(crate) fn protocol_type(&self) -> &str {
        match &self.kind {
            Kind::Classic(group) => group.protocol_type().unwrap_or_default(),
            Kind::Consumer(_) => "consumer",
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match &self.kind {
            Kind::Classic(group) => group.is_empty(),
            Kind::Consumer(group) => group.members().is_empty(),
        }
    }

    /// Whether offsets may be committed, and what a commit does beside that: it is as good as a
    /// heartbeat.
    pub(crate) fn check_commit(
        &mut self,
        committer: Committer<'_>,
        version: i16,
        now: Instant,
    ) -> Result<(), ErrorCode> {
        match &mut self.kind {
            Kind::Classic(group) => group.check_commit(committer, now),
            Kind::Consumer(group) => group.check_offsets(committer, Some(version)),
        }
    }

    /// Whether offsets may be fetched.
    pub(crate) fn check_fetch(&self, committer: Committer<'_>) -> Result<(), ErrorCode> {
        match &self.kind {
            Kind::Classic(_) => Ok(()),
            Kind::Consumer(group) => group.check_offsets(committer, None),
        }
    }

    /// Whether offsets may be deleted at all.
    pub(crate) fn check_delete_offsets(&self) -> Result<(), ErrorCode> {
        match &self.kind {
            Kind::Classic(group) if !group.is_empty() && group.protocol_type() != Some("consumer") => {
                Err(ErrorCode::NonEmptyGroup)
            }
            Kind::Classic(_) | Kind::Consumer(_) => Ok(()),
        }
    }

    /// Whether a member consumes this topic.
    pub(crate) fn subscribes_to(&self, topic: &str) -> bool {
        match &self.kind {
            Kind::Classic(group) => group.subscribes_to(topic),
            Kind::Consumer(group) => group.subscribes_to(topic),
        }
    }

    /// Ends a member's session.
    pub(crate) fn expire(&mut self, member_id: &str, now: Instant) -> Result<(), ErrorCode> {
        match &mut self.kind {
            Kind::Classic(group) => group.expire(member_id, now),
            Kind::Consumer(group) => group.expire(member_id),
        }
    }

    /// The next moment at which something happens by itself.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        match &self.kind {
            Kind::Classic(group) => group.next_due(),
            Kind::Consumer(group) => group.next_due(),
        }
    }

    fn meet_deadline(&mut self, due: Instant) {
        match &mut self.kind {
            Kind::Classic(group) => group.meet_deadline(due),
            Kind::Consumer(group) => group.meet_deadline(due),
        }
    }
}

impl Groups {
    pub(crate) fn new(config: GroupConfig) -> Self {
        Self { config, groups: BTreeMap::new() }
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

    /// The group, made now if there is none.
    pub(crate) fn get_or_create(&mut self, id: &str) -> &mut Group {
        self.groups.entry(id.to_owned()).or_insert_with(Group::new)
    }

    /// Does what had to happen in a group until now; says whether that was anything.
    pub(crate) fn advance(&mut self, id: &str, now: Instant) -> bool {
        let mut changed = false;
        if let Some(group) = self.groups.get_mut(id) {
            while let Some(due) = group.next_due().filter(|due| *due <= now) {
                group.meet_deadline(due);
                changed = true;
            }
        }
        changed
    }

    /// The same in all groups.
    pub(crate) fn advance_all(&mut self, now: Instant) -> bool {
        let ids: Vec<String> = self.groups.keys().cloned().collect();
        ids.iter().fold(false, |changed, id| self.advance(id, now) | changed)
    }

    /// Deletes a group with its offsets; it must be empty.
    pub(crate) fn delete(&mut self, id: &str) -> Result<(), ErrorCode> {
        let group = self.groups.get(id).ok_or(ErrorCode::GroupIdNotFound)?;
        if !group.is_empty() {
            return Err(ErrorCode::NonEmptyGroup);
        }
        self.groups.remove(id);
        Ok(())
    }

    /// Another broker takes over: what was only in the old one's memory is lost.
    pub(crate) fn reload(&mut self, id: &str, now: Instant) {
        match self.groups.get_mut(id).map(|group| &mut group.kind) {
            Some(Kind::Classic(group)) => group.reload(now),
            Some(Kind::Consumer(group)) => group.reload(&self.config, now),
            None => {}
        }
    }

    /// A topic is gone.
    pub(crate) fn delete_topic(&mut self, topic: &str) {
        self.groups.values_mut().for_each(|group| group.offsets.delete_topic(topic));
    }
}
