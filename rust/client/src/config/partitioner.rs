//! The partitioners by name, as Java's and librdkafka's configurations have them. A name is data: no
//! class is ever loaded.

use super::nearest::nearest;
use super::value::{Setting, Value};

/// How a record's partition is chosen if the record does not name one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitioner {
    /// By murmur2 of the key; without a key, sticky and adaptive. Java's own, and librdkafka's
    /// `murmur2_random`.
    Default,
    /// By CRC-32 of the key; without one or with an empty one, sticky and adaptive. librdkafka's
    /// default.
    ConsistentRandom,
    /// By CRC-32 of the key; without one, as with an empty one.
    Consistent,
    /// By murmur2 of the key; without one, as with an empty one.
    Murmur2,
    /// At random whatever the key; without one, sticky and adaptive.
    Random,
    /// One after the other, whatever the key.
    RoundRobin,
    /// Sticky and adaptive, whatever the key.
    UniformSticky,
}

const NAMES: [(&str, Partitioner); 9] = [
    ("default", Partitioner::Default),
    ("murmur2_random", Partitioner::Default),
    ("consistent_random", Partitioner::ConsistentRandom),
    ("consistent", Partitioner::Consistent),
    ("murmur2", Partitioner::Murmur2),
    ("random", Partitioner::Random),
    ("org.apache.kafka.clients.producer.RoundRobinPartitioner", Partitioner::RoundRobin),
    ("org.apache.kafka.clients.producer.UniformStickyPartitioner", Partitioner::UniformSticky),
    ("org.apache.kafka.clients.producer.internals.DefaultPartitioner", Partitioner::Default),
];

impl Partitioner {
    /// Whether it sends a key to the same partition each time.
    #[must_use]
    pub fn looks_at_keys(self) -> bool {
        match self {
            Self::Default | Self::ConsistentRandom | Self::Consistent | Self::Murmur2 => true,
            Self::Random | Self::RoundRobin | Self::UniformSticky => false,
        }
    }
}

impl Setting for Partitioner {
    const TYPE: &'static str = "default | murmur2_random | consistent_random | consistent | murmur2 | random | a class of Java's client";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        let names = NAMES.map(|(name, _)| name);
        let Value::Str(text) = value else {
            return Err(format!("expected the name of a partitioner: {}", names.join(", ")));
        };
        if let Some((_, partitioner)) = NAMES.iter().find(|(name, _)| name == text) {
            return Ok(*partitioner);
        }
        let simple = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
        let class = text.rsplit('.').next().unwrap_or(text);
        let near = nearest(text, names.into_iter())
            .or_else(|| names.into_iter().find(|name| nearest(class, [simple(name)].into_iter()).is_some()));
        let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        Err(format!(
            "no such partitioner, and no class is loaded: known are {}; your own is a callable given to the producer{hint}",
            names.join(", ")
        ))
    }
    fn shown(&self) -> String {
        let name = NAMES.iter().find(|(_, partitioner)| partitioner == self).map(|(name, _)| *name);
        name.unwrap_or_default().to_owned()
    }
}
