//! The state machine with a clock of the test: no sleep and no broker.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may fail")]

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::get_telemetry_subscriptions::GetTelemetrySubscriptionsResponse;
use ottla_protocol::wire::Uuid;
use tokio::time::{Duration, Instant};

use super::*;
use crate::environment::{Environment, SystemNetwork};

const INTERVAL: Duration = Duration::from_secs(60);
const ID: Uuid = Uuid([7; 16]);

fn reporter(seed: u64) -> (Reporter, Instant) {
    let network = Arc::new(SystemNetwork::default());
    let now = Instant::now();
    (Reporter::new(Environment::new(network, fastrand::Rng::with_seed(seed)), now), now)
}

fn subscription(id: i32, metrics: &[&str]) -> GetTelemetrySubscriptionsResponse {
    GetTelemetrySubscriptionsResponse {
        client_instance_id: ID,
        subscription_id: id,
        push_interval_ms: 60_000,
        requested_metrics: metrics.iter().map(|metric| (*metric).to_owned()).collect(),
        ..GetTelemetrySubscriptionsResponse::default()
    }
}

/// Advances to the next request and returns it with its time.
fn next(reporter: &mut Reporter) -> (Action, Instant) {
    let due = reporter.next_due().expect("a request is due");
    if let Some(before) = due.checked_sub(Duration::from_nanos(1))
        && due > before + Duration::from_nanos(1)
    {
        assert_eq!(reporter.poll(before), None, "not before it is due");
    }
    (reporter.poll(due).expect("a request"), due)
}

/// A reporter that has a subscription, and the time of that.
fn subscribed(seed: u64) -> (Reporter, Instant) {
    let (mut reporter, now) = reporter(seed);
    assert_eq!(next(&mut reporter), (Action::GetSubscriptions(Uuid::ZERO), now));
    reporter.process_subscription(now, &subscription(1, &["*"]));
    (reporter, now)
}

/// A reporter with a push in progress, and the time of that.
fn pushing(seed: u64) -> (Reporter, Instant) {
    let (mut reporter, _) = subscribed(seed);
    let (action, at) = next(&mut reporter);
    assert!(matches!(action, Action::Push { client_instance_id: ID, terminating: false, .. }));
    (reporter, at)
}

#[test]
fn first_pushes_are_spread_over_an_interval_and_the_others_follow_at_the_interval() {
    let mut waits = Vec::new();
    for seed in 0..50 {
        let (mut reporter, subscribed_at) = subscribed(seed);
        let (_, at) = next(&mut reporter);
        let wait = at - subscribed_at;
        assert!(wait >= INTERVAL / 2 && wait <= INTERVAL * 3 / 2, "{wait:?}");
        waits.push(wait);
        assert!(reporter.process_push(at, ErrorCode::None));
        assert_eq!(next(&mut reporter).1, at + INTERVAL);
    }
    waits.sort();
    assert!(waits[49] - waits[0] > INTERVAL / 2, "{waits:?}");
}

#[test]
fn without_requested_metrics_only_the_subscription_is_requested_again() {
    let (mut reporter, now) = reporter(1);
    next(&mut reporter);
    reporter.process_subscription(now, &subscription(1, &[]));
    assert_eq!(next(&mut reporter), (Action::GetSubscriptions(ID), now + INTERVAL));
    reporter.process_subscription(now + INTERVAL, &subscription(1, &[]));
    reporter.terminate(now + INTERVAL);
    assert!(reporter.is_terminated(), "nothing to push");
}

