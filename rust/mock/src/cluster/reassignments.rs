//! What tests do with reassignments of replicas: hold them open, and complete them.

use crate::MockCluster;
use crate::info::ReassignmentInfo;
use crate::state::ApiError;

impl MockCluster {
    /// With `hold`, replicas that reassignments add do not catch up, so that the reassignments stay in progress; else
    /// all complete, as they do in a new cluster.
    pub fn hold_reassignments(&self, hold: bool) {
        self.shared.change(|state| state.hold_reassignments(hold));
    }

    /// Completes a reassignment that is held open: its new replicas catch up, and the old ones are removed.
    pub fn complete_reassignment(&self, topic: &str, partition: i32) -> Result<(), ApiError> {
        self.shared.change(|state| state.complete_reassignment(topic, partition))
    }

    /// The reassignment of a partition that is in progress.
    #[must_use]
    pub fn reassignment(&self, topic: &str, partition: i32) -> Option<ReassignmentInfo> {
        let state = self.shared.state.lock();
        let partition =
            state.partition(topic, partition).ok().filter(|partition| partition.is_reassigned())?;
        Some(ReassignmentInfo { adding: partition.adding.clone(), removing: partition.removing.clone() })
    }
}
