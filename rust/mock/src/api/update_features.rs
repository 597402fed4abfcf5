//! UpdateFeatures (57), versions 0–2: finalizes levels of features, all or none (KIP-584). Clients learn them when they
//! next ask a broker for its versions.
//!
//! Dry runs and kinds of downgrades from version 1; results by feature up to version 1. As in Kafka 4, version 0
//! cannot downgrade: its `allow_downgrade` is ignored.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::update_features::{
    UpdatableFeatureResult, UpdateFeaturesRequest, UpdateFeaturesResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::{ApiError, UpgradeType};

/// The first version with types of upgrades, and the first without results by feature.
const TYPED: i16 = 1;
const ALL_OR_NONE: i16 = 2;

impl RequestHandler for UpdateFeaturesRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<UpdateFeaturesResponse> {
        let mut response = UpdateFeaturesResponse::default();
        let typed = context.version >= TYPED;
        let upgrade = |code: i8| if typed { UpgradeType::from_code(code) } else { UpgradeType::Upgrade };
        let updates = self.feature_updates.iter();
        let updates: BTreeMap<&str, (i16, UpgradeType)> =
            updates.map(|u| (u.feature.as_str(), (u.max_version_level, upgrade(u.upgrade_type)))).collect();
        match update(context, &updates, self.validate_only) {
            Ok(()) if context.version < ALL_OR_NONE => {
                let results = updates.into_keys().map(|feature| UpdatableFeatureResult {
                    feature: feature.to_owned(),
                    error_code: 0,
                    error_message: Some("NONE".to_owned()),
                });
                response.results = results.collect();
            }
            Ok(()) => {}
            Err(error) => {
                response.error_code = error.code.code();
                response.error_message = Some(error.message);
            }
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut UpdateFeaturesResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn update(
    context: &mut RequestContext<'_>,
    updates: &BTreeMap<&str, (i16, UpgradeType)>,
    validate_only: bool,
) -> Result<(), ApiError> {
    let plain = |code: ErrorCode| ApiError::new(code, code.meaning());
    context.check_any_fault().map_err(plain)?;
    context.check_controller().map_err(plain)?;
    let controller = context.state.controller;
    context.state.features.update(updates, validate_only, controller)?;
    context.changed = true;
    context.check_any_fault_after_handling().map_err(plain)
}
