//! The state machine of client telemetry, without I/O: which request is due when, and what its response changes.
//!
//! Invariants: one request at a time. Every retry waits: at once only after the first response that demands a new
//! subscription, then with backoff. A terminated reporter sends nothing more.

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::get_telemetry_subscriptions::GetTelemetrySubscriptionsResponse;
use ottla_protocol::wire::Uuid;
use tokio::time::{Duration, Instant};

use super::subscription::{DEFAULT_INTERVAL, Subscription};
use crate::environment::Environment;
use crate::retry::backoff::Backoff;

/// The wait after failures: seconds at first, then a push interval.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);

/// The state, as in Java's reporter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    SubscriptionNeeded,
    SubscriptionInProgress,
    PushNeeded,
    PushInProgress,
    TerminatingPushNeeded,
    TerminatingPushInProgress,
    Terminated,
}

/// A request that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Request the subscription; the id is zero until a broker assigns one.
    GetSubscriptions(Uuid),
    /// Push the metrics of the subscription.
    Push { client_instance_id: Uuid, subscription: Arc<Subscription>, terminating: bool },
}

/// What an error code means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovery {
    Stop,
    Resubscribe,
    ResubscribeAfterInterval,
}

fn recovery(code: ErrorCode) -> Recovery {
    match code {
        ErrorCode::UnknownSubscriptionId | ErrorCode::UnsupportedCompressionType => Recovery::Resubscribe,
        ErrorCode::TelemetryTooLarge | ErrorCode::ThrottlingQuotaExceeded => {
            Recovery::ResubscribeAfterInterval
        }
        // INVALID_REQUEST, INVALID_RECORD and UNSUPPORTED_VERSION by KIP-714, and the others as in Java.
        _ => Recovery::Stop,
    }
}

#[derive(Debug)]
pub(super) struct Reporter {
    state: State,
    client_instance_id: Uuid,
    subscription: Option<Arc<Subscription>>,
    due: Instant,
    /// Consecutive failures.
    failures: u32,
    environment: Environment,
}

impl Reporter {
    pub(super) fn new(environment: Environment, now: Instant) -> Self {
        Self {
            state: State::SubscriptionNeeded,
            client_instance_id: Uuid::ZERO,
            subscription: None,
            due: now,
            failures: 0,
            environment,
        }
    }

    #[cfg(test)]
    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn is_terminated(&self) -> bool {
        self.state == State::Terminated
    }

    /// The id that a broker assigned.
    pub(super) fn client_instance_id(&self) -> Option<Uuid> {
        (!self.client_instance_id.is_zero()).then_some(self.client_instance_id)
    }

    /// When the next request is due; `None` while one is in progress, and after the end.
    pub(super) fn next_due(&self) -> Option<Instant> {
        match self.state {
            State::SubscriptionNeeded | State::PushNeeded | State::TerminatingPushNeeded => Some(self.due),
            _ => None,
        }
    }

