//! Responses that do not come: a warning after seconds, the end of the connection after their timeout.
//!
//! Invariant: the time counts from a request's last byte, however busily others are answered or bytes
//! trickle in, and the time that the broker was itself allowed to wait is not counted.

use ottla_protocol::ApiKey;
use tokio::time::{Duration, Instant, sleep_until};

use super::in_flight::{ConnectionShared, InFlightRequest, InFlightRequests};
use crate::error::{Error, Kind};

/// A response that is late by this much is reported, and again after each such time; how often that is a
/// warning is for `PersistentFailures` to say.
const LATE_AFTER: Duration = Duration::from_secs(5);

/// What is to be done next about the requests in flight.
enum GuardAction {
    Idle,
    Wait(Instant),
    Report(Error, Instant),
    Close(Error),
}

/// Waits until a response is overdue, or until somebody else has ended the connection.
pub(super) async fn guard(shared: &ConnectionShared) -> Error {
    // What was reported already is looked at again later.
    let mut quiet_until = Instant::now();
    loop {
        let action = match &*shared.state.lock() {
            InFlightRequests::Dead(cause) => return cause.clone(),
            InFlightRequests::Alive(pending) => next_action(shared, pending.iter(), quiet_until),
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
        let message = format!("no answer to {api} v{version} within {millis} ms");
        return GuardAction::Close(Error::new(Kind::Connection, message).address(&shared.address));
    }
    // Responses come in order: the oldest request is the one that holds up the others.
    let late = pending.clone().find_map(|request| Some((late_at(shared, request)?, request)));
    match late {
        Some((late, request)) if late <= now && quiet_until <= now => {
            let message = format!(
                "no response to {} yet: the broker is overloaded or hangs, or the network loses packets; `ottla doctor {}` checks each step",
                request.api.name(),
                shared.bootstrap
            );
            let error = Error::new(Kind::Timeout, message).address(&shared.address);
            GuardAction::Report(error, late - LATE_AFTER)
        }
        Some((late, _)) => GuardAction::Wait(overdue.min(late.max(quiet_until))),
        None => GuardAction::Wait(overdue),
    }
}

/// When a response is late enough to be reported; never before the broker has the request, and never if
/// the response depends on other members of a group.
fn late_at(shared: &ConnectionShared, request: &InFlightRequest) -> Option<Instant> {
    if matches!(request.api, ApiKey::JoinGroup | ApiKey::SyncGroup) {
        return None;
    }
    let allowed = request.timeout.saturating_sub(shared.request_timeout);
    Some(request.written_at? + allowed + LATE_AFTER)
}
