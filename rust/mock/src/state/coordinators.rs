//! The coordinators of groups and transactional ids.
//!
//! Invariant: a coordinator is alive; when a broker stops, only the keys that it coordinated move.

use std::collections::HashMap;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::{ApiError, ClusterState, mix};

/// The exceptions from the rule that spreads keys over the brokers.
#[derive(Debug, Default)]
pub(super) struct Coordinators {
    /// Keys that a test moved.
    moved: HashMap<String, i32>,
    /// Groups whose coordinator is loading, and until when.
    loading: HashMap<String, Instant>,
}

impl ClusterState {
    /// The live broker that coordinates a group or a transactional id.
    pub(crate) fn coordinator(&self, key: &str) -> Option<i32> {
        if let Some(id) = self.coordinators.moved.get(key).filter(|id| self.is_alive(**id)) {
            return Some(*id);
        }
        let hash = key.bytes().fold(0_u64, |hash, byte| mix(hash ^ u64::from(byte)));
        let weight = |id: i32| mix(hash ^ mix(u64::from(id.unsigned_abs())));
        self.alive().map(|node| node.id).max_by_key(|id| weight(*id))
    }

    /// Fails unless `broker` coordinates the group and has loaded it.
    pub(crate) fn check_coordinator(&self, key: &str, broker: i32, now: Instant) -> Result<(), ErrorCode> {
        match self.coordinator(key) {
            None => Err(ErrorCode::CoordinatorNotAvailable),
            Some(id) if id != broker => Err(ErrorCode::NotCoordinator),
            Some(_) if self.coordinators.loading.get(key).is_some_and(|until| now < *until) => {
                Err(ErrorCode::CoordinatorLoadInProgress)
            }
            Some(_) => Ok(()),
        }
    }

    /// Makes another broker the coordinator of a key.
    pub(crate) fn move_coordinator(&mut self, key: &str, to: i32, now: Instant) -> Result<(), ApiError> {
        if !self.node_mut(to)?.alive {
            return Err(ApiError::new(ErrorCode::BrokerNotAvailable, format!("Broker {to} is down.")));
        }
        if self.coordinator(key) != Some(to) {
            self.coordinators.moved.insert(key.to_owned(), to);
            self.load(key, now);
        }
        Ok(())
    }

    /// Changes the set of live brokers and reloads the groups whose coordinator moved.
    pub(crate) fn change_brokers<T>(&mut self, now: Instant, change: impl FnOnce(&mut Self) -> T) -> T {
        let coordinators = |state: &Self| -> HashMap<String, Option<i32>> {
            state.groups.iter().map(|(id, _)| (id.clone(), state.coordinator(id))).collect()
        };
        let before = coordinators(self);
        let out = change(self);
        let after = coordinators(self);
        for (group, _) in before.iter().filter(|(group, was)| after.get(*group) != Some(*was)) {
            self.load(group, now);
        }
        out
    }

    fn load(&mut self, group: &str, now: Instant) {
        self.groups.reload(group, now);
        self.coordinators.loading.insert(group.to_owned(), now + self.config.groups.load_time);
    }
}
