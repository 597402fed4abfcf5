//! AlterClientQuotas (49), versions 0–1: sets and removes quotas (KIP-546).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::alter_client_quotas::{
    AlterClientQuotasEntityData, AlterClientQuotasEntryData, AlterClientQuotasRequest,
    AlterClientQuotasResponse, EntryData,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::{ApiError, QuotaAlteration};

impl RequestHandler for AlterClientQuotasRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<AlterClientQuotasResponse> {
        let alterations = self.entries.iter().map(read);
        let failed = |code: ErrorCode| {
            let entities = self.entries.iter().map(|entry| read(entry).entity);
            entities.map(|entity| (entity, Err(ApiError::new(code, code.meaning())))).collect()
        };
        let mut results = match context.check_any_fault() {
            Ok(()) => context.state.client_quotas.alter(alterations.collect(), self.validate_only),
            Err(code) => failed(code),
        };
        if let Err(code) = context.check_any_fault_after_handling() {
            results = failed(code);
        }
        let entries = results.into_iter().map(|(entity, outcome)| {
            let error = outcome.err();
            let names = entity.into_iter();
            AlterClientQuotasEntryData {
                error_code: error.as_ref().map_or(0, |error| error.code.code()),
                error_message: error.map(|error| error.message),
                entity: names
                    .map(|(entity_type, entity_name)| AlterClientQuotasEntityData {
                        entity_type,
                        entity_name,
                    })
                    .collect(),
            }
        });
        HandlerResult::Response(AlterClientQuotasResponse {
            entries: entries.collect(),
            ..AlterClientQuotasResponse::default()
        })
    }

    fn throttle_time(response: &mut AlterClientQuotasResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn read(entry: &EntryData) -> QuotaAlteration<'_> {
    let names = entry.entity.iter().map(|each| (each.entity_type.clone(), each.entity_name.clone()));
    let changes = entry.ops.iter().map(|op| (op.key.as_str(), (!op.remove).then_some(op.value)));
    QuotaAlteration { entity: names.collect(), changes: changes.collect() }
}
