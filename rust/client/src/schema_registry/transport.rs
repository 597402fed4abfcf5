//! Calls to the registry: one address after the other, with backoff, until the deadline.
//!
//! Invariants: at most [`MAX_IN_FLIGHT`] requests are in flight; no wait exceeds the call's deadline; a
//! condition that lasts is a warning within two seconds; the address that responded last is tried first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hyper::Method;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::{Duration, Instant, sleep, timeout_at};

use super::address::Address;
use super::call::{Api, Call};
use super::failure::{self, Failure};
use super::left;
use crate::config::RegistryConfig;
use crate::environment::Environment;
use crate::error::{Error, Kind, Result};
use crate::http::HttpRequest;
use crate::retry::Retry;
use crate::retry::backoff::Backoff;
use crate::retry::persistent_failures::{PersistentFailures, Place, REPORTED_AFTER};

/// The largest number of requests in flight.
const MAX_IN_FLIGHT: usize = 8;
const MEDIA_TYPE: &str = "application/vnd.schemaregistry.v1+json";
const ACCEPT: &str = "application/vnd.schemaregistry.v1+json, application/json";

/// The registry's addresses and the connections to them.
#[derive(Debug)]
pub(super) struct Transport {
    addresses: Vec<Address>,
    /// The address that responded last.
    current: AtomicUsize,
    permits: Semaphore,
    request_timeout: Duration,
    backoff: Backoff,
    environment: Environment,
    reports: Arc<PersistentFailures>,
}

impl Transport {
    pub(super) fn new(config: &RegistryConfig, environment: Environment) -> Result<Self> {
        Ok(Self {
            addresses: Address::all(config)?,
            current: AtomicUsize::new(0),
            permits: Semaphore::new(MAX_IN_FLIGHT),
            request_timeout: config.request_timeout,
            backoff: Backoff { first: config.retry_backoff, max: config.retry_backoff_max },
            environment,
            reports: Arc::default(),
        })
    }

    pub(super) fn urls(&self) -> Vec<&str> {
        self.addresses.iter().map(|address| address.url.as_str()).collect()
    }

    pub(super) fn close(&self) {
        for address in &self.addresses {
            address.http.close_idle();
        }
    }

    /// Makes a call, and reads the document that is returned.
    pub(super) async fn call<T>(
        &self,
        call: &Call,
        deadline: Instant,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<T> {
        let reports = Arc::clone(&self.reports);
        let mut retry = Retry::new(&call.what, left(deadline), self.backoff, &self.environment, reports);
        let may_be_done = AtomicBool::new(false);
        let finish = |error: Error| match call.is_write && may_be_done.load(Ordering::Relaxed) {
            true => error.maybe_done(),
            false => error,
        };
        loop {
            let (error, least) = match self.round(call, deadline, &may_be_done).await {
                Ok((address, document)) => {
                    return read(&document).map_err(|why| failure::malformed(&why, address, call));
                }
                Err(Failure::Final(error)) => return Err(finish(error)),
                Err(Failure::Transient { error, retry_after, .. }) => {
                    (error, retry_after.unwrap_or_default())
                }
            };
            if Instant::now() + least.min(Duration::from_secs(86_400)) >= deadline && !least.is_zero() {
                let seconds = least.as_secs();
                let message = format!(
                    "{}: {}; it asks to wait for {seconds} s, longer than the timeout of this call",
                    call.what,
                    error.message()
                );
                return Err(finish(error.with_message(message)));
            }
            let error = if Instant::now() >= deadline { retry.cut_short(error) } else { error };
            retry.pause_at_least(error, least).await.map_err(finish)?;
        }
    }

    /// Tries each address once, as far as the time allows.
    async fn round(
        &self,
        call: &Call,
        deadline: Instant,
        may_be_done: &AtomicBool,
    ) -> Result<(&Address, Value), Failure> {
        let first = self.current.load(Ordering::Relaxed);
        let mut failures = Vec::new();
        let mut wait = None;
        for number in 0..self.addresses.len() {
            let at = (first + number) % self.addresses.len();
            let address = &self.addresses[at];
            match self.attempt(address, call, deadline).await {
                Ok(document) => {
                    self.current.store(at, Ordering::Relaxed);
                    return Ok((address, document));
                }
                Err(Failure::Transient { error, retry_after, was_sent }) => {
                    may_be_done.fetch_or(was_sent, Ordering::Relaxed);
                    wait = wait.max(retry_after);
                    failures.push(error);
                    if Instant::now() >= deadline {
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let error = match failures.as_slice() {
            [error] => error.clone(),
            several => {
                let messages: Vec<&str> = several.iter().map(Error::message).collect();
                let error = Error::new(Kind::Connection, messages.join("; "));
                error.schema(call.subject.as_deref(), call.id, None)
            }
        };
        // The calls in flight are not known any more; the flag above is.
        Err(Failure::Transient { error, retry_after: wait, was_sent: false })
    }

    /// Sends the request to one address.
    async fn attempt(&self, address: &Address, call: &Call, deadline: Instant) -> Result<Value, Failure> {
        let api = match call.api {
            Api::Confluent => &address.path,
            Api::Apicurio => match &address.apicurio_path {
                Some(path) => path,
                None => return Err(Failure::Final(failure::not_apicurio(address, call))),
            },
        };
        let path = format!("{api}{}", call.path);
        let request = HttpRequest {
            method: call.method.clone(),
            path: &path,
            authorization: address.authorization.as_ref(),
            accept: ACCEPT,
            body: call.body.clone().map(|body| (MEDIA_TYPE, body)),
            // A deletion that is repeated finds nothing, which its caller must know.
            is_idempotent: call.method != Method::DELETE,
        };
        let sent = async {
            // Never closed.
            let _permit = timeout_at(deadline, self.permits.acquire()).await;
            let deadline = deadline.min(Instant::now() + self.request_timeout);
            address.http.send(&request, &self.environment, deadline).await
        };
        let response = self.reporting(sent, address, call).await;
        let response = response.map_err(|failure| failure::no_response(failure, address, call))?;
        failure::process(&response, address, call)
    }

    /// Awaits a response, with warnings while there is none.
    async fn reporting<T>(&self, sent: impl Future<Output = T>, address: &Address, call: &Call) -> T {
        let since = Instant::now();
        let what = format!("{} ({})", address.url, call.what);
        tokio::pin!(sent);
        loop {
            tokio::select! {
                biased;
                done = &mut sent => {
                    self.reports.record_success(format_args!("waiting for {what}"), Place::Everywhere);
                    return done;
                }
                () = sleep(REPORTED_AFTER) => {
                    let error = Error::new(Kind::Timeout, "no response yet");
                    self.reports.record_waiting(&what, &error, since);
                }
            }
        }
    }
}
