//! The log directories of brokers, and in which of them replicas are.
//!
//! Every broker has the same directories; replicas are created in the first one. Invariant: a replica is in exactly
//! one directory of its broker.

use ottla_protocol::ErrorCode;

use super::ClusterState;

/// The paths of the directories.
pub(crate) const LOG_DIRECTORIES: [&str; 2] = ["/var/lib/kafka", "/var/lib/kafka-2"];

impl ClusterState {
    /// Moves a broker's replica to another directory, at once.
    pub(crate) fn move_replica(
        &mut self,
        (topic, index): (&str, i32),
        broker: i32,
        path: &str,
    ) -> Result<(), ErrorCode> {
        let directory = LOG_DIRECTORIES.iter().position(|known| *known == path);
        let directory = directory.ok_or(ErrorCode::LogDirNotFound)?;
        let partition = self.partition_mut(topic, index)?;
        if !partition.replicas.contains(&broker) {
            return Err(ErrorCode::ReplicaNotAvailable);
        }
        partition.set_directory(broker, directory);
        Ok(())
    }
}
