//! AddOffsetsToTxn (25), versions 0–4: registers a group with a transaction (protocol 1).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::add_offsets_to_txn::{AddOffsetsToTxnRequest, AddOffsetsToTxnResponse};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::transaction::{ProducerIdAndEpoch, TransactionalProducer};

impl RequestHandler for AddOffsetsToTxnRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<AddOffsetsToTxnResponse> {
        let added = add(self, context).err().unwrap_or(ErrorCode::None);
        HandlerResult::Response(AddOffsetsToTxnResponse { error_code: added.code(), ..Default::default() })
    }

    fn throttle_time(response: &mut AddOffsetsToTxnResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn add(request: &AddOffsetsToTxnRequest, context: &mut RequestContext<'_>) -> Result<(), ErrorCode> {
    context.check_any_fault()?;
    let (id, clock, version) = (&request.transactional_id, context.clock, context.version);
    context.state.check_coordinator(id, context.broker, clock)?;
    let producer = TransactionalProducer {
        transactional_id: id,
        producer: ProducerIdAndEpoch { id: request.producer_id, epoch: request.producer_epoch },
    };
    let current = context.state.current_transaction(producer, clock);
    current.map_err(|code| super::fenced_code(code, version, 2))?.add_group(&request.group_id, clock);
    context.changed = true;
    context.check_any_fault_after_handling()
}
