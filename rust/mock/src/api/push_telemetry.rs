//! PushTelemetry (72), version 0: takes the metrics of a client (KIP-714). The mock does not limit how often.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::push_telemetry::{PushTelemetryRequest, PushTelemetryResponse};
use ottla_protocol::otlp::MetricsData;
use ottla_protocol::records::{Compression, Decompressor};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::info::PushedMetrics;

impl RequestHandler for PushTelemetryRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<PushTelemetryResponse> {
        let taken = take(self, context).and_then(|()| context.check_any_fault_after_handling());
        let error_code = taken.err().map_or(0, ErrorCode::code);
        HandlerResult::Response(PushTelemetryResponse { error_code, ..PushTelemetryResponse::default() })
    }

    fn throttle_time(response: &mut PushTelemetryResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn take(request: &PushTelemetryRequest, context: &mut RequestContext<'_>) -> Result<(), ErrorCode> {
    context.check_any_fault()?;
    let id = request.client_instance_id;
    if id.is_zero() || context.state.telemetry_ended(id) {
        return Err(ErrorCode::InvalidRequest);
    }
    let subscription = context.state.telemetry_subscription(id, &context.telemetry_client());
    if request.subscription_id != subscription.id {
        return Err(ErrorCode::UnknownSubscriptionId);
    }
    let codec = u8::try_from(request.compression_type).ok().and_then(Compression::from_id);
    let codec = codec.ok_or(ErrorCode::UnsupportedCompressionType)?;
    let max_bytes = usize::try_from(context.state.telemetry_max_bytes()).unwrap_or(usize::MAX);
    if request.metrics.len() > max_bytes {
        return Err(ErrorCode::TelemetryTooLarge);
    }
    let invalid = |_| ErrorCode::InvalidRecord;
    let bytes = Decompressor::new().decompress_bytes(codec, &request.metrics);
    let bytes = bytes.map_err(|_| ErrorCode::InvalidRecord)?;
    let data = MetricsData::from_bytes(&bytes).map_err(invalid)?;
    context.state.take_telemetry(PushedMetrics {
        client_instance_id: id,
        client_id: context.client_id.unwrap_or_default().to_owned(),
        broker: context.broker,
        terminating: request.terminating,
        compression: codec,
        data,
    });
    context.changed = true;
    Ok(())
}
