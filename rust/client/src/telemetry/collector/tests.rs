//! Deltas and payloads, without brokers.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may fail")]

use ottla_protocol::messages::get_telemetry_subscriptions::GetTelemetrySubscriptionsResponse;
use ottla_protocol::otlp::{MetricsData, Number};
use ottla_protocol::records::{Compression, Decompressor};

use super::super::payload::build_payload;
use super::*;

fn subscription(delta: bool, max_bytes: i32, codec: Compression) -> Subscription {
    Subscription::new(&GetTelemetrySubscriptionsResponse {
        delta_temporality: delta,
        telemetry_max_bytes: max_bytes,
        accepted_compression_types: vec![i8::try_from(codec.id()).expect("small")],
        requested_metrics: vec!["*".to_owned()],
        ..GetTelemetrySubscriptionsResponse::default()
    })
}

fn total(name: &str, value: f64) -> Measurement {
    Measurement { name: name.to_owned(), value, is_total: true, attributes: Vec::new() }
}

/// The number, and the start of its time.
fn point(collected: &Collected) -> (f64, u64) {
    let Some(Data::Sum(sum)) = &collected.metric.data else { panic!("no sum") };
    let point = &sum.data_points[0];
    (point.value.map_or(f64::NAN, Number::as_f64), point.start_time_unix_nano)
}

#[test]
fn a_push_that_fails_loses_no_delta() {
    let mut collector = Collector::new(10);
    let subscription = subscription(true, 0, Compression::None);
    let first = collector.collect(vec![total("a", 5.0)], &subscription, 20);
    assert_eq!(point(&first[0]), (5.0, 10));
    // Not taken: the next one covers its time too.
    let second = collector.collect(vec![total("a", 7.0)], &subscription, 30);
    assert_eq!(point(&second[0]), (7.0, 10));
    collector.taken(second, 30);
    let third = collector.collect(vec![total("a", 8.0)], &subscription, 40);
    assert_eq!(point(&third[0]), (1.0, 30));
}

#[test]
fn totals_without_deltas_count_from_the_start() {
    let mut collector = Collector::new(10);
    let subscription = subscription(false, 0, Compression::None);
    for (value, at) in [(5.0, 20), (7.0, 30)] {
        let values = collector.collect(vec![total("a", value)], &subscription, at);
        assert_eq!(point(&values[0]), (value, 10));
        collector.taken(values, at);
    }
}

#[test]
fn values_that_do_not_fit_are_dropped_from_the_end_and_their_deltas_kept() {
    let mut collector = Collector::new(10);
    let all: Vec<Measurement> = (0..40).map(|i| total(&format!("metric.number.{i:02}"), 1.0)).collect();
    let limited = subscription(true, 600, Compression::None);
    let payload =
        build_payload(collector.collect(all.clone(), &limited, 20), &[], &limited).expect("some fit");
    assert!(payload.bytes.len() <= 600 && payload.dropped > 0);
    assert_eq!(payload.values.len() + payload.dropped, 40);
    let sent = payload.values.len();
    collector.taken(payload.values, 20);
    let next = collector.collect(all, &limited, 30);
    assert_eq!((point(&next[0]), point(&next[sent])), ((0.0, 20), (1.0, 10)));
    let nothing_fits = subscription(true, 1, Compression::None);
    assert!(build_payload(next, &[], &nothing_fits).is_none());
}

#[test]
fn every_codec_is_one_that_brokers_decompress() {
    for codec in Compression::ALL {
        let subscription = subscription(false, 0, codec);
        let values = Collector::new(0).collect(vec![total("a", 5.0)], &subscription, 20);
        let payload = build_payload(values, &[("group_id", "g".to_owned())], &subscription).expect("fits");
        assert_eq!(payload.compression, codec);
        let bytes = Decompressor::new().decompress_bytes(codec, &payload.bytes).expect("compressed");
        let data = MetricsData::from_bytes(&bytes).expect("OTLP");
        let resource = data.resource_metrics[0].resource.as_ref().expect("a resource");
        assert_eq!(
            (resource.attributes[0].key.as_str(), resource.attributes[0].text()),
            ("group_id", Some("g"))
        );
        assert_eq!(data.resource_metrics[0].scope_metrics[0].metrics[0].name, "a");
    }
}
