//! ListTransactions (66), versions 0–2: the transactional ids that this broker coordinates, filtered by state
//! and producer id, from version 1 by how long a transaction has been open, from version 2 by a pattern of ids.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::list_transactions::{
    ListTransactionsRequest, ListTransactionsResponse, TransactionState,
};
use regex::Regex;

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::transaction::{STATES, TransactionMetadata};

impl RequestHandler for ListTransactionsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ListTransactionsResponse> {
        let mut response = ListTransactionsResponse::default();
        let is_unknown = |state: &&String| !STATES.contains(&state.as_str());
        response.unknown_state_filters = self.state_filters.iter().filter(is_unknown).cloned().collect();
        match list(self, context) {
            Ok(states) => response.transaction_states = states,
            Err(code) => response.error_code = code.code(),
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut ListTransactionsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn list(
    request: &ListTransactionsRequest,
    context: &mut RequestContext<'_>,
) -> Result<Vec<TransactionState>, ErrorCode> {
    context.check_any_fault()?;
    let pattern = request.transactional_id_pattern.as_deref().filter(|pattern| !pattern.is_empty());
    let pattern = pattern.map(|pattern| Regex::new(&format!("^(?:{pattern})$"))).transpose();
    let pattern = pattern.map_err(|_| ErrorCode::InvalidRegularExpression)?;
    let now = context.clock;
    context.changed |= context.state.expire_transactions(now);
    let state = &*context.state;
    let is_requested = |id: &str, metadata: &TransactionMetadata| {
        // As in Kafka, an id without an open transaction passes.
        let open_for = metadata.open_for(now).map_or(u128::MAX, |open| open.as_millis());
        let min_duration = u128::try_from(request.duration_filter).ok();
        is_in(&request.state_filters, |name| name == metadata.state_name(now))
            && is_in(&request.producer_id_filters, |producer| *producer == metadata.producer().id)
            && min_duration.is_none_or(|min| open_for > min)
            && pattern.as_ref().is_none_or(|pattern| pattern.is_match(id))
            && state.coordinator(id) == Some(context.broker)
    };
    let listed = state.transactions.iter().filter(|(id, metadata)| is_requested(id, metadata));
    let listed = listed.map(|(id, metadata)| TransactionState {
        transactional_id: id.clone(),
        producer_id: metadata.producer().id,
        transaction_state: metadata.state_name(now).to_owned(),
    });
    Ok(listed.collect())
}

/// Whether a filter admits a value; an empty one admits all.
fn is_in<T>(filter: &[T], matches: impl FnMut(&T) -> bool) -> bool {
    filter.is_empty() || filter.iter().any(matches)
}
