//! The telemetry of a client: that of its producers and consumers, which use its connections, and its own.
//!
//! The client itself pushes the metrics of its connections, in the group of Java's admin client, from the first request
//! for its id.

use std::sync::{Arc, Weak};

use ottla_protocol::ApiKey;
use ottla_protocol::wire::Uuid;
use tokio::sync::broadcast;
use tokio::time::Duration;

use super::{Client, Inner, Route};
use crate::connection::SupportingConnection;
use crate::error::{Error, Kind, Result};
use crate::metadata::Event;
use crate::retry;
use crate::telemetry::source::{self, Measurement, Source};
use crate::telemetry::{ConnectedBrokers, Telemetry};

impl ConnectedBrokers for Inner {
    fn supporting(&self, api: ApiKey) -> SupportingConnection {
        self.pool.supporting(api)
    }

    fn connection_events(&self) -> broadcast::Receiver<Event> {
        self.metadata.events().subscribe()
    }
}

impl Client {
    /// Starts telemetry on the current runtime; `None` with `enable.metrics.push=false`.
    pub(crate) fn start_telemetry(&self, source: Arc<dyn Source>) -> Option<Telemetry> {
        let brokers: Weak<Inner> = Arc::downgrade(&self.inner);
        let start = || Telemetry::start(&self.inner.environment, brokers, source);
        self.config().enable_metrics_push.then(start)
    }

    /// The id of an instance that uses this client. Connects to a broker if none is connected.
    pub(crate) async fn instance_id(&self, telemetry: Option<&Telemetry>, timeout: Duration) -> Result<Uuid> {
        self.check_open()?;
        let Some(telemetry) = telemetry else {
            let message = "client_instance_id: this client pushes no metrics: set enable.metrics.push=true";
            return Err(Error::new(Kind::Config, message));
        };
        let connect = async {
            if self.snapshot().brokers.is_empty() {
                self.find_cluster(timeout).await?;
            }
            self.connection(Route::Any).await.map(drop)
        };
        telemetry.client_instance_id(connect, timeout).await
    }

    /// The id under which the cluster receives this client's metrics (KIP-714). The first call connects to a
    /// broker if none is connected, and starts to push the metrics that the cluster subscribes to: a client
    /// without producers and consumers pushes none before. Producers and consumers have ids of their own.
    ///
    /// # Errors
    /// [`Kind::Config`] with `enable.metrics.push=false`; [`Kind::Timeout`]; UNSUPPORTED_VERSION if the brokers
    /// do not support it.
    pub async fn client_instance_id(&self, timeout: Duration) -> Result<Uuid> {
        let start = || self.start_telemetry(Arc::new(ClientSource(Arc::downgrade(&self.inner))));
        self.instance_id(self.inner.telemetry.get_or_init(start).as_ref(), timeout).await
    }

    /// Whether the client itself pushes metrics.
    #[must_use]
    pub fn has_telemetry(&self) -> bool {
        self.inner.telemetry.get().is_some_and(Option::is_some)
    }

    /// Sends the last push of the client's own metrics before the client is closed, for at most a second.
    pub async fn close_telemetry(&self, timeout: Duration) {
        if let Some(Some(telemetry)) = self.inner.telemetry.get() {
            telemetry.close(retry::deadline(timeout)).await;
        }
    }

    /// The metrics of the connections, in a group of Java's client.
    pub(crate) fn measure(&self, group: &str) -> Vec<Measurement> {
        let mut all = source::named(group, self.metrics());
        all.extend(source::node_latencies(group, &self.inner.settings.metrics.node_latencies()));
        all
    }
}

/// The client, unless it is gone.
#[derive(Debug)]
pub(super) struct ClientSource(pub(super) Weak<Inner>);

impl Source for ClientSource {
    fn measure(&self) -> Vec<Measurement> {
        let inner = self.0.upgrade();
        inner.map(|inner| Client::of(inner).measure("admin.client")).unwrap_or_default()
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let inner = self.0.upgrade();
        inner
            .map(|inner| source::attributes([("client_rack", &inner.config.client_rack)]))
            .unwrap_or_default()
    }
}
