//! DescribeTransactions (65), version 0: the transactions of transactional ids that this broker coordinates.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_transactions::{
    DescribeTransactionsRequest, DescribeTransactionsResponse, TopicData, TransactionState,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::clock::to_ms;

impl RequestHandler for DescribeTransactionsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DescribeTransactionsResponse> {
        context.changed |= context.state.expire_transactions(context.clock);
        let describe = |id: &String| match describe(context, id) {
            Ok(state) => state,
            Err(code) => TransactionState {
                error_code: code.code(),
                transactional_id: id.clone(),
                ..TransactionState::default()
            },
        };
        let transaction_states = self.transactional_ids.iter().map(describe).collect();
        HandlerResult::Response(DescribeTransactionsResponse { transaction_states, ..Default::default() })
    }

    fn throttle_time(response: &mut DescribeTransactionsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn describe(context: &RequestContext<'_>, id: &str) -> Result<TransactionState, ErrorCode> {
    context.check_any_fault()?;
    let now = context.clock;
    context.state.check_coordinator(id, context.broker, now)?;
    let metadata = context.state.transactions.get(id).ok_or(ErrorCode::TransactionalIdNotFound)?;
    let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in metadata.partitions() {
        topics.entry(topic).or_default().push(*partition);
    }
    let topics =
        topics.into_iter().map(|(topic, partitions)| TopicData { topic: topic.to_owned(), partitions });
    Ok(TransactionState {
        error_code: ErrorCode::None.code(),
        transactional_id: id.to_owned(),
        transaction_state: metadata.state_name(now).to_owned(),
        transaction_timeout_ms: i32::try_from(metadata.timeout().as_millis()).unwrap_or(i32::MAX),
        transaction_start_time_ms: metadata.open_since().map_or(-1, to_ms),
        producer_id: metadata.producer().id,
        producer_epoch: metadata.producer().epoch,
        topics: topics.collect(),
    })
}
