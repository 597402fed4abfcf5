//! Brokers that start and stop, the controller, and partition leadership.

use ottla_protocol::ErrorCode;

use super::{ApiError, ClusterState, NO_LEADER};

impl ClusterState {
    /// Marks a broker as stopped and moves its leaderships. A partition's last in-sync replica stays in the
    /// ISR, without a leader.
    pub(crate) fn broker_down(&mut self, id: i32) -> Result<(), ApiError> {
        self.node_mut(id)?.alive = false;
        self.fetch_sessions.close_all(id);
        self.close_share_sessions(|session| session.broker == id);
        if self.controller == id {
            let next = self.alive().map(|node| node.id).next();
            self.set_controller(next.unwrap_or(NO_LEADER));
        }
        for partition in self.partitions_mut() {
            if partition.isr.len() > 1 {
                partition.isr.retain(|replica| *replica != id);
            }
            if partition.leader == id {
                let next = partition.isr.first().copied().filter(|replica| *replica != id);
                partition.set_leader(next.unwrap_or(NO_LEADER));
            }
        }
        Ok(())
    }

    /// Marks a broker as running: it rejoins the ISR of its partitions, and leads those without a leader for
    /// which it is in sync.
    pub(crate) fn broker_up(&mut self, id: i32) -> Result<(), ApiError> {
        let node = self.node_mut(id)?;
        (node.alive, node.registered) = (true, true);
        if self.controller == NO_LEADER {
            self.set_controller(id);
        }
        for partition in self.partitions_mut().filter(|partition| partition.replicas.contains(&id)) {
            if partition.leader == NO_LEADER && partition.isr.contains(&id) {
                partition.set_leader(id);
            } else if partition.leader != NO_LEADER
                && !partition.isr.contains(&id)
                && !partition.adding.contains(&id)
            {
                partition.isr.push(id);
            }
        }
        // Live replicas of the partitions that it leads rejoin the ISR, too.
        let alive: Vec<i32> = self.alive().map(|node| node.id).collect();
        for partition in self.partitions_mut().filter(|partition| partition.leader == id) {
            let returning =
                |r: &&i32| alive.contains(r) && !partition.isr.contains(r) && !partition.adding.contains(r);
            let returning: Vec<i32> = partition.replicas.iter().filter(returning).copied().collect();
            partition.isr.extend(returning);
        }
        self.advance_reassignments();
        Ok(())
    }

    /// Removes a broker from the cluster, as if it had stopped for good. It registers again when it starts.
    pub(crate) fn unregister_broker(&mut self, id: i32) -> Result<(), ApiError> {
        if !self.brokers.get(&id).is_some_and(|node| node.registered) {
            let text = format!("Broker ID {id} is not currently registered");
            return Err(ApiError::new(ErrorCode::BrokerIdNotRegistered, text));
        }
        self.broker_down(id)?;
        self.node_mut(id)?.registered = false;
        Ok(())
    }

    /// Makes an in-sync replica the leader.
    pub(crate) fn move_leader(&mut self, topic: &str, index: i32, to: i32) -> Result<(), ApiError> {
        self.node_mut(to)?;
        let partition = self
            .partition_mut(topic, index)
            .map_err(|code| ApiError::new(code, format!("There is no partition {topic}-{index}.")))?;
        if !partition.isr.contains(&to) {
            let text = format!("Broker {to} is not an in-sync replica of {topic}-{index}.");
            return Err(ApiError::new(ErrorCode::EligibleLeadersNotAvailable, text));
        }
        partition.set_leader(to);
        Ok(())
    }

    /// Makes a broker the controller.
    pub(crate) fn elect_controller(&mut self, id: i32) -> Result<(), ApiError> {
        if !self.node_mut(id)?.alive {
            return Err(ApiError::new(ErrorCode::BrokerNotAvailable, format!("Broker {id} is down.")));
        }
        self.set_controller(id);
        Ok(())
    }

    fn set_controller(&mut self, id: i32) {
        self.controller = id;
        self.controller_epoch += 1;
    }

    /// Advertises an address at which the broker does not listen.
    pub(crate) fn advertise(&mut self, id: i32, host: &str, port: u16) -> Result<(), ApiError> {
        let node = self.node_mut(id)?;
        host.clone_into(&mut node.host);
        node.port = port;
        Ok(())
    }

    pub(super) fn node_mut(&mut self, id: i32) -> Result<&mut super::Node, ApiError> {
        let unknown = || ApiError::new(ErrorCode::BrokerIdNotRegistered, format!("There is no broker {id}."));
        self.brokers.get_mut(&id).ok_or_else(unknown)
    }
}
