//! The types of the rows about groups: which protocol a consumer speaks with its group, and the
//! assignors by name, as Java's configurations have them. A name is data: no class is ever loaded.

use super::nearest::nearest;
use super::value::{Setting, Value};

/// How the members of a group and its coordinator talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupProtocol {
    /// JoinGroup, SyncGroup and Heartbeat; a member assigns the partitions.
    Classic,
    /// ConsumerGroupHeartbeat alone; the coordinator assigns the partitions (KIP-848).
    Consumer,
}

impl Setting for GroupProtocol {
    const TYPE: &'static str = "classic | consumer";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        match value {
            Value::Str(text) if text.eq_ignore_ascii_case("classic") => Ok(Self::Classic),
            Value::Str(text) if text.eq_ignore_ascii_case("consumer") => Ok(Self::Consumer),
            _ => Err(format!("expected {}", Self::TYPE)),
        }
    }
    fn shown(&self) -> String {
        match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
        }
        .to_owned()
    }
}

/// How the leader of a classic group spreads partitions over its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignmentStrategy {
    /// Each topic's partitions in runs, the same members first for each topic.
    Range,
    /// One after the other, over all topics.
    RoundRobin,
    /// Evenly, and each keeps what it can.
    Sticky,
    /// The same, and members give up only what moves (KIP-429).
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
    /// The name in the protocol.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, strategy)| *strategy == self).map_or("", |(name, _)| name)
    }

    fn named(text: &str) -> Result<Self, String> {
        if let Some((_, strategy)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Ok(*strategy);
        }
        let names = NAMES.map(|(name, _)| name);
        let hint = nearest(text, names.into_iter())
            .map_or_else(String::new, |near| format!("; did you mean {near}?"));
        Err(format!(
            "{text:?} is no assignor, and no class is loaded: known are {}; your own is an object given to the consumer{hint}",
            names.join(", ")
        ))
    }
}

impl Setting for Vec<AssignmentStrategy> {
    const TYPE: &'static str =
        "list of range | roundrobin | sticky | cooperative-sticky | a class of Java's client";
    fn parse(value: &Value, bounds: (i64, i64)) -> Result<Self, String> {
        let names = Vec::<String>::parse(value, bounds)?;
        let mut strategies = Self::new();
        for name in names {
            let strategy = AssignmentStrategy::named(&name)?;
            if strategies.contains(&strategy) {
                return Err(format!("{} is named twice", strategy.name()));
            }
            strategies.push(strategy);
        }
        Ok(strategies)
    }
    fn shown(&self) -> String {
        self.iter().map(|strategy| strategy.name()).collect::<Vec<_>>().join(",")
    }
}
