//! GetTelemetrySubscriptions (71), version 0: the metrics that the cluster requests of a client (KIP-714). Supported
//! only with [`crate::MockConfig::client_telemetry`], as by brokers with a telemetry receiver.

use ottla_protocol::messages::get_telemetry_subscriptions::{
    GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse,
};
use ottla_protocol::records::Compression;

use super::{HandlerResult, RequestContext, RequestHandler};

/// The codecs that Kafka accepts, in its order.
const ACCEPTED: [Compression; 4] =
    [Compression::Zstd, Compression::Lz4, Compression::Gzip, Compression::Snappy];

impl RequestHandler for GetTelemetrySubscriptionsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<GetTelemetrySubscriptionsResponse> {
        if let Err(code) = context.check_any_fault() {
            return HandlerResult::Response(GetTelemetrySubscriptionsResponse {
                error_code: code.code(),
                ..GetTelemetrySubscriptionsResponse::default()
            });
        }
        let id = context.state.telemetry_instance(self.client_instance_id);
        let subscription = context.state.telemetry_subscription(id, &context.telemetry_client());
        let mut response = GetTelemetrySubscriptionsResponse {
            client_instance_id: id,
            subscription_id: subscription.id,
            accepted_compression_types: ACCEPTED
                .iter()
                .filter_map(|codec| i8::try_from(codec.id()).ok())
                .collect(),
            push_interval_ms: subscription.interval_ms,
            telemetry_max_bytes: context.state.telemetry_max_bytes(),
            delta_temporality: true,
            requested_metrics: subscription.metrics,
            ..GetTelemetrySubscriptionsResponse::default()
        };
        if let Err(code) = context.check_any_fault_after_handling() {
            response.error_code = code.code();
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut GetTelemetrySubscriptionsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}
