//! Types of the keys about groups: the group protocol, and the assignors by name.
//!
//! Java's class names are accepted as data; no class is ever loaded.

use super::nearest::nearest;
use super::value::{ConfigType, Value};

/// The protocol between the members of a group and its coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupProtocol {
    /// JoinGroup, SyncGroup and Heartbeat; the group leader assigns the partitions.
    Classic,
    /// ConsumerGroupHeartbeat only; the coordinator assigns the partitions (KIP-848).
    Consumer,
}

impl ConfigType for GroupProtocol {
    const TYPE: &'static str = "classic | consumer";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        match value {
            Value::Str(text) if text.eq_ignore_ascii_case("classic") => Ok(Self::Classic),
            Value::Str(text) if text.eq_ignore_ascii_case("consumer") => Ok(Self::Consumer),
            _ => Err(format!("expected {}", Self::TYPE)),
        }
    }
    fn to_text(&self) -> String {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
        }
        .to_owned()
    }
}

/// How the leader of a classic group distributes partitions over its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignmentStrategy {
    /// Consecutive partitions of each topic; members have the same order for every topic.
    Range,
    /// One partition at a time, over all topics.
    RoundRobin,
    /// Evenly; members keep as many of their partitions as possible.
    Sticky,
    /// Like `Sticky`; members revoke only the partitions that move (KIP-429).
    CooperativeSticky,
}

const NAMES: [(&str, AssignmentStrategy); 8] = [
    ("range", AssignmentStrategy::Range),
    ("roundrobin", AssignmentStrategy::RoundRobin),
    ("sticky", AssignmentStrategy::Sticky),
    ("cooperative-sticky", AssignmentStrategy::CooperativeSticky),
    ("org.apache.kafka.clients.consumer.RangeAssignor", AssignmentStrategy::Range),
    ("org.apache.kafka.clients.consumer.RoundRobinAssignor", AssignmentStrategy::RoundRobin),
    ("org.apache.kafka.clients.consumer.StickyAssignor", AssignmentStrategy::Sticky),
    ("org.apache.kafka.clients.consumer.CooperativeStickyAssignor", AssignmentStrategy::CooperativeSticky),
];

impl AssignmentStrategy {
    /// The name in the group protocol.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, strategy)| *strategy == self).map_or("", |(name, _)| name)
    }

    fn from_name(text: &str) -> Result<Self, String> {
        if let Some((_, strategy)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Ok(*strategy);
        }
        let names = NAMES.map(|(name, _)| name);
        let hint = nearest(text, names.into_iter())
            .map_or_else(String::new, |near| format!("; did you mean {near}?"));
        Err(format!(
            "{text:?} is not a known assignor, and no class is loaded: use one of {}, or pass an assignor object to the consumer{hint}",
            names.join(", ")
        ))
    }
}

impl ConfigType for Vec<AssignmentStrategy> {
    const TYPE: &'static str =
        "list of range | roundrobin | sticky | cooperative-sticky | a class of Java's client";
    fn parse(value: &Value, bounds: (i64, i64)) -> Result<Self, String> {
        let names = Vec::<String>::parse(value, bounds)?;
        let mut strategies = Self::new();
        for name in names {
            let strategy = AssignmentStrategy::from_name(&name)?;
            if strategies.contains(&strategy) {
                return Err(format!("{} is named twice", strategy.name()));
            }
            strategies.push(strategy);
        }
        Ok(strategies)
    }
    fn to_text(&self) -> String {
        self.iter().map(|strategy| strategy.name()).collect::<Vec<_>>().join(",")
    }
}
