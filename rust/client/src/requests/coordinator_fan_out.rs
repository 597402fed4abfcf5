//! Requests about many groups or transactional ids: one request per coordinator.
//!
//! Invariant: every key has a result. Keys with a transient error are retried, at the coordinator of the
//! moment, until the deadline.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::Duration;

use crate::cluster::{Client, CoordinatorKind};
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::{Error, Kind, Result};

/// The result for each key.
type KeyResults<F> = BTreeMap<String, Result<F>>;

impl Client {
    /// Calls `send` for each coordinator with its keys of `wanted`, until each key has a result after which
    /// `repeats` says not to repeat it. Fails as a whole only if no broker can be asked for coordinators.
    pub(crate) async fn request_from_coordinators<F, SendRequest, Response>(
        &self,
        what: &str,
        (kind, wanted): (CoordinatorKind, impl IntoIterator<Item = String>),
        (timeout, repeats): (Duration, fn(&Error) -> bool),
        send: SendRequest,
    ) -> Result<KeyResults<F>>
    where
        F: Send + 'static,
        SendRequest: Fn(Arc<Connection>, Vec<String>) -> Response,
        Response: Future<Output = Result<Vec<(String, Result<F>)>>> + Send + 'static,
    {
        let mut progress =
            Progress { pending: wanted.into_iter().collect(), results: BTreeMap::new(), last: None, repeats };
        let mut retry = self.retry(what, timeout);
        if self.snapshot().brokers.is_empty() {
            self.find_cluster(timeout).await?;
        }
        while !progress.pending.is_empty() {
            let attempt = async {
                let coordinators = self.coordinators_of(kind, &mut progress).await?;
                let mut requests = JoinSet::new();
                for (broker, (endpoint, keys)) in coordinators {
                    match self.inner.pool.get(broker, (kind.role(), self.owner()), &endpoint).await {
                        Ok(connection) => {
                            let response = send(Arc::clone(&connection), keys.clone());
                            let address = connection.address().to_owned();
                            requests.spawn(async move { (keys, broker, address, response.await) });
                        }
                        Err(error) => progress.all_failed(keys, &error.broker(broker)),
                    }
                }
                while let Some(joined) = requests.join_next().await {
                    let Ok((keys, broker, address, response)) = joined else { continue };
                    match response {
                        Ok(results) => {
                            let with_context = |error: Error| error.broker(broker).address(&address);
                            results.into_iter().for_each(|(key, result)| {
                                progress.process(key, result.map_err(with_context))
                            });
                        }
                        Err(error) => progress.all_failed(keys, &error.broker(broker)),
                    }
                }
                Ok(())
            };
            let error = match retry.attempt(attempt).await {
                Ok(()) if progress.pending.is_empty() => break,
                Ok(()) => progress.last.take().unwrap_or_else(incomplete),
                Err(error) if error.may_pass() => error,
                Err(error) => return Err(error),
            };
            let paused = if retry.repeats(&error) { retry.pause(error).await } else { Err(error) };
            if let Err(error) = paused {
                let keys = progress.pending.iter().cloned().collect();
                progress.finish(keys, &error);
            }
        }
        Ok(progress.results)
    }

    /// The coordinators of the pending keys.
    async fn coordinators_of<F>(
        &self,
        kind: CoordinatorKind,
        progress: &mut Progress<F>,
    ) -> Result<BTreeMap<i32, (Endpoint, Vec<String>)>> {
        let keys: Vec<String> = progress.pending.iter().cloned().collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let mut by_broker: BTreeMap<i32, (Endpoint, Vec<String>)> = BTreeMap::new();
        for (key, found) in self.find_coordinators(kind, &keys).await? {
            if !progress.pending.contains(&key) {
                // A response may have keys that were not asked for.
                continue;
            }
            match found {
                Ok((broker, endpoint)) => {
                    by_broker.entry(broker).or_insert_with(|| (endpoint, Vec::new())).1.push(key);
                }
                Err(error) => progress.process(key, Err(error)),
            }
        }
        Ok(by_broker)
    }
}

/// The progress of one call.
struct Progress<F> {
    pending: BTreeSet<String>,
    results: KeyResults<F>,
    /// The last error after which a key is tried again.
    last: Option<Error>,
    /// Whether a key is tried again after an error.
    repeats: fn(&Error) -> bool,
}

impl<F> Progress<F> {
    /// Processes the result of a key; one that is tried again stays pending.
    fn process(&mut self, key: String, result: Result<F>) {
        match result {
            Err(error) if (self.repeats)(&error) => self.last = Some(error),
            result => {
                if self.pending.remove(&key) {
                    self.results.insert(key, result);
                }
            }
        }
    }

    fn all_failed(&mut self, keys: Vec<String>, error: &Error) {
        keys.into_iter().for_each(|key| self.process(key, Err(error.clone())));
    }

    /// Ends the keys with an error, even a transient one.
    fn finish(&mut self, keys: Vec<String>, error: &Error) {
        self.pending.clear();
        self.results.extend(keys.into_iter().map(|key| (key, Err(error.clone()))));
    }
}

fn incomplete() -> Error {
    Error::new(Kind::Protocol, "the response lacks some of the requested ids")
}
