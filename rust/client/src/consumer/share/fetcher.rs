//! The task of a share consumer: sends the requests that the state schedules, and requests metadata.
//!
//! Invariant: it decides nothing; `ShareState` does, under a lock that is never held across an await. A request
//! that panics ends the task with an error for the application: its leader would stay in flight forever.

use std::sync::Arc;

use ottla_protocol::messages::share_acknowledge::{ShareAcknowledgeRequest, ShareAcknowledgeResponse};
use ottla_protocol::messages::share_fetch::{ShareFetchRequest, ShareFetchResponse};
use ottla_protocol::{ErrorCode, Request};
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until};

use super::schedule::{LeaderRequest, Schedule};
use super::shared::Shared;
use super::state::ShareState;
use crate::cluster::{Client, Route};
use crate::error::{Error, Result};
use crate::metadata::{LeaderHints, RefreshNeed, TopicSelector};
use crate::retry::persistent_failures::Place;
use crate::tasks::panics::catch;

/// The first version that can renew locks and limit the records exactly.
const FIRST_WITH_RENEW: i16 = 2;

/// The longest sleep.
const MAX_IDLE: Duration = Duration::from_secs(1);

/// The outcome of a request.
enum Outcome {
    Fetched(i32, Result<ShareFetchResponse>),
    Acknowledged(i32, Result<ShareAcknowledgeResponse>),
    Panicked(Error),
}

/// Runs until aborted. An error is fatal.
pub(super) async fn run(shared: Arc<Shared>) -> Result<()> {
    let mut requests: JoinSet<Outcome> = JoinSet::new();
    let mut refreshes = shared.client.refresh_outcomes();
    loop {
        let now = Instant::now();
        let schedule = shared.state.lock().schedule(&shared.client.snapshot(), now);
        let due = schedule.next_due.unwrap_or(now + MAX_IDLE).min(now + MAX_IDLE);
        request_metadata(&shared, &schedule, now);
        for (leader, request) in schedule.requests {
            let client = shared.client.clone();
            requests.spawn(async move {
                let sent = catch("a request of a share consumer", send(client, leader, request)).await;
                sent.unwrap_or_else(Outcome::Panicked)
            });
        }
        // Not otherwise: a waiting poll and this task would wake each other without end.
        if schedule.has_failed_acknowledgements {
            shared.poll_wakeup.notify_waiters();
        }
        tokio::select! {
            Some(outcome) = requests.join_next(), if !requests.is_empty() => match outcome {
                Ok(Outcome::Panicked(error)) => return Err(error),
                Ok(outcome) => process(&shared, outcome),
                // The runtime is shutting down: panics are caught inside the task.
                Err(_) => return Ok(()),
            },
            Ok(()) = refreshes.changed() => drop(refreshes.borrow_and_update()),
            () = shared.fetcher_wakeup.notified() => {}
            () = sleep_until(due) => {}
        }
    }
}

fn process(shared: &Shared, outcome: Outcome) {
    let now = Instant::now();
    let backoff = |failures| shared.client.backoff(failures);
    let (Outcome::Fetched(leader, _) | Outcome::Acknowledged(leader, _)) = outcome else { return };
    if let Outcome::Fetched(_, Err(error)) | Outcome::Acknowledged(_, Err(error)) = &outcome
        && error.may_pass()
    {
        shared.client.count_retry(error);
    }
    let mut state = shared.state.lock();
    let is_failing =
        |state: &ShareState| state.leaders.get(&leader).is_some_and(|leader| leader.failing_since.is_some());
    let was_failing = is_failing(&state);
    match outcome {
        Outcome::Fetched(leader, response) => state.process_fetch(leader, response, now, backoff),
        Outcome::Acknowledged(leader, response) => state.process_acknowledge(leader, response, now, backoff),
        Outcome::Panicked(_) => {}
    }
    let failure =
        state.leaders.get(&leader).and_then(|leader| leader.last_error.clone().zip(leader.failing_since));
    let has_recovered = was_failing && !is_failing(&state);
    let read_again = std::mem::take(&mut state.read_again);
    drop(state);
    for (topic, partition) in read_again {
        shared.client.record_success(format_args!("reading {topic}"), Place::Partition(partition));
    }
    let what = format_args!("fetching from broker {leader}");
    if let Some((error, since)) = failure {
        tracing::debug!(target: "ottla.share", leader, %error, "a leader did not serve a request");
        shared.client.record_failure(what, &error, since);
    } else if has_recovered {
        shared.client.record_success(what, Place::Everywhere);
    }
    shared.poll_wakeup.notify_waiters();
}

