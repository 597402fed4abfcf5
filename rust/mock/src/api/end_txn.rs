//! EndTxn (26), versions 0–5: commits or aborts a transaction. Version 5 is protocol 2 (KIP-890): each end
//! bumps the epoch, and the response has the producer's next id and epoch. As in Kafka, the request's version
//! counts and not the finalized feature, so that a transaction survives a downgrade.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::end_txn::{EndTxnRequest, EndTxnResponse};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::transaction::{ProducerIdAndEpoch, TransactionalProducer};

impl RequestHandler for EndTxnRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<EndTxnResponse> {
        let mut response = EndTxnResponse { producer_id: -1, producer_epoch: -1, ..Default::default() };
        match end(self, context) {
            Ok(next) if context.version >= EndTxnRequest::FIRST_OF_PROTOCOL_2 => {
                (response.producer_id, response.producer_epoch) = (next.id, next.epoch);
            }
            Ok(_) => {}
            Err(code) => response.error_code = code.code(),
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut EndTxnResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn end(request: &EndTxnRequest, context: &mut RequestContext<'_>) -> Result<ProducerIdAndEpoch, ErrorCode> {
    context.check_any_fault()?;
    let (id, clock, version) = (&request.transactional_id, context.clock, context.version);
    context.state.check_coordinator(id, context.broker, clock)?;
    let producer = TransactionalProducer {
        transactional_id: id,
        producer: ProducerIdAndEpoch { id: request.producer_id, epoch: request.producer_epoch },
    };
    let ended = context.state.end_transaction(
        producer,
        request.committed,
        version >= EndTxnRequest::FIRST_OF_PROTOCOL_2,
        clock,
    );
    let next = ended.map_err(|code| super::fenced_code(code, version, 2))?;
    context.changed = true;
    context.check_any_fault_after_handling()?;
    Ok(next)
}
