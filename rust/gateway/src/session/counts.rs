//! [`Counts`]: what happened in a session, or in all sessions that have ended.
//!
//! Invariant: its size does not depend on what peers send: there are as many rows as APIs, and as error codes that
//! Kafka has.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::numbers::visit_numbers;
use ottla_protocol::{ApiKey, ErrorCode};

/// What stands for all codes that Kafka does not have.
const OTHER_CODE: i16 = i16::MAX;

/// The requests of one API.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApiCount {
    /// The requests.
    pub requests: u64,
    /// The responses.
    pub responses: u64,
    /// The time from each request to its response, added up.
    pub waited: Duration,
}

/// What happened in a session, or in several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// The bytes received from clients.
    pub received: u64,
    /// The bytes sent to clients.
    pub sent: u64,
    /// The requests by API.
    pub apis: BTreeMap<ApiKey, ApiCount>,
    /// The errors in responses by API and code, each as often as it is there: a response has one for each partition. Of
    /// long responses the first 64 KiB count.
    pub errors: BTreeMap<(ApiKey, i16), u64>,
    /// The requests and connections that injected faults have hit, by the kind of the fault.
    pub faults: BTreeMap<&'static str, u64>,
    /// How long brokers have asked clients to wait (KIP-219), added up.
    pub throttled: Duration,
}

/// What a response says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// The first error code, or 0.
    pub(super) first_error: i16,
    /// The time to wait in milliseconds.
    pub(super) throttle_ms: i32,
}

impl Counts {
    /// Counts a request.
    pub(super) fn request(&mut self, api: ApiKey) {
        self.apis.entry(api).or_default().requests += 1;
    }

    /// Counts a response: `body` is what follows its correlation id, or the beginning of it.
    pub(super) fn response(&mut self, api: ApiKey, version: i16, waited: Duration, body: &[u8]) -> Findings {
        let count = self.apis.entry(api).or_default();
        count.responses += 1;
        count.waited += waited;
        let mut findings = Findings::default();
        let (lowest, highest) = api.versions();
        if !(lowest..=highest).contains(&version) {
            return findings;
        }
        // A response that is cut off or malformed has the numbers in front of that place.
        _ = visit_numbers(api, version, body, &mut |number| match number.field {
            "throttle_time_ms" if number.length == 4 => findings.throttle_ms = number.value.max(0),
            field if number.value != 0 && number.length == 2 && field.ends_with("error_code") => {
                let code = i16::try_from(number.value).unwrap_or(OTHER_CODE);
                let code =
                    if matches!(ErrorCode::from(code), ErrorCode::Unknown(_)) { OTHER_CODE } else { code };
                *self.errors.entry((api, code)).or_default() += 1;
                if findings.first_error == 0 {
                    findings.first_error = code;
                }
            }
            _ => {}
        });
        self.throttled += Duration::from_millis(u64::from(findings.throttle_ms.unsigned_abs()));
        findings
    }

    /// Adds other counts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.sent += other.sent;
        self.throttled += other.throttled;
        for (api, count) in &other.apis {
            let sum = self.apis.entry(*api).or_default();
            sum.requests += count.requests;
            sum.responses += count.responses;
            sum.waited += count.waited;
        }
        for (kind, count) in &other.faults {
            *self.faults.entry(kind).or_default() += count;
        }
        for (key, count) in &other.errors {
            *self.errors.entry(*key).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]
    use ottla_protocol::Message;
    use ottla_protocol::messages::produce::{
        PartitionProduceResponse, ProduceResponse, TopicProduceResponse,
    };

    use super::*;

    #[test]
    fn errors_and_throttling_of_a_response() {
        let partition = |error_code| PartitionProduceResponse { error_code, ..Default::default() };
        let topic = TopicProduceResponse {
            partition_responses: vec![partition(0), partition(6), partition(6), partition(1234)],
            ..Default::default()
        };
        let response =
            ProduceResponse { responses: vec![topic], throttle_time_ms: 250, ..Default::default() };
        let body = response.to_frame(8).unwrap().to_bytes();
        let mut counts = Counts::default();
        let findings = counts.response(ApiKey::Produce, 8, Duration::from_millis(3), &body);
        assert_eq!(findings, Findings { first_error: 6, throttle_ms: 250 });
        let expected = [((ApiKey::Produce, 6), 2), ((ApiKey::Produce, OTHER_CODE), 1)];
        assert_eq!(counts.errors, BTreeMap::from(expected));
        assert_eq!(counts.throttled, Duration::from_millis(250));
        let mut sum = counts.clone();
        sum.add(&counts);
        assert_eq!(sum.errors[&(ApiKey::Produce, 6)], 4);
        assert_eq!(sum.apis[&ApiKey::Produce].waited, Duration::from_millis(6));
    }
}
