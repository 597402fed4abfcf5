//! Overdue responses: logs a warning after seconds, and closes the connection at the request's timeout.
//!
//! Invariant: the time starts when a request's last byte is written, whether or not other responses or
//! single bytes arrive meanwhile. A wait that the request allows the broker does not count.

use ottla_protocol::ApiKey;
use tokio::time::{Duration, Instant, sleep_until};

use super::in_flight::{ConnectionShared, InFlightRequest, InFlightRequests};
use crate::error::{Error, Kind};

/// A response that is late by this much is reported, and again at this interval. `PersistentFailures`
/// decides which reports become warnings.
const LATE_AFTER: Duration = Duration::from_secs(5);
/// The same for a response to Produce: with `acks=all` it waits for replicas, and records wait for it.
const LATE_PRODUCE_AFTER: Duration = Duration::from_secs(2);

/// What the guard does next.
enum GuardAction {
    Idle,
    Wait(Instant),
    Report(Error, Instant),
    Close(Error),
}

/// Waits until a response is overdue or the connection is closed, and returns the cause.
pub(super) async fn guard(shared: &ConnectionShared) -> Error {
    // Limits how often late responses are reported.
    let mut quiet_until = Instant::now();
    loop {
        let action = match &*shared.state.lock() {
            InFlightRequests::Dead(cause) => return cause.clone(),
            InFlightRequests::Alive(pending) => {
                let action = next_action(shared, pending.iter(), quiet_until);
                // Noted before a request can be added: it wakes the guard if it is due earlier.
                *shared.guarded_until.lock() = match &action {
                    GuardAction::Wait(until) => Some(*until),
                    _ => None,
                };
                action
            }
        };
        match action {
            GuardAction::Idle => shared.changed.notified().await,
            GuardAction::Wait(until) => tokio::select! {
                () = shared.changed.notified() => {}
                () = sleep_until(until) => {}
            },
            GuardAction::Report(error, since) => {
                shared.failures.record_waiting("a response", &error, since);
                quiet_until = Instant::now() + LATE_AFTER;
            }
            GuardAction::Close(error) => return error,
        }
    }
}

fn next_action<'a>(
    shared: &ConnectionShared,
    pending: impl Iterator<Item = &'a InFlightRequest> + Clone,
    quiet_until: Instant,
) -> GuardAction {
    let now = Instant::now();
    let overdue = pending.clone().filter_map(|request| Some((request.overdue()?, request)));
    let Some((overdue, request)) = overdue.min_by_key(|(overdue, _)| *overdue) else {
        return GuardAction::Idle;
    };
    if overdue <= now {
        let (api, version, millis) = (request.api.name(), request.version, request.timeout.as_millis());
        let message = format!("no response to {api} v{version} within {millis} ms");
        return GuardAction::Close(Error::new(Kind::Connection, message).address(&shared.address).overdue());
    }
    // Responses come in order: the oldest request delays all others.
    let late = pending.clone().find_map(|request| Some((late_at(request, shared.request_timeout)?, request)));
    match late {
        Some((late, request)) if late <= now && quiet_until <= now => {
            let replicas = match request.api {
                ApiKey::Produce => {
                    "the leader waits for an in-sync replica that is down or slow (acks=all), or "
                }
                _ => "",
            };
            let message = format!(
                "no response to {} yet: {replicas}the broker is overloaded or hangs, or the network loses packets; `ottla doctor {}` checks each step",
                request.api.name(),
                shared.bootstrap
            );
            let error = Error::new(Kind::Timeout, message).address(&shared.address);
            GuardAction::Report(error, late - late_after(request.api))
        }
        Some((late, _)) => GuardAction::Wait(overdue.min(late.max(quiet_until))),
        None => GuardAction::Wait(overdue),
    }
}

/// When a response is late enough to be reported. Never before its request is written, and never if it
/// depends on other members of a group.
pub(super) fn late_at(request: &InFlightRequest, request_timeout: Duration) -> Option<Instant> {
    if matches!(request.api, ApiKey::JoinGroup | ApiKey::SyncGroup) {
        return None;
    }
    let allowed = request.allowed_wait(request_timeout);
    Some(request.written_at? + allowed + late_after(request.api))
}

fn late_after(api: ApiKey) -> Duration {
    if api == ApiKey::Produce { LATE_PRODUCE_AFTER } else { LATE_AFTER }
}
