//! The finalized features of the cluster (KIP-584), from the newest ApiVersions response of any broker.
//!
//! Invariant: a response with an older epoch never replaces a newer one.

use ottla_protocol::messages::api_versions::ApiVersionsResponse;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

/// The feature that selects the version of the transaction protocol (KIP-890).
const TRANSACTION_VERSION: &str = "transaction.version";

/// The finalized features of the cluster that this client uses.
#[derive(Debug)]
pub(crate) struct FinalizedFeatures(Mutex<Levels>);

#[derive(Debug)]
struct Levels {
    /// The epoch of the response; -1 before the first one.
    epoch: i64,
    transaction_version: i16,
    updated_at: Option<Instant>,
}

impl Default for FinalizedFeatures {
    fn default() -> Self {
        Self(Mutex::new(Levels { epoch: -1, transaction_version: 0, updated_at: None }))
    }
}

impl FinalizedFeatures {
    /// Takes over the features of a response. Brokers before Kafka 2.7 report none.
    pub(crate) fn update(&self, response: &ApiVersionsResponse) {
        let mut levels = self.0.lock();
        levels.updated_at = Some(Instant::now());
        if response.finalized_features_epoch < levels.epoch {
            return;
        }
        let level = response.finalized_features.iter().find(|feature| feature.name == TRANSACTION_VERSION);
        *levels = Levels {
            epoch: response.finalized_features_epoch,
            transaction_version: level.map_or(0, |feature| feature.max_version_level),
            updated_at: levels.updated_at,
        };
    }

    /// Whether no broker has reported its features for `age`. A cluster may be upgraded while connections stay
    /// open.
    pub(crate) fn is_older_than(&self, age: Duration) -> bool {
        self.0.lock().updated_at.is_none_or(|updated| updated.elapsed() >= age)
    }

    /// The level of `transaction.version`; 0 if the cluster has not finalized it.
    pub(crate) fn transaction_version(&self) -> i16 {
        self.0.lock().transaction_version
    }
}

#[cfg(test)]
mod tests {
    use ottla_protocol::messages::api_versions::FinalizedFeatureKey;

    use super::*;

    fn response(epoch: i64, level: Option<i16>) -> ApiVersionsResponse {
        let feature = |level| FinalizedFeatureKey {
            name: TRANSACTION_VERSION.to_owned(),
            max_version_level: level,
            min_version_level: level,
        };
        ApiVersionsResponse {
            finalized_features_epoch: epoch,
            finalized_features: level.map(feature).into_iter().collect(),
            ..Default::default()
        }
    }

    #[test]
    fn an_older_response_does_not_replace_a_newer_one() {
        let features = FinalizedFeatures::default();
        assert_eq!(features.transaction_version(), 0);
        features.update(&response(7, Some(2)));
        features.update(&response(6, Some(1)));
        assert_eq!(features.transaction_version(), 2);
        // A downgrade has a new epoch.
        features.update(&response(8, None));
        assert_eq!(features.transaction_version(), 0);
    }

    #[test]
    fn a_broker_without_features_does_not_hide_those_of_the_cluster() {
        let features = FinalizedFeatures::default();
        features.update(&response(3, Some(2)));
        features.update(&response(-1, None));
        assert_eq!(features.transaction_version(), 2);
    }
}
