//! The bytes of a push: OTLP, compressed, and no larger than the broker accepts.

use bytes::Bytes;
use ottla_protocol::otlp::{KeyValue, MetricsData, Resource, ResourceMetrics, ScopeMetrics};
use ottla_protocol::records::{Compression, Compressor};

use super::collector::{Collected, merge};
use super::subscription::Subscription;

/// The bytes of a push, and the values that they contain.
#[derive(Debug)]
pub(super) struct Payload {
    pub(super) bytes: Bytes,
    pub(super) compression: Compression,
    pub(super) values: Vec<Collected>,
    /// How many values are left out because the push would be too large.
    pub(super) dropped: usize,
}

/// Encodes as many of the values as fit, the first ones first; `None` if there are none or none fits.
pub(super) fn build_payload(
    mut values: Vec<Collected>,
    attributes: &[(&'static str, String)],
    subscription: &Subscription,
) -> Option<Payload> {
    let all = values.len();
    while !values.is_empty() {
        let (compression, bytes) = compress(subscription.compression, encode(&values, attributes));
        let max = subscription.max_bytes;
        if max == 0 || bytes.len() <= max {
            let dropped = all - values.len();
            return Some(Payload { bytes: bytes.into(), compression, values, dropped });
        }
        // Halving bounds the number of attempts.
        values.truncate(values.len() / 2);
    }
    None
}

fn encode(values: &[Collected], attributes: &[(&'static str, String)]) -> Vec<u8> {
    let attribute = |(key, value): &(&'static str, String)| KeyValue::new(*key, value.as_str());
    let resource = Resource { attributes: attributes.iter().map(attribute).collect() };
    let scope_metrics = vec![ScopeMetrics { metrics: merge(values) }];
    let resource_metrics = ResourceMetrics { resource: Some(resource), scope_metrics };
    MetricsData { resource_metrics: vec![resource_metrics] }.to_bytes()
}

/// Compresses bytes; they stay as they are if the codec fails.
fn compress(codec: Compression, bytes: Vec<u8>) -> (Compression, Vec<u8>) {
    let compressed = Compressor::new(codec).and_then(|mut compressor| compressor.compress_bytes(&bytes));
    match compressed {
        Ok(compressed) => (codec, compressed),
        Err(error) => {
            tracing::debug!(target: "ottla.telemetry", %error, "a push is not compressed");
            (Compression::None, bytes)
        }
    }
}
