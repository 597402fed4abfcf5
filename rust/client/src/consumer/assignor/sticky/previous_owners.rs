//! Finds the previous owner of each partition. Members may report outdated partitions after missing a
//! rebalance.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::topic_partition::TopicPartition;

/// The previous partitions that a member reports, and their generation; -1 if unknown.
#[derive(Debug, Default)]
pub(super) struct PreviousAssignment {
    pub(super) partitions: Vec<TopicPartition>,
    pub(super) generation: i32,
}

/// The previous owner of each partition, as an index into `previous`. The latest generation wins; two
/// members that report a partition in the same generation both lose it.
pub(super) fn previous_owners(previous: Vec<PreviousAssignment>) -> HashMap<TopicPartition, usize> {
    let mut latest: HashMap<TopicPartition, (i32, Option<usize>)> = HashMap::new();
    for (member, previous) in previous.into_iter().enumerate() {
        for partition in previous.partitions {
            match latest.entry(partition) {
                Entry::Vacant(vacant) => {
                    vacant.insert((previous.generation, Some(member)));
                }
                Entry::Occupied(mut occupied) => match occupied.get().0.cmp(&previous.generation) {
                    std::cmp::Ordering::Less => {
                        occupied.insert((previous.generation, Some(member)));
                    }
                    std::cmp::Ordering::Equal if occupied.get().1 != Some(member) => {
                        occupied.get_mut().1 = None
                    }
                    _ => {}
                },
            }
        }
    }
    latest.into_iter().filter_map(|(partition, (_, owner))| Some((partition, owner?))).collect()
}
