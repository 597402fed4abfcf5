//! Topics: creation, partitions, deletion and look-up.
//!
//! Leaders are spread: each topic starts one broker after the previous one, each partition one after the
//! last.

use std::collections::BTreeSet;

use ottla_protocol::ErrorCode;
use ottla_protocol::wire::Uuid;

use super::{ApiError, ClusterState, Partition, TopicConfig, make_id};
use crate::fault::FaultTarget;
use crate::group::consumer::TopicSizes;

/// The limit of all topics together, so that a request for two billion partitions fails.
const MAX_PARTITIONS: usize = 1_000_000;
const MAX_NAME_LENGTH: usize = 249;

/// A topic.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) id: Uuid,
    pub(crate) config: TopicConfig,
    pub(crate) partitions: Vec<Partition>,
}

/// A topic to create; -1 means the cluster's default, as on the wire.
#[derive(Debug, Default)]
pub(crate) struct NewTopic<'a> {
    pub(crate) name: &'a str,
    pub(crate) partitions: i32,
    pub(crate) replication: i16,
    /// The replicas of each partition, instead of the two counts.
    pub(crate) assignments: Option<Vec<Vec<i32>>>,
    pub(crate) config: TopicConfig,
}

/// Checks a topic name by Kafka's rules.
pub(crate) fn validate_topic_name(name: &str) -> Result<(), ApiError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let reason = match name {
        "" => "the empty string is not allowed".to_owned(),
        "." | ".." => format!("'{name}' is not allowed"),
        _ if name.len() > MAX_NAME_LENGTH => {
            format!("the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}")
        }
        _ if !name.chars().all(legal) => {
            format!(
                "'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
            )
        }
        _ => return Ok(()),
    };
    Err(ApiError::new(ErrorCode::InvalidTopicException, format!("Topic name is invalid: {reason}")))
}

impl ClusterState {
    pub(crate) fn topics(&self) -> impl Iterator<Item = (&str, &Topic)> {
        self.topics.iter().map(|(name, topic)| (name.as_str(), topic))
    }

