//! FindCoordinator (10), versions 0–6: the broker that coordinates a group or a transactional id.
//!
//! Several keys per request from version 4. Keys are spread over the live brokers, as Kafka spreads the
//! partitions of its internal topics.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::find_coordinator::{
    Coordinator, FindCoordinatorRequest, FindCoordinatorResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler};

/// The first version that accepts several keys.
const BATCHED: i16 = 4;

impl RequestHandler for FindCoordinatorRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<FindCoordinatorResponse> {
        if context.version >= BATCHED {
            let coordinators = self.coordinator_keys.iter().map(|key| find(context, key)).collect();
            return HandlerResult::Response(FindCoordinatorResponse { coordinators, ..Default::default() });
        }
        let Coordinator { node_id, host, port, error_code, error_message, .. } = find(context, &self.key);
        // Version 0 lacks the field, and it is not ignorable.
        let error_message = error_message.filter(|_| context.version >= 1);
        HandlerResult::Response(FindCoordinatorResponse {
            error_code,
            error_message,
            node_id,
            host,
            port,
            ..Default::default()
        })
    }

    fn throttle_time(response: &mut FindCoordinatorResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn find(context: &RequestContext<'_>, key: &str) -> Coordinator {
    let found = context.check_any_fault().and_then(|()| {
        let id = context.state.coordinator(key).ok_or(ErrorCode::CoordinatorNotAvailable)?;
        context.state.brokers.get(&id).ok_or(ErrorCode::CoordinatorNotAvailable)
    });
    let key = key.to_owned();
    match found {
        Ok(node) => Coordinator {
            key,
            node_id: node.id,
            host: node.host.clone(),
            port: i32::from(node.port),
            ..Coordinator::default()
        },
        Err(code) => Coordinator {
            key,
            node_id: -1,
            port: -1,
            error_code: code.code(),
            error_message: Some(code.meaning().to_owned()),
            ..Coordinator::default()
        },
    }
}
