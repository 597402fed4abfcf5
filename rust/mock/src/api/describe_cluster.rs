//! DescribeCluster (60), versions 0–2: the brokers and the controller.
//!
//! Endpoint type 2 (controllers, from 1) is refused, as brokers do.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_cluster::{
    DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse,
};

use super::{Call, Serve, Served};

const BROKERS: i8 = 1;

impl Serve for DescribeClusterRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<DescribeClusterResponse> {
        let right_endpoint =
            if self.endpoint_type == BROKERS { Ok(()) } else { Err(ErrorCode::MismatchedEndpointType) };
        if let Err(code) = call.whole_fault().and(right_endpoint) {
            return Served::Answer(DescribeClusterResponse {
                error_code: code.code(),
                error_message: Some(code.meaning().to_owned()),
                ..DescribeClusterResponse::default()
            });
        }
        let shown = |alive: bool| alive || self.include_fenced_brokers;
        let brokers = call.state.brokers.values().filter(|node| shown(node.alive));
        Served::Answer(DescribeClusterResponse {
            cluster_id: call.state.cluster_id.clone(),
            controller_id: call.state.controller,
            brokers: brokers
                .map(|node| DescribeClusterBroker {
                    broker_id: node.id,
                    host: node.host.clone(),
                    port: i32::from(node.port),
                    rack: node.rack.clone(),
                    is_fenced: !node.alive,
                })
                .collect(),
            ..DescribeClusterResponse::default()
        })
    }

    fn throttle_time(response: &mut DescribeClusterResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}
