//! Elections of leaders on request (KIP-460).

use ottla_protocol::ErrorCode;

use super::{ApiError, ClusterState, NO_LEADER, Partition};

/// Which replicas an election considers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Election {
    /// The first replica, if it is in sync.
    Preferred,
    /// Any live replica, if none in sync lives: records may be lost.
    Unclean,
}

impl Election {
    pub(crate) fn from_code(code: i8) -> Option<Self> {
        match code {
            0 => Some(Self::Preferred),
            1 => Some(Self::Unclean),
            _ => None,
        }
    }
}

impl ClusterState {
    /// Elects the leader of a partition.
    pub(crate) fn elect_leader(
        &mut self,
        (topic, index): (&str, i32),
        election: Election,
    ) -> Result<(), ApiError> {
        let unknown = |text: String| ApiError::new(ErrorCode::UnknownTopicOrPartition, text);
        if self.topic(topic).is_none() {
            return Err(unknown(format!("No such topic as {topic}")));
        }
        let alive: Vec<i32> = self.alive().map(|node| node.id).collect();
        let partition = self.partition_mut(topic, index);
        let partition = partition.map_err(|_| unknown(format!("No such partition as {topic}-{index}")))?;
        let is_needed = match election {
            Election::Preferred => partition.replicas.first() != Some(&partition.leader),
            Election::Unclean => partition.leader == NO_LEADER,
        };
        if !is_needed {
            let text = "Leader election not needed for topic partition.";
            return Err(ApiError::new(ErrorCode::ElectionNotNeeded, text));
        }
        match election {
            Election::Preferred => elect_preferred(partition, &alive),
            Election::Unclean => elect_any(partition, &alive),
        }
    }
}

fn elect_preferred(partition: &mut Partition, alive: &[i32]) -> Result<(), ApiError> {
    let may_lead = |id: &i32| partition.isr.contains(id) && alive.contains(id);
    let preferred = partition.replicas.first().copied().filter(may_lead);
    // Without a leader, any other replica in sync is better than none.
    let other =
        || partition.replicas.iter().copied().find(|id| partition.leader == NO_LEADER && may_lead(id));
    let Some(leader) = preferred.or_else(other) else {
        let text = "The preferred leader was not available.";
        return Err(ApiError::new(ErrorCode::PreferredLeaderNotAvailable, text));
    };
    partition.set_leader(leader);
    Ok(())
}

fn elect_any(partition: &mut Partition, alive: &[i32]) -> Result<(), ApiError> {
    let live = |id: &i32| alive.contains(id);
    let in_sync = partition.replicas.iter().copied().find(|id| partition.isr.contains(id) && live(id));
    if let Some(leader) = in_sync {
        partition.set_leader(leader);
        return Ok(());
    }
    let Some(leader) = partition.replicas.iter().copied().find(live) else {
        let text = "Eligible topic partition leaders are not available.";
        return Err(ApiError::new(ErrorCode::EligibleLeadersNotAvailable, text));
    };
    // Records that the new leader had not copied are lost.
    let end = partition.end_offset_at(leader);
    if end < partition.log.high_watermark() {
        partition.log.truncate(end);
    }
    partition.isr = vec![leader];
    partition.set_leader(leader);
    Ok(())
}
