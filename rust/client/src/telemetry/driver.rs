//! The task that sends the reporter's requests to any broker that is connected.
//!
//! Invariants: it opens no connection, and sleeps until one is open or a request is due. It keeps no client alive.

use std::sync::{Arc, Weak};
use std::time::UNIX_EPOCH;

use ottla_protocol::messages::get_telemetry_subscriptions::GetTelemetrySubscriptionsRequest;
use ottla_protocol::messages::push_telemetry::PushTelemetryRequest;
use ottla_protocol::{ApiKey, ErrorCode, Request};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::collector::Collector;
use super::payload::{Payload, build_payload};
use super::reporter::{Action, Reporter};
use super::source::Source;
use super::subscription::Subscription;
use super::{ConnectedBrokers, Identity};
use crate::connection::{Connection, SupportingConnection};
use crate::environment::Environment;
use crate::error::{Error, Result};

pub(super) struct Driver {
    brokers: Weak<dyn ConnectedBrokers>,
    source: Arc<dyn Source>,
    environment: Environment,
    reporter: Reporter,
    collector: Collector,
    identity: watch::Sender<Identity>,
    closing: watch::Receiver<bool>,
    /// Whether a warning about dropped metrics was logged.
    dropped_reported: bool,
}

impl Driver {
    pub(super) fn new(
        environment: &Environment,
        brokers: Weak<dyn ConnectedBrokers>,
        source: Arc<dyn Source>,
        identity: watch::Sender<Identity>,
        closing: watch::Receiver<bool>,
    ) -> Self {
        Self {
            brokers,
            source,
            reporter: Reporter::new(environment.clone(), Instant::now()),
            collector: Collector::new(unix_nanos(environment)),
            environment: environment.clone(),
            identity,
            closing,
            dropped_reported: false,
        }
    }

    /// Runs until telemetry ends: after the last push, or because no broker supports it.
    pub(super) async fn run(mut self) {
        while let Some(due) = self.reporter.next_due() {
            if *self.closing.borrow() {
                self.reporter.terminate(Instant::now());
                if self.reporter.is_terminated() {
                    return;
                }
            } else {
                tokio::select! {
                    () = sleep_until(due) => {}
                    changed = self.closing.changed() => match changed {
                        Ok(()) => continue,
                        Err(_) => return,
                    }
                }
            }
            let was_closing = *self.closing.borrow();
            let Some(connection) = self.connection().await else { return };
            match connection {
                Ok(_) if *self.closing.borrow() != was_closing => {}
                Ok(connection) => self.step(&connection).await,
                Err(error) => {
                    tracing::debug!(target: "ottla.telemetry", %error, "no metrics are pushed");
                    return self.unavailable(error);
                }
            }
        }
        self.unavailable(Error::with_code(
            ErrorCode::UnsupportedVersion,
            "client_instance_id: the broker has rejected client telemetry",
        ));
    }

    fn unavailable(&self, error: Error) {
        if self.reporter.client_instance_id().is_none() {
            self.identity.send_replace(Identity::Unavailable(error));
        }
    }

    /// A connection to a broker that supports telemetry. Waits until one is open; `None` if telemetry is closed
    /// meanwhile or the client is gone.
    async fn connection(&mut self) -> Option<Result<Arc<Connection>>> {
        // Subscribed before the first look, so that no connection is missed.
        let mut events = self.brokers.upgrade()?.connection_events();
        loop {
            match self.brokers.upgrade()?.supporting(ApiKey::GetTelemetrySubscriptions) {
                SupportingConnection::Found(connection) => return Some(Ok(connection)),
                SupportingConnection::Unsupported => return Some(Err(unsupported())),
                SupportingConnection::NotConnected if *self.closing.borrow() => return None,
                SupportingConnection::NotConnected => {}
            }
            tokio::select! {
                event = events.recv() => {
                    if matches!(event, Err(RecvError::Closed)) {
                        return None;
                    }
                }
                changed = self.closing.changed() => changed.ok()?,
            }
        }
    }

    /// Sends the request that is due.
    async fn step(&mut self, connection: &Connection) {
        match self.reporter.poll(Instant::now()) {
            Some(Action::GetSubscriptions(client_instance_id)) => {
                let request = GetTelemetrySubscriptionsRequest { client_instance_id };
                match send(connection, &request).await {
                    Ok(response) => {
                        connection.throttle(response.throttle_time_ms);
                        self.reporter.process_subscription(Instant::now(), &response);
                    }
                    Err(error) => self.failed(&error),
                }
                if let Some(id) = self.reporter.client_instance_id() {
                    self.identity.send_replace(Identity::Assigned(id));
                }
            }
            Some(Action::Push { client_instance_id, subscription, terminating }) => {
                let at = unix_nanos(&self.environment);
                let Some(payload) = self.payload(&subscription, at) else {
                    return self.reporter.skip_push(Instant::now());
                };
                let request = PushTelemetryRequest {
                    client_instance_id,
                    subscription_id: subscription.id,
                    terminating,
                    compression_type: i8::try_from(payload.compression.id()).unwrap_or(0),
                    metrics: payload.bytes,
                };
                match send(connection, &request).await {
                    Ok(response) => {
                        connection.throttle(response.throttle_time_ms);
                        if self.reporter.process_push(Instant::now(), response.error_code.into()) {
                            self.collector.taken(payload.values, at);
                        }
                    }
                    Err(error) => self.failed(&error),
                }
            }
            None => {}
        }
    }

    fn failed(&mut self, error: &Error) {
        tracing::debug!(target: "ottla.telemetry", %error, "a telemetry request failed");
        self.reporter.process_failure(Instant::now());
    }

    fn payload(&mut self, subscription: &Subscription, at: u64) -> Option<Payload> {
        let values = self.collector.collect(self.source.measure(), subscription, at);
        let requested = values.len();
        let payload = build_payload(values, &self.source.attributes(), subscription);
        let dropped = payload.as_ref().map_or(requested, |payload| payload.dropped);
        if dropped > 0 && !std::mem::replace(&mut self.dropped_reported, true) {
            tracing::warn!(target: "ottla.telemetry", dropped, max_bytes = subscription.max_bytes, "a push of all requested metrics exceeds the brokers' telemetry.max.bytes: the last ones are left out, in later pushes too");
        }
        payload
    }
}

/// Sends a request outside of the limit on data requests in flight.
async fn send<R: Request>(connection: &Connection, request: &R) -> Result<R::Response> {
    let version = connection.version::<R>(i16::MAX)?;
    connection.request_in_background(request, version).await
}

fn unix_nanos(environment: &Environment) -> u64 {
    let now = environment.now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

fn unsupported() -> Error {
    let message = "client_instance_id: the brokers do not support client telemetry: it needs Kafka 3.7 and a metrics reporter with a telemetry receiver on the brokers (metric.reporters)";
    Error::with_code(ErrorCode::UnsupportedVersion, message)
}
