//! InitProducerId (22), versions 0–5: a producer id.
//!
//! Every request gets a new id with epoch 0. Not implemented: epochs of existing ids, transactional ids,
//! fencing.

use ottla_protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};

use super::{HandlerResult, RequestContext, RequestHandler};

impl RequestHandler for InitProducerIdRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<InitProducerIdResponse> {
        let mut response = InitProducerIdResponse::default();
        let made = context.check_any_fault().map(|()| context.state.new_producer_id());
        match made.and_then(|id| context.check_any_fault_after_handling().map(|()| id)) {
            Ok(id) => response.producer_id = id,
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