/// Warns about the first partition without a leader, if that lasts.
fn report_leaderless(shared: &Shared, schedule: &Schedule, now: Instant) {
    let mut leaderless = shared.leaderless.lock();
    let Some(((topic, partition), error)) = schedule.leaderless.first() else {
        if let Some((_, (topic, partition))) = leaderless.take() {
            shared.client.record_success(format_args!("reading {topic}"), Place::Partition(partition));
        }
        return;
    };
    let since = leaderless.as_ref().map_or(now, |(since, _)| *since);
    *leaderless = Some((since, (Arc::clone(topic), *partition)));
    let error = error.clone().at(topic, *partition);
    shared.client.record_failure(format_args!("reading {topic}"), &error, since);
}

/// Requests metadata for partitions without a leader, and after errors that it may explain.
fn request_metadata(shared: &Shared, schedule: &Schedule, now: Instant) {
    let generation = shared.client.snapshot().generation;
    let mut state = shared.state.lock();
    let is_stale = std::mem::take(&mut state.metadata_is_stale);
    let failures: Vec<(Error, Instant)> =
        state.failing.values().map(|failures| (failures.last.clone(), failures.since)).collect();
    drop(state);
    for (error, since) in failures {
        let topic = error.context().topic.clone().unwrap_or_default();
        shared.client.record_failure(format_args!("reading {topic}"), &error, since);
    }
    report_leaderless(shared, schedule, now);
    let need = match (is_stale, schedule.leaderless.is_empty()) {
        (true, _) => RefreshNeed::Stale(generation),
        (false, false) => RefreshNeed::Missing(generation),
        (false, true) => return,
    };
    let mut topics: Vec<Arc<str>> =
        shared.state.lock().assignment.iter().map(|(topic, _)| Arc::clone(topic)).collect();
    topics.dedup();
    // A closed client fails the requests.
    if !topics.is_empty() {
        let _ = shared.client.request_refresh(need, TopicSelector::Topics(&topics));
    }
}

async fn send(client: Client, leader: i32, request: LeaderRequest) -> Outcome {
    match request {
        LeaderRequest::Fetch(request) => Outcome::Fetched(leader, fetch(&client, leader, request).await),
        LeaderRequest::Acknowledge(request) => {
            Outcome::Acknowledged(leader, acknowledge(&client, leader, request).await)
        }
    }
}

async fn fetch(client: &Client, leader: i32, request: ShareFetchRequest) -> Result<ShareFetchResponse> {
    let wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
    let check = |version: i16| {
        if version < FIRST_WITH_RENEW && request.share_acquire_mode != 0 {
            return Err(unsupported("share.acquire.mode=record_limit"));
        }
        Ok(())
    };
    let response = exchange(client, leader, &request, wait, check).await?;
    let endpoints = response.node_endpoints.iter();
    let endpoints = endpoints.map(|n| (n.node_id, n.host.clone(), n.port, n.rack.clone()));
    let snapshot = client.snapshot();
    let mut hints = LeaderHints::default();
    for topic in &response.responses {
        let Some(name) = snapshot.topic_name(topic.topic_id) else { continue };
        for data in &topic.partitions {
            let leader = (data.current_leader.leader_id, data.current_leader.leader_epoch);
            hints.add(name, data.partition_index, ErrorCode::from(data.error_code), leader);
        }
    }
    hints.apply(&client.inner.metadata, endpoints);
    Ok(response)
}

async fn acknowledge(
    client: &Client,
    leader: i32,
    request: ShareAcknowledgeRequest,
) -> Result<ShareAcknowledgeResponse> {
    let check = |version: i16| {
        if version < FIRST_WITH_RENEW && request.is_renew_ack {
            return Err(unsupported("renewing the lock of a record"));
        }
        Ok(())
    };
    exchange(client, leader, &request, Duration::ZERO, check).await
}

async fn exchange<R: Request>(
    client: &Client,
    leader: i32,
    request: &R,
    wait: Duration,
    check: impl Fn(i16) -> Result<()>,
) -> Result<R::Response> {
    let at = |error: Error| error.broker(leader);
    let connection = client.connection(Route::Broker(leader)).await.map_err(at)?;
    let version = connection.version::<R>(i16::MAX).map_err(at)?;
    check(version).map_err(at)?;
    let timeout = client.config().request_timeout + wait;
    connection.request_within(request, version, timeout).await.map_err(at)
}

fn unsupported(what: &str) -> Error {
    let message = format!("{what} needs brokers of Kafka 4.2 or newer");
    Error::with_code(ErrorCode::UnsupportedVersion, message)
}
