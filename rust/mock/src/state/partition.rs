//! A partition: its replicas, leader and log, and the checks of a request that reads or writes it.
//!
//! Invariant: each change of leader, and each removal of replicas, raises the leader epoch by one and starts that epoch
//! in the log.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use crate::log::PartitionLog;

/// The leader id of a partition without a leader.
pub(crate) const NO_LEADER: i32 = -1;

/// A partition; all replicas share one log.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) leader: i32,
    pub(crate) leader_epoch: i32,
    pub(crate) replicas: Vec<i32>,
    pub(crate) isr: Vec<i32>,
    /// The replicas that a reassignment adds and removes; `replicas` has both.
    pub(crate) adding: Vec<i32>,
    pub(crate) removing: Vec<i32>,
    /// The end offsets of lagging followers.
    lagging: BTreeMap<i32, i64>,
    /// The log directories of replicas that are not in the first one, by broker.
    directories: BTreeMap<i32, usize>,
    pub(crate) log: PartitionLog,
}

impl Partition {
    pub(super) fn new(replicas: Vec<i32>, alive: impl Fn(i32) -> bool) -> Self {
        let isr: Vec<i32> = replicas.iter().copied().filter(|id| alive(*id)).collect();
        let leader = isr.first().copied().unwrap_or(NO_LEADER);
        let mut log = PartitionLog::default();
        log.begin_epoch(0);
        Self {
            leader,
            leader_epoch: 0,
            replicas,
            isr,
            adding: Vec::new(),
            removing: Vec::new(),
            lagging: BTreeMap::new(),
            directories: BTreeMap::new(),
            log,
        }
    }

    pub(super) fn set_leader(&mut self, leader: i32) {
        if self.leader != leader {
            self.leader = leader;
            self.lagging.remove(&leader);
            self.begin_epoch();
        }
    }

    /// Raises the leader epoch.
    pub(super) fn begin_epoch(&mut self) {
        self.leader_epoch += 1;
        if self.leader != NO_LEADER {
            self.log.begin_epoch(self.leader_epoch);
        }
    }

    /// Drops what is known of replicas that are gone.
    pub(super) fn drop_removed_replicas(&mut self) {
        let Self { replicas, lagging, directories, .. } = self;
        lagging.retain(|broker, _| replicas.contains(broker));
        directories.retain(|broker, _| replicas.contains(broker));
    }

    /// The number of the log directory that a broker's replica is in.
    pub(crate) fn directory(&self, broker: i32) -> usize {
        self.directories.get(&broker).copied().unwrap_or(0)
    }

    pub(super) fn set_directory(&mut self, broker: i32, directory: usize) {
        self.directories.insert(broker, directory);
    }

    /// Fails unless `broker` leads this partition and `epoch` is the leader epoch, or -1.
    pub(crate) fn check_leader(&self, broker: i32, epoch: i32) -> Result<(), ErrorCode> {
        self.check_reader(broker, epoch, false)
    }

    /// Like [`Self::check_leader`]; with `followers`, any replica passes.
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

    /// The end offset of a replica's log.
    pub(crate) fn end_offset_at(&self, broker: i32) -> i64 {
        let end = self.log.high_watermark();
        self.lagging.get(&broker).map_or(end, |end_offset| (*end_offset).min(end))
    }

    /// Sets where a follower's log ends; `None` lets the follower catch up.
    pub(crate) fn set_follower_end(&mut self, broker: i32, end: Option<i64>) -> Result<(), ErrorCode> {
        if self.leader == broker || !self.replicas.contains(&broker) {
            return Err(ErrorCode::ReplicaNotAvailable);
        }
        match end {
            Some(end) => self.lagging.insert(broker, end),
            None => self.lagging.remove(&broker),
        };
        Ok(())
    }
}
