//! Proves: failures that may pass are retried with backoff until the deadline, at one address after the
//! other; a registry that is down or silent is a warning within seconds; cached ids need no registry; a
//! failing registry is not asked again and again.

use crate::support::panics::{capture_log, captured_log};
use crate::support::registry::*;
use crate::support::*;
use ottla_client::Kind;
use ottla_client::schema_registry::SubjectFilter;
use ottla_mock::schema_registry::{RegistryFault, RegistryReaction};
use ottla_schema::SchemaId;
use tokio::time::Instant;

fn status(status: u16, retry_after: Option<u64>) -> RegistryReaction {
    RegistryReaction::Status { status, code: Some(50_001), message: "later".into(), retry_after }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_passes_costs_a_backoff() {
    let mock = registry().await;
    mock.register("s", "AVRO", AVRO, &[]).unwrap();
    let client = registry_client(&mock, &[]);
    for reaction in [status(500, None), status(503, None), RegistryReaction::Disconnect, status(429, None)] {
        mock.inject(RegistryFault::once(reaction));
    }
    let started = Instant::now();
    client.entry(SchemaId::Id(1), None, CALL_TIMEOUT).await.unwrap();
    // Three waits: 100, 200 and 400 ms, each changed by up to 20 %. A reused connection that was closed costs none.
    assert_took(started, ms(560), ms(850));
    assert_eq!(mock.requests().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn the_registry_decides_how_long_to_wait() {
    let mock = registry().await;
    mock.register("s", "AVRO", AVRO, &[]).unwrap();
    let client = registry_client(&mock, &[]);
    mock.inject(RegistryFault::once(status(429, Some(7))));
    let started = Instant::now();
    client.entry(SchemaId::Id(1), None, CALL_TIMEOUT).await.unwrap();
    assert_took(started, ms(7_000), ms(7_100));
    mock.inject(RegistryFault::once(status(429, Some(u64::MAX))));
    let started = Instant::now();
    let (kind, message) = shown(client.latest("s", CALL_TIMEOUT).await);
    assert_eq!((kind, started.elapsed()), (Kind::Connection, ms(0)));
    assert!(message.contains("longer than the timeout of this call"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn while_the_registry_is_down_cached_ids_work_and_others_are_a_timeout_with_the_cause() {
    capture_log();
    let mock = registry().await;
    mock.register("s", "AVRO", AVRO, &[]).unwrap();
    mock.register("s", "AVRO", "\"string\"", &[]).unwrap();
    let client = registry_client(&mock, &[]);
    client.entry(SchemaId::Id(1), None, CALL_TIMEOUT).await.unwrap();
    mock.stop().await.unwrap();
    client.entry(SchemaId::Id(1), None, CALL_TIMEOUT).await.expect("cached");
    let started = Instant::now();
    let failed = client.entry(SchemaId::Id(2), None, ms(5_000)).await.unwrap_err();
    assert_eq!((failed.kind(), started.elapsed()), (Kind::Timeout, ms(5_000)));
    let message = failed.to_string();
    let expected = format!("looking up schema 2 did not succeed within 5000 ms: {}", mock.url());
    assert!(message.starts_with(&expected) && message.contains("refused"), "{message}");
    assert!(failed.is_retriable());
    let warnings: Vec<String> = captured_log().into_iter().filter(|line| line.starts_with("WARN")).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("looking up schema 2 has been failing for 2 s"), "{warnings:?}");
    mock.restart().await.unwrap();
    client.entry(SchemaId::Id(2), None, CALL_TIMEOUT).await.expect("back again");
}

#[tokio::test(start_paused = true)]
async fn a_silent_registry_is_a_warning_within_seconds_and_the_next_address_is_tried() {
    capture_log();
    let (silent, mock) = (registry().await, registry().await);
    silent.inject(RegistryFault::always(RegistryReaction::Silence));
    mock.register("s", "AVRO", AVRO, &[]).unwrap();
    let urls = format!("{},{}", silent.url(), mock.url());
    let client = try_registry_client(&urls, &[]).unwrap();
    let started = Instant::now();
    client.entry(SchemaId::Id(1), None, CALL_TIMEOUT).await.unwrap();
    assert_took(started, ms(10_000), ms(10_100));
    let warnings: Vec<String> = captured_log().into_iter().filter(|line| line.starts_with("WARN")).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains(&silent.url()) && warnings[0].contains("for 2 s"), "{warnings:?}");
    // From now on, the address that responded comes first.
    client.latest("s", CALL_TIMEOUT).await.unwrap();
    assert_took(started, ms(10_000), ms(10_100));
    assert_eq!(silent.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn if_all_addresses_fail_the_error_names_each() {
    let (one, other) = (registry().await, registry().await);
    one.stop().await.unwrap();
    other.inject(RegistryFault::always(status(503, None)));
    let client = try_registry_client(&format!("{},{}", one.url(), other.url()), &[]).unwrap();
    let (kind, message) = shown(client.subjects(&SubjectFilter::default(), ms(1_000)).await);
    assert_eq!(kind, Kind::Timeout);
    assert!(message.contains(&format!("{}: ", one.url())), "{message}");
    assert!(
        message.contains(&format!("{} returned status 503 (error 50001: \"later\")", other.url())),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_the_deadline_ends_does_not_hide_the_failure_before_it() {
    let (one, other) = (registry().await, registry().await);
    one.inject(RegistryFault::once(status(503, None)));
    one.inject(RegistryFault::always(RegistryReaction::Silence));
    other.inject(RegistryFault::always(status(500, None)));
    let client = try_registry_client(&format!("{},{}", one.url(), other.url()), &[]).unwrap();
    let started = Instant::now();
    let (kind, message) = shown(client.subjects(&SubjectFilter::default(), ms(3_000)).await);
    assert_eq!((kind, started.elapsed()), (Kind::Timeout, ms(3_000)));
    let begin = format!(
        "listing the subjects did not succeed within 3000 ms: {} returned status 503 (error 50001: \"later\"); {} returned status 500",
        one.url(),
        other.url()
    );
    assert!(message.starts_with(&begin), "{message}");
    // Nothing is said of the other address, for which no time was left.
    let (_, end) = message.rsplit_once("; the last attempt: ").expect("what it did at the end");
    assert!(end.starts_with(&format!("{}: no response within ", one.url())), "{message}");
    assert!(!end.contains(&other.url()), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_failing_look_up_is_not_repeated_at_once() {
    let mock = registry().await;
    let client = registry_client(&mock, &[("retry.backoff.max.ms", "1000")]);
    for _ in 0..1_000 {
        assert!(client.entry(SchemaId::Id(7), None, CALL_TIMEOUT).await.is_err());
    }
    assert_eq!(mock.requests().len(), 1);
    tokio::time::sleep(ms(1_000)).await;
    mock.register("s", "AVRO", AVRO, &[]).unwrap();
    assert!(client.entry(SchemaId::Id(7), None, CALL_TIMEOUT).await.is_err());
    assert_eq!(mock.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_registration_ends_the_memory_of_what_was_missing() {
    let mock = registry().await;
    let client = registry_client(&mock, &[]);
    assert!(client.lookup("s", &avro(AVRO), false, CALL_TIMEOUT).await.is_err());
    assert!(client.latest("s", CALL_TIMEOUT).await.is_err());
    client.register("s", &avro(AVRO), false, CALL_TIMEOUT).await.unwrap();
    assert_eq!(client.lookup("s", &avro(AVRO), false, CALL_TIMEOUT).await.unwrap().version, Some(1));
    assert_eq!(client.latest("s", CALL_TIMEOUT).await.unwrap().version, Some(1));
    let changed = AVRO.replace("long", "double");
    client.register("s", &avro(&changed), false, CALL_TIMEOUT).await.unwrap();
    assert_eq!(client.latest("s", CALL_TIMEOUT).await.unwrap().version, Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_registration_without_a_response_may_be_done_and_repeating_it_is_safe() {
    let mock = registry().await;
    let client = registry_client(&mock, &[]);
    mock.inject(RegistryFault::once(RegistryReaction::DisconnectAfterHandling));
    let entry = client.register("s", &avro(AVRO), false, CALL_TIMEOUT).await.unwrap();
    assert_eq!((entry.id, entry.version), (Some(1), Some(1)));
    assert_eq!(mock.request_count(Some("POST"), "/subjects/s/versions"), 2);
    mock.inject(RegistryFault::always(RegistryReaction::DisconnectAfterHandling));
    let failed = client.register("t", &avro(AVRO), false, ms(2_000)).await.unwrap_err();
    assert!(failed.is_maybe_done(), "{failed}");
    mock.stop().await.unwrap();
    let failed = client.register("u", &avro(AVRO), false, ms(2_000)).await.unwrap_err();
    assert!(!failed.is_maybe_done(), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_caller_does_not_leave_the_others_waiting() {
    let mock = registry().await;
    mock.register("s", "AVRO", AVRO, &[]).unwrap();
    mock.inject(RegistryFault::once(RegistryReaction::Silence));
    let client = registry_client(&mock, &[]);
    let cancelled = tokio::time::timeout(ms(500), client.entry(SchemaId::Id(1), None, CALL_TIMEOUT));
    let (cancelled, found) = tokio::join!(cancelled, client.entry(SchemaId::Id(1), None, CALL_TIMEOUT));
    assert!(cancelled.is_err());
    assert_eq!(&*found.unwrap().schema.text, AVRO);
    assert_eq!(mock.request_count(None, "/schemas/ids/1"), 2);
}
