//! DescribeCluster (60), versions 0–2: the brokers and the controller.
//!
//! Endpoint type 2 (controllers, from version 1) is rejected, as Kafka's brokers do.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_cluster::{
    DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse,
};

use super::metadata::CLUSTER_OPERATIONS;
use super::{HandlerResult, RequestContext, RequestHandler};

const BROKERS: i8 = 1;
const MISMATCHED: &str =
    "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER";

impl RequestHandler for DescribeClusterRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DescribeClusterResponse> {
        let right_endpoint =
            if self.endpoint_type == BROKERS { Ok(()) } else { Err(ErrorCode::MismatchedEndpointType) };
        if let Err(code) = context.check_any_fault().and(right_endpoint) {
            let message = match code {
                ErrorCode::MismatchedEndpointType => MISMATCHED,
                code => code.meaning(),
            };
            return HandlerResult::Response(DescribeClusterResponse {
                error_code: code.code(),
                error_message: Some(message.to_owned()),
                ..DescribeClusterResponse::default()
            });
        }
        let shown = |alive: bool| alive || self.include_fenced_brokers;
        let brokers = context.state.brokers.values().filter(|node| node.registered && shown(node.alive));
        HandlerResult::Response(DescribeClusterResponse {
            cluster_id: context.state.cluster_id.clone(),
            controller_id: context.state.controller,
            brokers: brokers
                .map(|node| DescribeClusterBroker {
                    broker_id: node.id,
                    host: node.host.clone(),
                    port: i32::from(node.port),
                    rack: node.rack.clone(),
                    is_fenced: !node.alive,
                })
                .collect(),
            cluster_authorized_operations: if self.include_cluster_authorized_operations {
                CLUSTER_OPERATIONS
            } else {
                i32::MIN
            },
            ..DescribeClusterResponse::default()
        })
    }

    fn throttle_time(response: &mut DescribeClusterResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}