    /// The id and the number of partitions of each topic, by name.
    pub(crate) fn topic_sizes(&self) -> TopicSizes {
        let size = |topic: &Topic| (topic.id, i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX));
        self.topics.iter().map(|(name, topic)| (name.clone(), size(topic))).collect()
    }

    pub(crate) fn topic(&self, name: &str) -> Option<&Topic> {
        self.topics.get(name)
    }

    /// Resolves the topic of a request: by id if `by_id`, else `name` is returned unchecked.
    pub(crate) fn topic_name(&self, name: &str, id: Uuid, by_id: bool) -> Result<String, ErrorCode> {
        if by_id { self.ids.get(&id).cloned().ok_or(ErrorCode::UnknownTopicId) } else { Ok(name.to_owned()) }
    }

    /// The partitions of a request, for faults; none of a topic whose id is unknown.
    pub(crate) fn fault_targets(
        &self,
        (name, id, by_id): (&str, Uuid, bool),
        partitions: impl IntoIterator<Item = i32>,
    ) -> Vec<FaultTarget> {
        let Ok(topic) = self.topic_name(name, id, by_id) else { return Vec::new() };
        let partitions = partitions.into_iter();
        partitions.map(|index| FaultTarget { topic: topic.clone(), partition: Some(index) }).collect()
    }

    pub(crate) fn partition(&self, topic: &str, index: i32) -> Result<&Partition, ErrorCode> {
        let index = usize::try_from(index).ok();
        self.topics
            .get(topic)
            .and_then(|topic| topic.partitions.get(index?))
            .ok_or(ErrorCode::UnknownTopicOrPartition)
    }

    pub(crate) fn partition_mut(&mut self, topic: &str, index: i32) -> Result<&mut Partition, ErrorCode> {
        let index = usize::try_from(index).ok();
        self.topics
            .get_mut(topic)
            .and_then(|topic| topic.partitions.get_mut(index?))
            .ok_or(ErrorCode::UnknownTopicOrPartition)
    }

    /// Validates a new topic and returns the replicas of its partitions.
    pub(crate) fn plan_topic(&self, new: &NewTopic<'_>) -> Result<Vec<Vec<i32>>, ApiError> {
        validate_topic_name(new.name)?;
        if self.topics.contains_key(new.name) {
            let text = format!("Topic '{}' already exists.", new.name);
            return Err(ApiError::new(ErrorCode::TopicAlreadyExists, text));
        }
        if let Some(assignments) = &new.assignments {
            assignments.iter().try_for_each(|replicas| self.check_assignment(replicas))?;
            if !self.has_room(assignments.len()) {
                return Err(ApiError::new(ErrorCode::InvalidPartitions, "Too many partitions."));
            }
            return Ok(assignments.clone());
        }
        let partitions = if new.partitions == -1 { self.config.default_partitions } else { new.partitions };
        let partitions = match usize::try_from(partitions) {
            Ok(count @ 1..) if self.has_room(count) => count,
            _ => {
                let text = "Number of partitions must be larger than 0 and fit into the cluster.";
                return Err(ApiError::new(ErrorCode::InvalidPartitions, text));
            }
        };
        let alive: Vec<i32> = self.alive().map(|node| node.id).collect();
        let replication = match new.replication {
            -1 => usize::try_from(self.config.default_replication).unwrap_or(1).clamp(1, alive.len().max(1)),
            count => usize::try_from(count).unwrap_or(0),
        };
        if replication == 0 || replication > alive.len() {
            let text = format!("Replication factor {} with {} brokers.", new.replication, alive.len());
            return Err(ApiError::new(ErrorCode::InvalidReplicationFactor, text));
        }
        Ok(self.assign_replicas(&alive, self.created, 0, partitions, replication))
    }

    fn has_room(&self, partitions: usize) -> bool {
        partitions <= MAX_PARTITIONS - self.partition_count.min(MAX_PARTITIONS)
    }

    fn assign_replicas(
        &self,
        alive: &[i32],
        shift: u64,
        from: usize,
        count: usize,
        replication: usize,
    ) -> Vec<Vec<i32>> {
        let start = usize::try_from(shift % alive.len().max(1) as u64).unwrap_or(0) + from;
        let replicas =
            |p: usize| alive.iter().cycle().skip((start + p) % alive.len().max(1)).take(replication);
        (0..count).map(|partition| replicas(partition).copied().collect()).collect()
    }

    pub(super) fn check_assignment(&self, replicas: &[i32]) -> Result<(), ApiError> {
        let invalid = |reason: String| {
            let text = format!("The manual partition assignment includes {reason}");
            Err(ApiError::new(ErrorCode::InvalidReplicaAssignment, text))
        };
        if replicas.is_empty() {
            return invalid("an empty replica list.".to_owned());
        }
        let mut seen = BTreeSet::new();
        for id in replicas {
            if !self.brokers.get(id).is_some_and(|node| node.registered) {
                return invalid(format!("broker {id}, but no such broker is registered."));
            }
            if !seen.insert(id) {
                return invalid(format!("the broker {id} more than once."));
            }
        }
        Ok(())
    }

    /// Creates a topic.
    pub(crate) fn create_topic(&mut self, new: NewTopic<'_>) -> Result<&Topic, ApiError> {
        let plan = self.plan_topic(&new)?;
        self.created += 1;
        let id = make_id(self.seed, self.created);
        let partitions = plan.into_iter().map(|replicas| Partition::new(replicas, |id| self.is_alive(id)));
        let topic = Topic { id, config: new.config, partitions: partitions.collect() };
        self.partition_count += topic.partitions.len();
        self.ids.insert(id, new.name.to_owned());
        Ok(self.topics.entry(new.name.to_owned()).or_insert(topic))
    }

    /// Deletes a topic and returns its id.
    pub(crate) fn delete_topic(&mut self, name: &str) -> Result<Uuid, ErrorCode> {
        let topic = self.topics.remove(name).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        self.ids.remove(&topic.id);
        self.partition_count -= topic.partitions.len();
        self.groups.delete_topic(name);
        self.share_partitions.delete_topic(topic.id);
        Ok(topic.id)
    }

    /// Adds partitions to a topic, up to `count` in all.
    pub(crate) fn create_partitions(
        &mut self,
        name: &str,
        count: i32,
        assignments: Option<Vec<Vec<i32>>>,
        validate_only: bool,
    ) -> Result<(), ApiError> {
        let Some(topic) = self.topics.get(name) else {
            return Err(ApiError::new(
                ErrorCode::UnknownTopicOrPartition,
                "This server does not host this topic.",
            ));
        };
        let now = topic.partitions.len();
        let new_count = match usize::try_from(count) {
            Ok(total) if total > now && self.has_room(total - now) => total,
            _ => {
                let text = format!("Topic has {now} partitions, so {count} would not be an increase.");
                return Err(ApiError::new(ErrorCode::InvalidPartitions, text));
            }
        };
        let plan = match assignments {
            Some(plan) if plan.len() == new_count - now => {
                plan.iter().try_for_each(|replicas| self.check_assignment(replicas))?;
                plan
            }
            Some(_) => {
                let text = "The number of assignments differs from the number of new partitions.";
                return Err(ApiError::new(ErrorCode::InvalidReplicaAssignment, text));
            }
            None => {
                let alive: Vec<i32> = self.alive().map(|node| node.id).collect();
                let replication = topic.partitions.first().map_or(1, |p| p.replicas.len()).min(alive.len());
                self.assign_replicas(&alive, self.created, now, new_count - now, replication)
            }
        };
        if !validate_only {
            let new: Vec<_> = plan.into_iter().map(|r| Partition::new(r, |id| self.is_alive(id))).collect();
            self.partition_count += new.len();
            if let Some(topic) = self.topics.get_mut(name) {
                topic.partitions.extend(new);
            }
        }
        Ok(())
    }

    /// Every partition of every topic.
    pub(super) fn partitions_mut(&mut self) -> impl Iterator<Item = &mut Partition> {
        self.topics.values_mut().flat_map(|topic| &mut topic.partitions)
    }
}
