//! Client telemetry: pushes the metrics that the cluster's operators subscribe to (KIP-714).
//!
//! - `reporter`: the state machine, without I/O; `subscription`: what the broker requests.
//! - `source`: what is measured; `collector`: the values and deltas of a push; `payload`: its bytes.
//! - `driver`: the task that sends the reporter's requests.
//!
//! Invariants: telemetry opens no connection and takes no permit of data requests; without a broker that supports
//! it, the task ends at the first connection. A failed push loses no delta. Closing never fails because of it.

mod collector;
mod driver;
mod payload;
mod reporter;
pub(crate) mod source;
mod subscription;

use std::fmt::Debug;
use std::future::Future;
use std::sync::{Arc, Weak};

use ottla_protocol::ApiKey;
use ottla_protocol::wire::Uuid;
use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant, timeout, timeout_at};

use crate::connection::SupportingConnection;
use crate::environment::Environment;
use crate::error::{Error, Kind, Result};
use crate::metadata::Event;
use crate::retry;
use crate::tasks::panics::catch;
use driver::Driver;
use source::Source;

/// How long closing waits for the last push.
const TERMINATING_TIMEOUT: Duration = Duration::from_secs(1);

/// The brokers that a client is connected to.
pub(crate) trait ConnectedBrokers: Debug + Send + Sync {
    /// An open connection to a broker that supports an API.
    fn supporting(&self, api: ApiKey) -> SupportingConnection;

    /// The events of connections that open, from now on.
    fn connection_events(&self) -> broadcast::Receiver<Event>;
}

/// What is known of the client instance id.
#[derive(Debug, Clone)]
enum Identity {
    Unknown,
    Assigned(Uuid),
    Unavailable(Error),
}

/// The telemetry of one client, producer or consumer. Dropping it stops it without a last push.
#[derive(Debug)]
pub(crate) struct Telemetry {
    identity: watch::Receiver<Identity>,
    closing: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut() {
            task.abort();
        }
    }
}

impl Telemetry {
    /// Starts the task on the current runtime.
    pub(crate) fn start(
        environment: &Environment,
        brokers: Weak<dyn ConnectedBrokers>,
        source: Arc<dyn Source>,
    ) -> Self {
        let (known, identity) = watch::channel(Identity::Unknown);
        let (closing, close) = watch::channel(false);
        let driver = Driver::new(environment, brokers, source, known, close);
        let task = tokio::spawn(async move {
            // A panic is logged, and ends telemetry only.
            let _ = catch("the telemetry task", driver.run()).await;
        });
        Self { identity, closing, task: Mutex::new(Some(task)) }
    }

    /// The id that the cluster assigned to this instance. Until it is known, `connect` opens a connection.
    pub(crate) async fn client_instance_id(
        &self,
        connect: impl Future<Output = Result<()>>,
        timeout: Duration,
    ) -> Result<Uuid> {
        let deadline = retry::deadline(timeout);
        let mut identity = self.identity.clone();
        let assigned = async {
            if matches!(*identity.borrow(), Identity::Unknown) {
                connect.await?;
            }
            match identity.wait_for(|identity| !matches!(identity, Identity::Unknown)).await.as_deref() {
                Ok(Identity::Assigned(id)) => Ok(*id),
                Ok(Identity::Unavailable(error)) => Err(error.clone()),
                Ok(Identity::Unknown) | Err(_) => {
                    Err(Error::new(Kind::Closed, "client_instance_id: the client was closed"))
                }
            }
        };
        timeout_at(deadline, assigned).await.unwrap_or_else(|_| {
            let message =
                format!("client_instance_id: no broker has assigned an id within {} ms", timeout.as_millis());
            Err(Error::new(Kind::Timeout, message))
        })
    }

    /// Sends the last push, if metrics are subscribed, for at most a second and until `deadline`.
    pub(crate) async fn close(&self, deadline: Instant) {
        self.closing.send_replace(true);
        let Some(mut task) = self.task.lock().take() else { return };
        let within = TERMINATING_TIMEOUT.min(deadline.saturating_duration_since(Instant::now()));
        if timeout(within, &mut task).await.is_err() {
            task.abort();
        }
    }
}
