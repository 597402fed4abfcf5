//! InitProducerId (22), versions 0–5: a producer id; with a transactional id, an epoch that fences older
//! producers.
//!
//! An idempotent producer gets a new id with epoch 0 each time. From version 3, a transactional producer may
//! ask for the next epoch of its id (KIP-360).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::transaction::ProducerIdAndEpoch;

impl RequestHandler for InitProducerIdRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<InitProducerIdResponse> {
        let mut response = InitProducerIdResponse::default();
        let made = init(self, context);
        match made.and_then(|producer| context.check_any_fault_after_handling().map(|()| producer)) {
            Ok(producer) => (response.producer_id, response.producer_epoch) = (producer.id, producer.epoch),
            Err(code) => {
                response.error_code = code.code();
                response.producer_epoch = -1;
            }
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut InitProducerIdResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn init(
    request: &InitProducerIdRequest,
    context: &mut RequestContext<'_>,
) -> Result<ProducerIdAndEpoch, ErrorCode> {
    context.check_any_fault()?;
    let Some(id) = &request.transactional_id else {
        return Ok(ProducerIdAndEpoch { id: context.state.new_producer_id(), epoch: 0 });
    };
    let (clock, version) = (context.clock, context.version);
    if !id.is_empty() {
        context.state.check_coordinator(id, context.broker, clock)?;
    }
    let expected = (request.producer_id >= 0)
        .then_some(ProducerIdAndEpoch { id: request.producer_id, epoch: request.producer_epoch });
    let timeout = request.transaction_timeout_ms;
    context.changed = true;
    let made = context.state.init_transactional_producer(id, expected, timeout, clock);
    made.map_err(|code| super::fenced_code(code, version, 4))
}
