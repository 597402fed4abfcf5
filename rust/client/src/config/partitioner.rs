//! The partitioners by name, as in Java's and librdkafka's configurations. Class names are accepted as
//! data; no class is ever loaded.

use super::nearest::nearest;
use super::value::{ConfigType, Value};

/// How the partition of a record without one is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitioner {
    /// By murmur2 of the key; without a key, sticky and adaptive. Java's default, and librdkafka's
    /// `murmur2_random`.
    Default,
    /// By CRC-32 of the key; with no key or an empty one, sticky and adaptive. librdkafka's
    /// default.
    ConsistentRandom,
    /// By CRC-32 of the key; no key counts as an empty one.
    Consistent,
    /// By murmur2 of the key; no key counts as an empty one.
    Murmur2,
    /// At random, ignoring the key; without a key, sticky and adaptive.
    Random,
    /// Each partition in turn, ignoring the key.
    RoundRobin,
    /// Sticky and adaptive, ignoring the key.
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
    /// Whether records with the same key go to the same partition.
    #[must_use]
    pub fn uses_keys(self) -> bool {
        match self {
            Self::Default | Self::ConsistentRandom | Self::Consistent | Self::Murmur2 => true,
            Self::Random | Self::RoundRobin | Self::UniformSticky => false,
        }
    }
}

impl ConfigType for Partitioner {
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
            "not a known partitioner, and no class is loaded: use one of {}, or pass a callable to the producer{hint}",
            names.join(", ")
        ))
    }
    fn to_text(&self) -> String {
        let name = NAMES.iter().find(|(_, partitioner)| partitioner == self).map(|(name, _)| *name);
        name.unwrap_or_default().to_owned()
    }
}
