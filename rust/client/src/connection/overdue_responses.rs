//! Overdue responses: logs a warning after seconds, and closes the connection at the request's timeout.
//!
//! Invariant: the time starts when a request's last byte is written, whether or not other responses or
//! single bytes arrive meanwhile. A wait that the request allows the broker does not count.

use std::sync::atomic::Ordering;

use ottla_protocol::ApiKey;
use tokio::time::{Instant, sleep_until};

use super::in_flight::{ConnectionShared, InFlightRequest, InFlightRequests, LATE_AFTER};
use crate::error::{Error, Kind};
use crate::retry::persistent_failures::{PersistentFailures, Place};

const A_RESPONSE: &str = "a response";

/// Ends the warning about a late response: one has arrived from `address`.
pub(super) fn record_response(failures: &PersistentFailures, address: &str) {
    failures.record_success(format_args!("waiting for {A_RESPONSE}"), Place::Address(address));
}

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
                shared.failures.record_waiting(A_RESPONSE, &error, since);
                shared.is_late.store(true, Ordering::Relaxed);
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
    let late = pending.clone().find_map(|request| Some((request.late(shared.request_timeout)?, request)));
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
            GuardAction::Report(error, late - request.late_after())
        }
        Some((late, _)) => GuardAction::Wait(overdue.min(late.max(quiet_until))),
        None => GuardAction::Wait(overdue),
    }
}
