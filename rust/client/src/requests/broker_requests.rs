//! Requests to all brokers, for what each knows only for itself.
//!
//! Invariant: every broker that was in the cluster at the beginning or joined it meanwhile has a result; one that
//! left has an error, since what it knew may be missing.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::Duration;

use crate::cluster::{Client, Route};
use crate::connection::Connection;
use crate::error::{Error, Kind, Result};

impl Client {
    /// Calls `send` for each broker, until each has a result or the time is over. Fails as a whole only if no
    /// broker can be asked which there are.
    pub(crate) async fn request_from_all_brokers<F, SendRequest, Response>(
        &self,
        what: &str,
        timeout: Duration,
        send: SendRequest,
    ) -> Result<BTreeMap<i32, Result<F>>>
    where
        F: Send + 'static,
        SendRequest: Fn(Arc<Connection>) -> Response + Send + Sync + 'static,
        Response: Future<Output = Result<F>> + Send + 'static,
    {
        let send = Arc::new(send);
        let mut results = BTreeMap::new();
        let mut retry = self.retry(what, timeout);
        if self.snapshot().brokers.is_empty() {
            self.find_cluster(timeout).await?;
        }
        let mut pending = BTreeSet::new();
        let mut failures = BTreeMap::new();
        loop {
            let snapshot = self.snapshot();
            pending.extend(snapshot.brokers.keys().copied().filter(|id| !results.contains_key(id)));
            if pending.is_empty() && results.is_empty() {
                return Err(no_broker_to_ask());
            }
            let mut requests = JoinSet::new();
            for &broker in &pending {
                let (client, send) = (self.clone(), Arc::clone(&send));
                requests.spawn(async move {
                    let response = async { send(client.connection(Route::Broker(broker)).await?).await };
                    (broker, response.await)
                });
            }
            let responses = retry.attempt(async {
                while let Some(joined) = requests.join_next().await {
                    let Ok((broker, response)) = joined else { continue };
                    match response {
                        Err(error) if error.may_pass() && snapshot.brokers.contains_key(&broker) => {
                            failures.insert(broker, error.broker(broker));
                        }
                        response => {
                            pending.remove(&broker);
                            results.insert(broker, response.map_err(|error| error.broker(broker)));
                        }
                    }
                }
                Ok(())
            });
            let error = match responses.await {
                Ok(()) if pending.is_empty() => return Ok(results),
                Ok(()) => pending.iter().find_map(|id| failures.get(id).cloned()).unwrap_or_else(unfinished),
                Err(error) => error,
            };
            let paused = if retry.repeats(&error) {
                self.pause_and_refresh(&mut retry, snapshot.generation, error).await
            } else {
                Err(error)
            };
            if let Err(error) = paused {
                results.extend(pending.into_iter().map(|id| {
                    let own = failures.remove(&id).map(|failure| retry.timed_out_after(&failure));
                    (id, Err(own.unwrap_or_else(|| error.clone()).broker(id)))
                }));
                return Ok(results);
            }
        }
    }
}

/// The error of a call for what only brokers know, while there is none: an empty answer would look as if there were
/// none of it.
#[must_use]
pub fn no_broker_to_ask() -> Error {
    let message = "the cluster reports no broker to ask: all are starting, fenced or unregistered; ask again once one has joined";
    Error::new(Kind::Connection, message)
}

/// The error of a request whose task ended without a result.
fn unfinished() -> Error {
    Error::new(Kind::Connection, "a request to a broker did not finish")
}