#[test]
fn an_outdated_subscription_is_renewed_at_once_and_then_with_backoff() {
    for code in [ErrorCode::UnknownSubscriptionId, ErrorCode::UnsupportedCompressionType] {
        let (mut reporter, mut now) = pushing(1);
        let mut waits = Vec::new();
        for id in 2..8 {
            assert!(!reporter.process_push(now, code));
            let (action, at) = next(&mut reporter);
            assert_eq!(action, Action::GetSubscriptions(ID));
            waits.push(at - now);
            reporter.process_subscription(at, &subscription(id, &["*"]));
            now = next(&mut reporter).1;
        }
        assert_eq!(waits[0], Duration::ZERO);
        assert!(waits[1..].iter().all(|wait| *wait >= Duration::from_millis(800)), "{waits:?}");
        // A push that is taken forgets the failures.
        assert!(reporter.process_push(now, ErrorCode::None));
        now = next(&mut reporter).1;
        assert!(!reporter.process_push(now, code));
        assert_eq!(next(&mut reporter).1, now);
    }
}

#[test]
fn a_push_that_is_too_large_or_too_early_leads_to_a_new_subscription_after_the_interval() {
    for code in [ErrorCode::TelemetryTooLarge, ErrorCode::ThrottlingQuotaExceeded] {
        let (mut reporter, now) = pushing(1);
        assert!(!reporter.process_push(now, code));
        let (action, at) = next(&mut reporter);
        assert_eq!(action, Action::GetSubscriptions(ID));
        assert!(at - now >= INTERVAL && at - now <= INTERVAL * 3 / 2);
    }
}

#[test]
fn errors_that_a_retry_cannot_mend_end_telemetry() {
    for code in [ErrorCode::InvalidRequest, ErrorCode::InvalidRecord, ErrorCode::UnsupportedVersion] {
        let (mut pushing, now) = pushing(1);
        assert!(!pushing.process_push(now, code));
        assert_eq!((pushing.is_terminated(), pushing.next_due()), (true, None));
        let (mut asking, now) = reporter(1);
        next(&mut asking);
        let error_code = code.code();
        asking.process_subscription(
            now,
            &GetTelemetrySubscriptionsResponse { error_code, ..subscription(1, &["*"]) },
        );
        assert_eq!((asking.is_terminated(), asking.client_instance_id()), (true, None));
    }
}

#[test]
fn requests_without_a_response_are_repeated_with_growing_backoff_up_to_the_interval() {
    let (mut reporter, mut now) = pushing(3);
    let mut last = Duration::ZERO;
    for failures in 1..12 {
        reporter.process_failure(now);
        assert_eq!(reporter.state(), State::PushNeeded);
        let (_, at) = next(&mut reporter);
        last = at - now;
        assert!(failures > 1 || last <= Duration::from_millis(1200), "{last:?}");
        now = at;
    }
    assert!(last >= INTERVAL.mul_f64(0.8) && last <= INTERVAL.mul_f64(1.2), "{last:?}");
}

#[test]
fn the_last_push_is_sent_at_once_and_never_repeated() {
    let (mut reporter, now) = subscribed(1);
    reporter.terminate(now);
    let (action, at) = next(&mut reporter);
    assert!(matches!(action, Action::Push { terminating: true, .. }) && at == now);
    reporter.process_failure(now);
    assert!(reporter.is_terminated());
    let (mut waiting, now) = super::tests::reporter(1);
    waiting.terminate(now);
    assert!(waiting.is_terminated(), "nothing is subscribed");
}

#[test]
fn the_id_of_the_first_response_is_kept() {
    let (mut reporter, now) = pushing(1);
    reporter.process_push(now, ErrorCode::UnknownSubscriptionId);
    next(&mut reporter);
    let other =
        GetTelemetrySubscriptionsResponse { client_instance_id: Uuid([9; 16]), ..subscription(2, &["*"]) };
    reporter.process_subscription(now, &other);
    assert_eq!(reporter.client_instance_id(), Some(ID));
    let (mut without, now) = super::tests::reporter(1);
    next(&mut without);
    without.process_subscription(
        now,
        &GetTelemetrySubscriptionsResponse { client_instance_id: Uuid::ZERO, ..subscription(1, &["*"]) },
    );
    assert!(without.is_terminated());
}
