//! The configuration of a group member.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::time::Duration;

use super::subscription::Subscription;
use crate::config::{Config, GroupProtocol};
use crate::consumer::assignor::{self, Assignor};
use crate::error::{Error, Kind, Result};
use crate::retry::backoff::Backoff;

/// The configuration of a group member.
#[derive(Debug, Clone)]
pub struct GroupSettings {
    /// `group.id`; empty for a consumer without a group.
    pub group_id: Arc<str>,
    /// `group.instance.id` of a static member.
    pub instance_id: Option<Arc<str>>,
    /// The id of a KIP-848 member, if it was chosen before the member starts (KIP-1082).
    pub member_id: Option<Arc<str>>,
    /// `group.protocol`.
    pub protocol: GroupProtocol,
    /// `group.remote.assignor`, unless the brokers choose.
    pub remote_assignor: Option<String>,
    /// `session.timeout.ms`.
    pub session_timeout: Duration,
    /// `heartbeat.interval.ms`.
    pub heartbeat_interval: Duration,
    /// `max.poll.interval.ms`.
    pub max_poll_interval: Duration,
    /// `client.rack`.
    pub rack: Option<String>,
    /// `allow.auto.create.topics`.
    pub create_topics: bool,
    /// `exclude.internal.topics`.
    pub exclude_internal: bool,
    /// `partition.assignment.strategy`, or the application's assignors.
    pub assignors: Vec<Arc<dyn Assignor>>,
    pub(crate) request_timeout: Duration,
    /// After that time a topic that metadata does not list any more counts as deleted, for a consumer without a group.
    pub(crate) topic_gone_after: Duration,
    pub(crate) backoff: Backoff,
}

impl TryFrom<&Config> for GroupSettings {
    type Error = Error;

    fn try_from(config: &Config) -> Result<Self> {
        let invalid = |message: String| Err(Error::new(Kind::Config, message));
        if !config.group_id.is_empty() && config.group_protocol == GroupProtocol::Classic {
            if config.heartbeat_interval >= config.session_timeout {
                return invalid(format!(
                    "heartbeat.interval.ms ({}) must be below session.timeout.ms ({}), ideally a third of it",
                    config.heartbeat_interval.as_millis(),
                    config.session_timeout.as_millis()
                ));
            }
            if config.partition_assignment_strategy.is_empty() {
                return invalid("partition.assignment.strategy must name an assignor".to_owned());
            }
        }
        let non_empty = |text: &String| (!text.is_empty()).then(|| text.clone());
        Ok(Self {
            group_id: config.group_id.as_str().into(),
            instance_id: non_empty(&config.group_instance_id).map(Into::into),
            member_id: None,
            protocol: config.group_protocol,
            remote_assignor: non_empty(&config.group_remote_assignor),
            session_timeout: config.session_timeout,
            heartbeat_interval: config.heartbeat_interval,
            max_poll_interval: config.max_poll_interval,
            rack: non_empty(&config.client_rack),
            create_topics: config.allow_auto_create_topics,
            exclude_internal: config.exclude_internal_topics,
            assignors: {
                let strategies = config.partition_assignment_strategy.iter().map(|strategy| strategy.name());
                let known = |name| {
                    assignor::by_name(name)
                        .ok_or_else(|| Error::new(Kind::Config, format!("unknown assignor {name}")))
                };
                strategies.map(known).collect::<Result<_>>()?
            },
            request_timeout: config.request_timeout,
            topic_gone_after: config.default_api_timeout,
            backoff: config.backoff(),
        })
    }
}

impl GroupSettings {
    /// Replaces the assignors by the application's, if it has any.
    pub(crate) fn with_assignors(mut self, assignors: &[Arc<dyn Assignor>]) -> Result<Self> {
        if assignors.is_empty() {
            return Ok(self);
        }
        if !self.has_group() {
            let message = "a consumer without a group reads all partitions of its topics: set group.id, or remove the assignors";
            return Err(Error::new(Kind::Config, message));
        }
        if self.protocol == GroupProtocol::Consumer {
            let message = "with group.protocol=consumer the brokers assign partitions: remove the assignors";
            return Err(Error::new(Kind::Config, message));
        }
        let mut names = BTreeSet::new();
        for assignor in assignors {
            if assignor.name().is_empty() || !names.insert(assignor.name()) {
                let message = format!("the assignor name {:?} is empty or used twice", assignor.name());
                return Err(Error::new(Kind::Config, message));
            }
        }
        self.assignors = assignors.to_vec();
        Ok(self)
    }

    /// Whether the consumer is a member of a group.
    pub(crate) fn has_group(&self) -> bool {
        !self.group_id.is_empty()
    }

    /// Checks that the group protocol supports the subscription.
    pub(crate) fn check(&self, subscription: &Subscription) -> Result<()> {
        if !matches!(subscription, Subscription::Regex(_)) {
            return Ok(());
        }
        let message = match (self.has_group(), self.protocol) {
            (true, GroupProtocol::Consumer) => return Ok(()),
            (true, GroupProtocol::Classic) => {
                "brokers match patterns only with group.protocol=consumer: use a pattern that the client matches"
            }
            (false, _) => {
                "brokers match patterns only for members of a group: set group.id, or use a pattern that the client matches"
            }
        };
        Err(Error::new(Kind::Config, message))
    }

    /// `max.poll.interval.ms` for requests.
    pub(super) fn rebalance_timeout_ms(&self) -> i32 {
        millis(self.max_poll_interval)
    }
}

pub(super) fn millis(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}
