//! The metrics of a gateway in Prometheus' text format.
//!
//! Invariants: no label has a value that a client chooses, so that there are never more series than APIs, error codes,
//! roles and brokers. All samples of a metric follow one HELP and TYPE line.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::documents::code_name;
use crate::session::{ApiCount, Counts};
use crate::shared::Shared;

/// The content type of the text.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics as text.
pub(super) fn render(shared: &Shared) -> String {
    let (totals, open) = (shared.sessions.totals(), shared.sessions.open());
    let counts = &totals.counts;
    let mut text = Text::default();
    for (name, help, value) in [
        ("connections_accepted_total", "Connections that were accepted.", totals.accepted as f64),
        (
            "connections_refused_total",
            "Connections that were closed at once, since there were too many.",
            totals.refused as f64,
        ),
        ("received_bytes_total", "Bytes received from clients.", counts.received as f64),
        ("sent_bytes_total", "Bytes sent to clients.", counts.sent as f64),
        (
            "throttle_seconds_total",
            "Seconds for which brokers have asked clients to wait (KIP-219).",
            counts.throttled.as_secs_f64(),
        ),
    ] {
        text.family(name, help, "counter");
        text.sample(name, &[], value);
    }
    text.by_api("requests_total", "Requests.", counts, |count| count.requests as f64);
    text.by_api("responses_total", "Responses.", counts, |count| count.responses as f64);
    let wait = "Seconds from requests to their responses.";
    text.by_api("response_wait_seconds_total", wait, counts, |count| count.waited.as_secs_f64());
    text.family("errors_total", "Error codes in responses, one for each partition.", "counter");
    for ((api, code), count) in &counts.errors {
        text.sample("errors_total", &[("api", api.name()), ("error", code_name(*code))], *count as f64);
    }
    text.family("faults_total", "Requests and connections that injected faults have hit.", "counter");
    for (fault, count) in &counts.faults {
        text.sample("faults_total", &[("fault", fault)], *count as f64);
    }
    let mut brokers: BTreeMap<String, u64> = BTreeMap::new();
    let mut roles: BTreeMap<String, u64> = BTreeMap::new();
    for session in &open {
        let broker = session.broker.map_or("bootstrap".to_owned(), |id| id.to_string());
        *brokers.entry(broker).or_default() += 1;
        session.roles.iter().for_each(|role| *roles.entry(role.name().to_owned()).or_default() += 1);
    }
    text.gauge("connections", "Open connections by broker.", "broker", &brokers);
    let several = "Open connections by role; one may have several.";
    text.gauge("connections_by_role", several, "role", &roles);
    text.family("requests_in_flight", "Requests that wait for their responses.", "gauge");
    let in_flight: u64 = open.iter().map(|session| session.in_flight).sum();
    text.sample("requests_in_flight", &[], in_flight as f64);
    text.0
}

/// The text so far.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, help: &str, kind: &str) {
        // Writing to a string does not fail.
        _ = writeln!(self.0, "# HELP kafka_gateway_{name} {help}\n# TYPE kafka_gateway_{name} {kind}");
    }

    /// Adds a sample. No label needs an escape.
    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<_> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        _ = writeln!(self.0, "kafka_gateway_{name}{{{}}} {value:?}", labels.join(","));
    }

    fn by_api(&mut self, name: &str, help: &str, counts: &Counts, value: impl Fn(&ApiCount) -> f64) {
        self.family(name, help, "counter");
        for (api, count) in &counts.apis {
            self.sample(name, &[("api", api.name())], value(count));
        }
    }

    fn gauge(&mut self, name: &str, help: &str, label: &str, values: &BTreeMap<String, u64>) {
        self.family(name, help, "gauge");
        for (key, value) in values {
            self.sample(name, &[(label, key)], *value as f64);
        }
    }
}
