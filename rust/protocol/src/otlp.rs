//! The part of the OpenTelemetry protocol (OTLP 1.x) that PushTelemetry carries: metrics as sums and gauges
//! (KIP-714).
//!
//! Field numbers are those of `opentelemetry/proto/metrics/v1/metrics.proto` and its imports. Fields and kinds of
//! metrics that Kafka clients do not send are left out; decoding ignores them.

use prost::{Message, Oneof};

/// The content of a push.
#[derive(Clone, PartialEq, Message)]
pub struct MetricsData {
    /// The metrics of each resource.
    #[prost(message, repeated, tag = "1")]
    pub resource_metrics: Vec<ResourceMetrics>,
}

/// The metrics of one client.
#[derive(Clone, PartialEq, Message)]
pub struct ResourceMetrics {
    /// The client.
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    /// Its metrics, by the library that measured them.
    #[prost(message, repeated, tag = "2")]
    pub scope_metrics: Vec<ScopeMetrics>,
}

/// What the metrics describe.
#[derive(Clone, PartialEq, Message)]
pub struct Resource {
    /// Its attributes.
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<KeyValue>,
}

/// The metrics of one library.
#[derive(Clone, PartialEq, Message)]
pub struct ScopeMetrics {
    /// The metrics.
    #[prost(message, repeated, tag = "2")]
    pub metrics: Vec<Metric>,
}

/// A metric.
#[derive(Clone, PartialEq, Message)]
pub struct Metric {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its values.
    #[prost(oneof = "Data", tags = "5, 7")]
    pub data: Option<Data>,
}

/// The values of a metric, by its kind.
#[derive(Clone, PartialEq, Oneof)]
pub enum Data {
    /// The values of this moment.
    #[prost(message, tag = "5")]
    Gauge(Gauge),
    /// Totals.
    #[prost(message, tag = "7")]
    Sum(Sum),
}

/// The values of this moment.
#[derive(Clone, PartialEq, Message)]
pub struct Gauge {
    /// One value for each set of attributes.
    #[prost(message, repeated, tag = "1")]
    pub data_points: Vec<NumberDataPoint>,
}

/// Totals, since the start or since the last push.
#[derive(Clone, PartialEq, Message)]
pub struct Sum {
    /// One value for each set of attributes.
    #[prost(message, repeated, tag = "1")]
    pub data_points: Vec<NumberDataPoint>,
    /// What the totals cover.
    #[prost(enumeration = "AggregationTemporality", tag = "2")]
    pub aggregation_temporality: i32,
    /// Whether the totals never shrink.
    #[prost(bool, tag = "3")]
    pub is_monotonic: bool,
}

/// The time that a total covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum AggregationTemporality {
    /// Not stated.
    Unspecified = 0,
    /// Since the last push.
    Delta = 1,
    /// Since the start.
    Cumulative = 2,
}

/// A value.
#[derive(Clone, PartialEq, Message)]
pub struct NumberDataPoint {
    /// Its attributes.
    #[prost(message, repeated, tag = "7")]
    pub attributes: Vec<KeyValue>,
    /// The start of the time that it covers, in nanoseconds since 1970.
    #[prost(fixed64, tag = "2")]
    pub start_time_unix_nano: u64,
    /// The end of that time, in nanoseconds since 1970.
    #[prost(fixed64, tag = "3")]
    pub time_unix_nano: u64,
    /// The number.
    #[prost(oneof = "Number", tags = "4, 6")]
    pub value: Option<Number>,
}

/// A number.
#[derive(Clone, Copy, PartialEq, Oneof)]
pub enum Number {
    /// A floating-point number.
    #[prost(double, tag = "4")]
    AsDouble(f64),
    /// An integer.
    #[prost(sfixed64, tag = "6")]
    AsInt(i64),
}

/// An attribute.
#[derive(Clone, PartialEq, Message)]
pub struct KeyValue {
    /// Its name.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(message, optional, tag = "2")]
    pub value: Option<AnyValue>,
}

/// The value of an attribute.
#[derive(Clone, PartialEq, Message)]
pub struct AnyValue {
    /// The value; `None` for a type that Kafka clients do not send.
    #[prost(oneof = "AttributeValue", tags = "1")]
    pub value: Option<AttributeValue>,
}

/// The value of an attribute, by its type.
#[derive(Clone, PartialEq, Eq, Oneof)]
pub enum AttributeValue {
    /// A text.
    #[prost(string, tag = "1")]
    StringValue(String),
}

impl MetricsData {
    /// Encodes the metrics.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }

    /// Decodes metrics.
    ///
    /// # Errors
    /// What is malformed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, prost::DecodeError> {
        Self::decode(bytes)
    }
}

impl KeyValue {
    /// Creates an attribute.
    #[must_use]
    pub fn new(key: impl Into<String>, value: impl Into<String>) -> Self {
        let value = AnyValue { value: Some(AttributeValue::StringValue(value.into())) };
        Self { key: key.into(), value: Some(value) }
    }

    /// The value, if it is a text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        let AttributeValue::StringValue(text) = self.value.as_ref()?.value.as_ref()?;
        Some(text)
    }
}

impl Number {
    /// The number, rounded to the nearest one that a double can express.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::AsDouble(value) => value,
            Self::AsInt(value) => value as f64,
        }
    }
}
