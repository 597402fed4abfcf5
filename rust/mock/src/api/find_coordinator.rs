//! FindCoordinator (10), versions 0–6: the broker that coordinates a group or a transactional id.
//!
//! Many keys at once from 4 on. Each key has its broker among those that are alive, spread as the
//! partitions of the internal topics are.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::find_coordinator::{
    Coordinator, FindCoordinatorRequest, FindCoordinatorResponse,
};

use super::{Call, Serve, Served};

/// The first version that takes many keys.
const MANY: i16 = 4;

impl Serve for FindCoordinatorRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<FindCoordinatorResponse> {
        if call.version >= MANY {
            let coordinators = self.coordinator_keys.iter().map(|key| find(call, key)).collect();
            return Served::Answer(FindCoordinatorResponse { coordinators, ..Default::default() });
        }
        let Coordinator { node_id, host, port, error_code, error_message, .. } = find(call, &self.key);
        // The field is not ignorable in the version that lacks it.
        let error_message = error_message.filter(|_| call.version >= 1);
        Served::Answer(FindCoordinatorResponse {
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

fn find(call: &Call<'_>, key: &str) -> Coordinator {
    let found = call.whole_fault().and_then(|()| {
        let id = call.state.coordinator(key).ok_or(ErrorCode::CoordinatorNotAvailable)?;
        call.state.brokers.get(&id).ok_or(ErrorCode::CoordinatorNotAvailable)
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
