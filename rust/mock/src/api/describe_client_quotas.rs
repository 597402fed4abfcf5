//! DescribeClientQuotas (48), versions 0–1: the quotas of the entities that a filter matches (KIP-546).

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_client_quotas::{
    ComponentData, DescribeClientQuotasRequest, DescribeClientQuotasResponse, EntityData, EntryData,
    ValueData,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::{ApiError, QuotaMatch, validate_filter_types};

impl RequestHandler for DescribeClientQuotasRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DescribeClientQuotasResponse> {
        let plain = |code: ErrorCode| ApiError::new(code, code.meaning());
        let filter = context.check_any_fault().map_err(plain).and_then(|()| read(&self.components));
        HandlerResult::Response(match filter {
            Ok(filter) => {
                let matching = context.state.client_quotas.matching(&filter, self.strict);
                let entries = matching.map(|(entity, quotas)| EntryData {
                    entity: entity
                        .iter()
                        .map(|(kind, name)| EntityData {
                            entity_type: kind.clone(),
                            entity_name: name.clone(),
                        })
                        .collect(),
                    values: quotas
                        .iter()
                        .map(|(key, value)| ValueData { key: key.clone(), value: *value })
                        .collect(),
                });
                DescribeClientQuotasResponse {
                    error_message: Some(String::new()),
                    entries: Some(entries.collect()),
                    ..DescribeClientQuotasResponse::default()
                }
            }
            Err(error) => DescribeClientQuotasResponse {
                error_code: error.code.code(),
                error_message: Some(error.message),
                entries: None,
                ..DescribeClientQuotasResponse::default()
            },
        })
    }

    fn throttle_time(response: &mut DescribeClientQuotasResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn read(components: &[ComponentData]) -> Result<BTreeMap<&str, QuotaMatch<'_>>, ApiError> {
    let invalid = |text: String| Err(ApiError::new(ErrorCode::InvalidRequest, text));
    validate_filter_types(components.iter().map(|component| component.entity_type.as_str()))?;
    let mut filter = BTreeMap::new();
    for ComponentData { entity_type, match_type, r#match } in components {
        let surplus =
            |name: &str| invalid(format!("Request specified {name}, but also specified a match string."));
        let wanted = match (match_type, r#match) {
            (0, Some(name)) => QuotaMatch::Exact(name),
            (0, None) => {
                return invalid(
                    "Request specified MATCH_TYPE_EXACT, but set match string to null.".to_owned(),
                );
            }
            (1, None) => QuotaMatch::Default,
            (1, Some(_)) => return surplus("MATCH_TYPE_DEFAULT"),
            (2, None) => QuotaMatch::Any,
            (2, Some(_)) => return surplus("MATCH_TYPE_SPECIFIED"),
            _ => return invalid(format!("Unknown match type {match_type}")),
        };
        filter.insert(entity_type.as_str(), wanted);
    }
    Ok(filter)
}
