//! What tests do with client telemetry: subscribe to metrics and read the pushed ones (KIP-714).

use crate::MockCluster;
use crate::info::PushedMetrics;
use crate::state::{Alteration, Alterations, ApiError, ConfigResource, Operation};

impl MockCluster {
    /// Sets a configuration of a client metrics subscription: `interval.ms`, `metrics` or `match`.
    pub fn subscribe_to_metrics(&self, name: &str, configs: &[(&str, &str)]) -> Result<(), ApiError> {
        self.shared.change(|state| {
            let alterations =
                configs.iter().map(|(key, value)| Alteration { key, operation: Operation::Set, value });
            let alterations = Alterations::Incremental(alterations.collect());
            state.alter_configs(ConfigResource::ClientMetrics(name), &alterations, false)
        })
    }

    /// The metrics that clients have pushed, the oldest first; at most the last 10,000 pushes.
    #[must_use]
    pub fn pushed_metrics(&self) -> Vec<PushedMetrics> {
        self.shared.state.lock().telemetry_pushes()
    }

    /// Sets the largest push that brokers accept, in bytes (`telemetry.max.bytes`). Default: 1 MiB.
    pub fn set_telemetry_max_bytes(&self, bytes: i32) {
        self.shared.state.lock().telemetry.max_bytes = bytes;
    }
}
