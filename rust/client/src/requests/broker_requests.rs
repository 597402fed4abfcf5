//! Requests to all brokers, for what each knows only for itself.
//!
//! Invariant: every broker of the cluster has responded, or the call fails with the error of one that has not.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::Duration;

use crate::cluster::{Client, Route};
use crate::connection::Connection;
use crate::error::{Error, Kind, Result};

impl Client {
    /// Calls `send` for each broker until each has responded. A broker that leaves the cluster meanwhile is
    /// not waited for.
    pub(crate) async fn request_from_all_brokers<F, SendRequest, Response>(
        &self,
        what: &str,
        timeout: Duration,
        send: SendRequest,
    ) -> Result<BTreeMap<i32, F>>
    where
        F: Send + 'static,
        SendRequest: Fn(Arc<Connection>) -> Response,
        Response: Future<Output = Result<F>> + Send + 'static,
    {
        let mut responses = BTreeMap::new();
        let mut retry = self.retry(what, timeout);
        if self.snapshot().brokers.is_empty() {
            self.find_cluster(timeout).await?;
        }
        loop {
            let snapshot = self.snapshot();
            let mut requests = JoinSet::new();
            let mut last = None;
            for broker in snapshot.brokers.keys().copied().filter(|id| !responses.contains_key(id)) {
                match retry.attempt(self.connection(Route::Broker(broker))).await {
                    Ok(connection) => {
                        let response = send(connection);
                        requests.spawn(async move { (broker, response.await) });
                    }
                    Err(error) if error.may_pass() => last = Some(error.broker(broker)),
                    Err(error) => return Err(error.broker(broker)),
                }
            }
            while let Some(joined) = retry.attempt(async { Ok(requests.join_next().await) }).await? {
                let Ok((broker, response)) = joined else {
                    let message = "a request to a broker did not finish";
                    last = Some(Error::new(Kind::Connection, message));
                    continue;
                };
                match response {
                    Ok(response) => drop(responses.insert(broker, response)),
                    Err(error) if error.may_pass() => last = Some(error.broker(broker)),
                    Err(error) => return Err(error.broker(broker)),
                }
            }
            let Some(error) = last else {
                responses.retain(|broker, _| snapshot.brokers.contains_key(broker));
                return Ok(responses);
            };
            if !retry.repeats(&error) {
                return Err(error);
            }
            self.pause_and_refresh(&mut retry, snapshot.generation, error).await?;
        }
    }
}
