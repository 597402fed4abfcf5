//! InitProducerId (22), versions 0–5: a producer id.
//!
//! Each request gets a new id with epoch 0; the epochs of known ids, transactional ids and fencing
//! come with the state of producers.

use ottla_protocol::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};

use super::{Call, Serve, Served};

impl Serve for InitProducerIdRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<InitProducerIdResponse> {
        let mut response = InitProducerIdResponse::default();
        let made = call.whole_fault().map(|()| call.state.new_producer_id());
        match made.and_then(|id| call.late_fault().map(|()| id)) {
            Ok(id) => response.producer_id = id,
            Err(code) => {
                response.error_code = code.code();
                response.producer_epoch = -1;
            }
        }
        Served::Answer(response)
    }

    fn throttle_time(response: &mut InitProducerIdResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}
