//! The bytes of OpenTelemetry's metrics.

use ottla_protocol::otlp::*;

#[test]
fn a_gauge_has_the_field_numbers_of_otlp() {
    let point = NumberDataPoint { value: Some(Number::AsDouble(1.0)), ..NumberDataPoint::default() };
    let data = Some(Data::Gauge(Gauge { data_points: vec![point] }));
    let metric = Metric { name: "a".to_owned(), data };
    let scope = ScopeMetrics { metrics: vec![metric] };
    let resource = ResourceMetrics { resource: None, scope_metrics: vec![scope] };
    let data = MetricsData { resource_metrics: vec![resource] };
    // resource_metrics (1) > scope_metrics (2) > metrics (2) > name (1), gauge (5) > points (1) > double (4).
    let point = [0x0a, 0x09, 0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
    let mut bytes = vec![0x0a, 0x14, 0x12, 0x12, 0x12, 0x10, 0x0a, 0x01, b'a', 0x2a, 0x0b];
    bytes.extend(point);
    assert_eq!(data.to_bytes(), bytes);
    assert_eq!(MetricsData::from_bytes(&bytes).expect("valid"), data);
    assert!(MetricsData::from_bytes(&bytes[..bytes.len() - 1]).is_err());
}
