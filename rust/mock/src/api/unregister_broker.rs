//! UnregisterBroker (64), version 0: removes a broker from the cluster (KIP-746). Its sockets stay open; it registers
//! again when it is started.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::unregister_broker::{UnregisterBrokerRequest, UnregisterBrokerResponse};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::ApiError;

impl RequestHandler for UnregisterBrokerRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<UnregisterBrokerResponse> {
        let error = unregister(context, self.broker_id).err();
        HandlerResult::Response(UnregisterBrokerResponse {
            error_code: error.as_ref().map_or(0, |error| error.code.code()),
            // Kafka has an empty message for a success.
            error_message: Some(error.map(|error| error.message).unwrap_or_default()),
            ..UnregisterBrokerResponse::default()
        })
    }

    fn throttle_time(response: &mut UnregisterBrokerResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn unregister(context: &mut RequestContext<'_>, broker: i32) -> Result<(), ApiError> {
    let plain = |code: ErrorCode| ApiError::new(code, code.meaning());
    context.check_any_fault().map_err(plain)?;
    context.check_controller().map_err(plain)?;
    let clock = context.clock;
    context.state.change_brokers(clock, |state| state.unregister_broker(broker))?;
    context.changed = true;
    context.check_any_fault_after_handling().map_err(plain)
}
