//! Who leads: brokers that come and go, leaders that move, and the checks of a request to a leader.
//!
//! Invariant: each change of leader raises the partition's leader epoch by one and tells the log.

use ottla_protocol::ErrorCode;

use super::{ClusterState, Partition, Refusal};

/// The leader of a partition that has none.
pub(crate) const NO_LEADER: i32 = -1;

impl Partition {
    fn lead(&mut self, leader: i32) {
        if self.leader != leader {
            self.leader = leader;
            self.ends.remove(&leader);
            self.leader_epoch += 1;
            if leader != NO_LEADER {
                self.log.begin_epoch(self.leader_epoch);
            }
        }
    }

    /// Whether `broker` may answer for this partition to a client that knows `epoch` (-1: none).
    pub(crate) fn check_leader(&self, broker: i32, epoch: i32) -> Result<(), ErrorCode> {
        self.check_reader(broker, epoch, false)
    }

    /// The same, where followers may answer, too.
    pub(crate) fn check_reader(&self, broker: i32, epoch: i32, followers: bool) -> Result<(), ErrorCode> {
        if epoch >= 0 && epoch < self.leader_epoch {
            Err(ErrorCode::FencedLeaderEpoch)
        } else if epoch > self.leader_epoch {
            Err(ErrorCode::UnknownLeaderEpoch)
        } else if self.leader != broker && !(followers && self.replicas.contains(&broker)) {
            Err(ErrorCode::NotLeaderOrFollower)
        } else {
            Ok(())
        }
    }

    /// Where the log ends at a replica.
    pub(crate) fn end_at(&self, broker: i32) -> i64 {
        let end = self.log.high_watermark();
        self.ends.get(&broker).map_or(end, |lagging| (*lagging).min(end))
    }

    /// Has a follower lag, or catch up.
    pub(crate) fn lag(&mut self, broker: i32, end: Option<i64>) -> Result<(), ErrorCode> {
        if self.leader == broker || !self.replicas.contains(&broker) {
            return Err(ErrorCode::ReplicaNotAvailable);
        }
        match end {
            Some(end) => self.ends.insert(broker, end),
            None => self.ends.remove(&broker),
        };
        Ok(())
    }
}

impl ClusterState {
    /// A broker is gone: others lead in its place. The last replica in sync stays so, without leading.
    pub(crate) fn broker_down(&mut self, id: i32) -> Result<(), Refusal> {
        self.node_mut(id)?.alive = false;
        self.fetch_sessions.forget(id);
        if self.controller == id {
            let next = self.alive().map(|node| node.id).next();
            self.controller = next.unwrap_or(NO_LEADER);
        }
        for partition in self.partitions_mut() {
            if partition.isr.len() > 1 {
                partition.isr.retain(|replica| *replica != id);
            }
            if partition.leader == id {
                let next = partition.isr.first().copied().filter(|replica| *replica != id);
                partition.lead(next.unwrap_or(NO_LEADER));
            }
        }
        Ok(())
    }

    /// A broker is back: in sync where it has the log, and leading what had no leader.
    pub(crate) fn broker_up(&mut self, id: i32) -> Result<(), Refusal> {
        self.node_mut(id)?.alive = true;
        if self.controller == NO_LEADER {
            self.controller = id;
        }
        for partition in self.partitions_mut().filter(|partition| partition.replicas.contains(&id)) {
            if partition.leader == NO_LEADER && partition.isr.contains(&id) {
                partition.lead(id);
            } else if partition.leader != NO_LEADER && !partition.isr.contains(&id) {
                partition.isr.push(id);
            }
        }
        // A replica that waited for this leader is in sync again as well.
        let alive: Vec<i32> = self.alive().map(|node| node.id).collect();
        for partition in self.partitions_mut().filter(|partition| partition.leader == id) {
            let back = |r: &&i32| alive.contains(r) && !partition.isr.contains(r);
            let back: Vec<i32> = partition.replicas.iter().filter(back).copied().collect();
            partition.isr.extend(back);
        }
        Ok(())
    }

    /// Makes a replica in sync the leader.
    pub(crate) fn move_leader(&mut self, topic: &str, index: i32, to: i32) -> Result<(), Refusal> {
        self.node_mut(to)?;
        let partition = self
            .partition_mut(topic, index)
            .map_err(|code| Refusal::new(code, format!("There is no partition {topic}-{index}.")))?;
        if !partition.isr.contains(&to) {
            let text = format!("Broker {to} is not an in-sync replica of {topic}-{index}.");
            return Err(Refusal::new(ErrorCode::EligibleLeadersNotAvailable, text));
        }
        partition.lead(to);
        Ok(())
    }

    /// Makes a broker the controller.
    pub(crate) fn elect_controller(&mut self, id: i32) -> Result<(), Refusal> {
        if !self.node_mut(id)?.alive {
            return Err(Refusal::new(ErrorCode::BrokerNotAvailable, format!("Broker {id} is down.")));
        }
        self.controller = id;
        Ok(())
    }

    /// Has the metadata name another address for a broker than the one that it listens at.
    pub(crate) fn advertise(&mut self, id: i32, host: &str, port: u16) -> Result<(), Refusal> {
        let node = self.node_mut(id)?;
        host.clone_into(&mut node.host);
        node.port = port;
        Ok(())
    }

    pub(super) fn node_mut(&mut self, id: i32) -> Result<&mut super::Node, Refusal> {
        let unknown = || Refusal::new(ErrorCode::BrokerIdNotRegistered, format!("There is no broker {id}."));
        self.brokers.get_mut(&id).ok_or_else(unknown)
    }
}
