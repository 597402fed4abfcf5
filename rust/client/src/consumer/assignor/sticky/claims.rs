//! Whose a partition was. Members tell, and may be behind: who has missed a rebalance claims what
//! others have had since.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::topic_partition::TopicPartition;

/// What a member says that it had, and since which generation; -1 if it does not say.
#[derive(Debug, Default)]
pub(super) struct Claim {
    pub(super) partitions: Vec<TopicPartition>,
    pub(super) generation: i32,
}

/// The owner of each partition that was claimed, as a place in `claims`. The latest generation is
/// right; of two members that claim a partition in the same one, neither is.
pub(super) fn previous_owners(claims: Vec<Claim>) -> HashMap<TopicPartition, usize> {
    let mut latest: HashMap<TopicPartition, (i32, Option<usize>)> = HashMap::new();
    for (member, claim) in claims.into_iter().enumerate() {
        for partition in claim.partitions {
            match latest.entry(partition) {
                Entry::Vacant(free) => {
                    free.insert((claim.generation, Some(member)));
                }
                Entry::Occupied(mut taken) => match taken.get().0.cmp(&claim.generation) {
                    std::cmp::Ordering::Less => {
                        taken.insert((claim.generation, Some(member)));
                    }
                    std::cmp::Ordering::Equal if taken.get().1 != Some(member) => taken.get_mut().1 = None,
                    _ => {}
                },
            }
        }
    }
    latest.into_iter().filter_map(|(partition, (_, owner))| Some((partition, owner?))).collect()
}