    /// The request that is due, which is in progress from now on.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Action> {
        if self.next_due().is_none_or(|due| due > now) {
            return None;
        }
        let terminating = self.state == State::TerminatingPushNeeded;
        let (next, subscription) = match (self.state, &self.subscription) {
            (State::PushNeeded, Some(subscription)) => (State::PushInProgress, subscription),
            (State::TerminatingPushNeeded, Some(subscription)) => {
                (State::TerminatingPushInProgress, subscription)
            }
            _ => {
                self.state = State::SubscriptionInProgress;
                return Some(Action::GetSubscriptions(self.client_instance_id));
            }
        };
        let (client_instance_id, subscription) = (self.client_instance_id, Arc::clone(subscription));
        self.state = next;
        Some(Action::Push { client_instance_id, subscription, terminating })
    }

    /// Handles the subscription from a broker.
    pub(super) fn process_subscription(
        &mut self,
        now: Instant,
        response: &GetTelemetrySubscriptionsResponse,
    ) {
        if self.state != State::SubscriptionInProgress {
            return;
        }
        let code = ErrorCode::from(response.error_code);
        if code != ErrorCode::None {
            return self.process_error(now, code);
        }
        if self.client_instance_id.is_zero() {
            if response.client_instance_id.is_zero() {
                tracing::warn!(target: "ottla.telemetry", "the broker assigned no client instance id: no metrics are pushed");
                self.state = State::Terminated;
                return;
            }
            self.client_instance_id = response.client_instance_id;
        }
        let subscription = Arc::new(Subscription::new(response));
        let interval = subscription.interval;
        if subscription.is_empty() {
            (self.state, self.due, self.failures) = (State::SubscriptionNeeded, now + interval, 0);
            self.subscription = Some(subscription);
            return;
        }
        let is_known = self.subscription.as_ref().is_some_and(|known| known.id == subscription.id);
        // Clients that start together must not push together.
        let wait = if is_known { interval } else { interval.mul_f64(0.5 + self.environment.random()) };
        tracing::debug!(target: "ottla.telemetry", id = subscription.id, interval_ms = interval.as_millis(), "subscribed to metrics");
        (self.state, self.due) = (State::PushNeeded, now + wait);
        self.subscription = Some(subscription);
    }

    /// Handles the response to a push. Returns whether the broker has taken the metrics.
    pub(super) fn process_push(&mut self, now: Instant, code: ErrorCode) -> bool {
        match self.state {
            State::TerminatingPushInProgress => self.state = State::Terminated,
            State::PushInProgress if code == ErrorCode::None => {
                (self.state, self.due, self.failures) = (State::PushNeeded, now + self.interval(), 0);
            }
            State::PushInProgress => self.process_error(now, code),
            _ => return false,
        }
        code == ErrorCode::None
    }

    /// Handles a push that nothing was sent for: no requested metric has a value, or none fits.
    pub(super) fn skip_push(&mut self, now: Instant) {
        match self.state {
            State::TerminatingPushInProgress => self.state = State::Terminated,
            State::PushInProgress => (self.state, self.due) = (State::PushNeeded, now + self.interval()),
            _ => {}
        }
    }

    /// Handles a request without a response. A push is repeated, with the same deltas and newer ones.
    pub(super) fn process_failure(&mut self, now: Instant) {
        self.state = match self.state {
            State::SubscriptionInProgress => State::SubscriptionNeeded,
            State::PushInProgress => State::PushNeeded,
            State::TerminatingPushInProgress => State::Terminated,
            other => other,
        };
        self.back_off(now);
    }

    /// Ends telemetry with a last push if metrics are subscribed.
    pub(super) fn terminate(&mut self, now: Instant) {
        (self.state, self.due) = match self.state {
            State::PushNeeded => (State::TerminatingPushNeeded, now),
            _ => (State::Terminated, now),
        };
    }

    fn process_error(&mut self, now: Instant, code: ErrorCode) {
        tracing::debug!(target: "ottla.telemetry", code = code.name(), "a broker rejected a telemetry request");
        self.state = State::SubscriptionNeeded;
        match recovery(code) {
            Recovery::Stop => {
                tracing::warn!(target: "ottla.telemetry", code = code.name(), "no more metrics are pushed: {}", code.meaning());
                self.state = State::Terminated;
            }
            Recovery::Resubscribe if self.failures == 0 => (self.failures, self.due) = (1, now),
            Recovery::Resubscribe => self.back_off(now),
            // Not sooner, because the broker counts the time since the last request.
            Recovery::ResubscribeAfterInterval => {
                self.due = now + self.interval().mul_f64(1.0 + 0.5 * self.environment.random());
            }
        }
    }

    fn back_off(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        let backoff = Backoff { first: FIRST_BACKOFF, max: self.interval().max(FIRST_BACKOFF) };
        self.due = now + backoff.after(self.failures, self.environment.random());
    }

    fn interval(&self) -> Duration {
        self.subscription.as_ref().map_or(DEFAULT_INTERVAL, |subscription| subscription.interval)
    }
}

#[cfg(test)]
mod tests;
