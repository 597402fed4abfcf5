//! ConsumerGroupHeartbeat: what goes into it, and what its answer changes.

use std::collections::BTreeSet;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};
use tokio::time::{Duration, Instant};

use super::{ConsumerProtocol, Partition, Phase, by_topic};
use crate::consumer::group::machine::{Answer, Ask, Refused, Topics};

/// The epochs by which a member leaves; a static one only for a while.
const LEAVE: i32 = -1;
const LEAVE_STATIC: i32 = -2;

/// A coordinator that names no interval, or an absurd one.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(3_600));

/// What the coordinator knows if it got the last heartbeat.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sent {
    /// `None` when it has to be told even if it is the same as before: the coordinator waits for an
    /// answer to its assignment.
    pub(super) owned: Option<BTreeSet<Partition>>,
    topics: Topics,
}

impl ConsumerProtocol {
    /// Sends a heartbeat if one is due and none is on its way.
    pub(super) fn beat(&mut self, now: Instant) {
        if !self.beats() || self.ticket.is_some() || now < self.due() {
            return;
        }
        let request = self.build_request();
        let owned = if self.epoch > 0 { self.owned.clone() } else { BTreeSet::new() };
        self.sent = Some(Sent { owned: Some(owned), topics: self.topics.clone() });
        (self.sent_at, self.due) = (now, now + self.interval);
        self.ticket = Some(self.core.send(Ask::ConsumerHeartbeat(request)));
    }

    /// When the next heartbeat is due: at once if the coordinator waits for news, such as what was
    /// given up.
    pub(super) fn due(&self) -> Instant {
        let news = |sent: &Sent| sent.owned.as_ref() != Some(&self.owned) || sent.topics != self.topics;
        match self.phase {
            Phase::Member if self.sent.as_ref().is_some_and(news) => self.sent_at,
            _ => self.due,
        }
    }

    /// Everything when the coordinator may know something else, or what has changed.
    fn build_request(&self) -> ConsumerGroupHeartbeatRequest {
        let settings = &self.core.settings;
        let joins = self.epoch == 0;
        let sent = self.sent.as_ref().filter(|_| !joins);
        let full = sent.is_none();
        let names = || self.topics.names.iter().map(ToString::to_string).collect();
        let names_changed = sent.is_none_or(|sent| sent.topics.names != self.topics.names);
        let regex = match (sent, &self.topics.regex) {
            (None, regex) => regex.clone(),
            (Some(sent), regex) if sent.topics.regex == *regex => None,
            // Empty is none any more.
            (Some(_), regex) => Some(regex.clone().unwrap_or_default()),
        };
        let owned = || {
            let topics = by_topic(&self.owned).into_iter();
            topics.map(|(topic_id, partitions)| TopicPartitions { topic_id, partitions }).collect()
        };
        // Who joins has nothing, by the protocol.
        let topic_partitions = match sent {
            _ if joins => Some(Vec::new()),
            Some(sent) if sent.owned.as_ref() == Some(&self.owned) => None,
            _ => Some(owned()),
        };
        ConsumerGroupHeartbeatRequest {
            group_id: settings.group_id.to_string(),
            member_id: self.member_id.to_string(),
            member_epoch: self.epoch,
            instance_id: settings.instance_id.as_deref().map(ToOwned::to_owned),
            rack_id: settings.rack.clone().filter(|_| full),
            rebalance_timeout_ms: if full { settings.rebalance_timeout_ms() } else { -1 },
            subscribed_topic_names: names_changed.then(names),
            subscribed_topic_regex: regex,
            server_assignor: settings.remote_assignor.clone().filter(|_| full),
            topic_partitions,
        }
    }

    /// The heartbeat that leaves.
    pub(super) fn leave_request(&self) -> Ask {
        let settings = &self.core.settings;
        Ask::ConsumerHeartbeat(ConsumerGroupHeartbeatRequest {
            group_id: settings.group_id.to_string(),
            member_id: self.member_id.to_string(),
            member_epoch: if settings.instance_id.is_some() { LEAVE_STATIC } else { LEAVE },
            instance_id: settings.instance_id.as_deref().map(ToOwned::to_owned),
            ..Default::default()
        })
    }

    pub(super) fn process_heartbeat(&mut self, now: Instant, answer: Answer) {
        let refused = match answer {
            Answer::ConsumerHeartbeat(response) => match ErrorCode::from(response.error_code) {
                ErrorCode::None => return self.process_success(response),
                code => Refused::Code(code, response.error_message),
            },
            Answer::Failed(error) => error.into(),
            _ => return,
        };
        // The coordinator may have heeded it, or not.
        self.sent = None;
        self.refused(now, refused);
    }

    fn process_success(&mut self, response: ConsumerGroupHeartbeatResponse) {
        self.core.pause.reset();
        let millis = u64::try_from(response.heartbeat_interval_ms).unwrap_or(0);
        self.interval = Duration::from_millis(millis).clamp(INTERVALS.0, INTERVALS.1);
        self.due = self.sent_at + self.interval;
        if let Phase::Leaving { ticket, .. } = self.phase {
            // Until it has left, the next heartbeat and the application's last commits need the epoch; what
            // it was given is no matter any more.
            if ticket.is_none() && self.epoch > 0 {
                self.epoch = response.member_epoch;
            }
            return;
        }
        if let Some(id) = response.member_id.filter(|id| !id.is_empty() && **id != *self.member_id) {
            self.member_id = id.into();
        }
        if self.epoch != response.member_epoch {
            tracing::debug!(target: "ottla.group", group = %self.core.settings.group_id, member = %self.member_id, epoch = response.member_epoch, "member epoch");
        }
        self.epoch = response.member_epoch;
        if matches!(self.phase, Phase::Joining) {
            self.phase = Phase::Member;
            self.core.why_left = None;
        }
        if let Some(assignment) = response.assignment {
            let topics = assignment.topic_partitions.into_iter();
            let partitions = topics.flat_map(|topic| {
                topic.partitions.into_iter().map(move |partition| (topic.topic_id, partition))
            });
            let target: BTreeSet<Partition> = partitions.collect();
            // Nobody waits for what a member gives up that has just come.
            self.unanswered |= self.target.as_ref().is_some_and(|before| *before != target);
            self.target = Some(target);
            self.resolving.reset();
            self.forget_names();
        }
    }
}
