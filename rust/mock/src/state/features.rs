//! The features of the cluster (KIP-584): the levels that it supports, and those that are finalized.
//!
//! Only `transaction.version`, `group.version` and `share.version` change what the mock does. It has no streams groups,
//! no eligible leader replicas and no dead-letter queues of share groups (KIP-1191, level 2 of `share.version`): those
//! features are at a lower level than on new brokers until a test raises them.
//! Invariant: a finalized level is supported.

use std::collections::BTreeMap;

use ottla_protocol::{ApiKey, ErrorCode};

use super::ApiError;
use crate::config::{ApiLimit, MockConfig};

pub(crate) const TRANSACTION_VERSION: &str = "transaction.version";
pub(crate) const GROUP_VERSION: &str = "group.version";
pub(crate) const SHARE_VERSION: &str = "share.version";
const METADATA_VERSION: &str = "metadata.version";
/// 4.4-IV2.
const NEWEST_METADATA_VERSION: i16 = 33;

/// The features of Kafka 4.4 with their lowest and highest levels.
const SUPPORTED: [(&str, i16, i16); 6] = [
    ("eligible.leader.replicas.version", 0, 1),
    (GROUP_VERSION, 0, 1),
    (METADATA_VERSION, 7, NEWEST_METADATA_VERSION),
    (SHARE_VERSION, 0, 2),
    ("streams.version", 0, 1),
    (TRANSACTION_VERSION, 0, 2),
];

/// In which direction an update may change a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpgradeType {
    Unknown,
    Upgrade,
    SafeDowngrade,
    UnsafeDowngrade,
}

impl UpgradeType {
    pub(crate) fn from_code(code: i8) -> Self {
        match code {
            1 => Self::Upgrade,
            2 => Self::SafeDowngrade,
            3 => Self::UnsafeDowngrade,
            _ => Self::Unknown,
        }
    }
}

/// The features of the cluster.
#[derive(Debug)]
pub(crate) struct Features {
    supported: Vec<(&'static str, i16, i16)>,
    /// The finalized levels above 0.
    levels: BTreeMap<&'static str, i16>,
    pub(crate) epoch: i64,
}

impl Features {
    pub(super) fn new(config: &MockConfig) -> Self {
        let lacks = |api: ApiKey| config.api_limits.get(&api) == Some(&ApiLimit::Absent);
        let lacks_groups = lacks(ApiKey::ConsumerGroupHeartbeat);
        let lacks_share_groups = lacks(ApiKey::ShareGroupHeartbeat);
        let is_supported = |name: &str| match name {
            TRANSACTION_VERSION => config.transaction_version.is_some(),
            GROUP_VERSION => !lacks_groups,
            SHARE_VERSION => !lacks_share_groups,
            _ => true,
        };
        let supported: Vec<_> = SUPPORTED.into_iter().filter(|(name, ..)| is_supported(name)).collect();
        let mut features = Self { supported, levels: BTreeMap::new(), epoch: 1 };
        features.set(METADATA_VERSION, NEWEST_METADATA_VERSION);
        if !lacks_groups {
            features.set(GROUP_VERSION, 1);
        }
        if !lacks_share_groups {
            features.set(SHARE_VERSION, 1);
        }
        features.set(TRANSACTION_VERSION, config.transaction_version.unwrap_or(0));
        features
    }

    /// The supported features with their lowest and highest levels.
    pub(crate) fn supported(&self) -> &[(&'static str, i16, i16)] {
        &self.supported
    }

    /// The finalized features with their levels. Level 0 is the absence of a feature.
    pub(crate) fn finalized(&self) -> impl Iterator<Item = (&'static str, i16)> {
        self.levels.iter().map(|(name, level)| (*name, *level))
    }

    /// The finalized level of a feature.
    pub(crate) fn level(&self, name: &str) -> i16 {
        self.levels.get(name).copied().unwrap_or(0)
    }

    /// Finalizes a level without any check.
    pub(crate) fn finalize(&mut self, name: &'static str, level: i16) {
        self.set(name, level);
        self.epoch += 1;
    }

    /// Finalizes levels, all or none, or only validates them. `controller` is named in messages.
    pub(crate) fn update(
        &mut self,
        updates: &BTreeMap<&str, (i16, UpgradeType)>,
        validate_only: bool,
        controller: i32,
    ) -> Result<(), ApiError> {
        let mut levels = Vec::with_capacity(updates.len());
        for (name, (level, upgrade)) in updates {
            levels.push((self.check(name, (*level, *upgrade), controller)?, *level));
        }
        if !validate_only && !levels.is_empty() {
            levels.into_iter().for_each(|(name, level)| self.set(name, level));
            self.epoch += 1;
        }
        Ok(())
    }

    fn set(&mut self, name: &'static str, level: i16) {
        if level > 0 {
            self.levels.insert(name, level);
        } else {
            self.levels.remove(name);
        }
    }

    fn check(
        &self,
        name: &str,
        (level, upgrade): (i16, UpgradeType),
        controller: i32,
    ) -> Result<&'static str, ApiError> {
        let failed = |reason: String| {
            let text = format!(
                "The update failed for all features since the following feature had an error: {reason}"
            );
            Err(ApiError::new(ErrorCode::InvalidUpdateVersion, text))
        };
        let invalid =
            |reason: &str| failed(format!("Invalid update version {level} for feature {name}. {reason}"));
        if upgrade == UpgradeType::Unknown {
            return invalid("The controller does not support the given upgrade type.");
        }
        if level < 0 {
            return invalid("A feature version cannot be less than 0.");
        }
        let Some((known, min, max)) = self.supported.iter().find(|(known, ..)| *known == name) else {
            return invalid(&format!("Local controller {controller} does not support this feature."));
        };
        if !(*min..=*max).contains(&level) {
            return invalid(&format!("Local controller {controller} only supports versions {min}-{max}"));
        }
        let now = self.level(name);
        if level > now && upgrade != UpgradeType::Upgrade {
            return invalid("Can't downgrade to a newer version.");
        }
        if level < now && upgrade == UpgradeType::Upgrade {
            return invalid(
                "Can't downgrade the version of this feature without setting the upgrade type to either safe or \
                 unsafe downgrade.",
            );
        }
        if level < now && name == METADATA_VERSION {
            let reason = if upgrade == UpgradeType::SafeDowngrade {
                "Refusing to perform the requested downgrade because it might delete metadata information."
            } else {
                "Unsafe metadata downgrade is not supported in this version."
            };
            return failed(format!("Unsupported metadata.version downgrade from {now} to {level}. {reason}"));
        }
        Ok(known)
    }
}
