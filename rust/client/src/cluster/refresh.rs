//! Metadata refreshes: which broker they go to. `refresher.rs` performs those that are due.
//!
//! Invariants: one refresh at a time; an unresponsive broker delays it only a little; the bootstrap
//! servers are used again only when no known broker responds (KIP-899, KIP-1102).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataResponse};
use tokio::time::{Duration, Instant, timeout};

use crate::cluster::Client;
use crate::cluster::bootstrap::{bootstrap, request_metadata};
use crate::config::MetadataRecovery;
use crate::connection::{Connection, ConnectionRole, Owner};
use crate::environment::happy_eyeballs::first_success;
use crate::error::{Error, Kind, Phase, Result};
use crate::metadata::{RefreshPermit, Snapshot, TopicSelector};
use crate::printable::printable;
use crate::retry::awaited::Awaiting;

/// How long to wait for a broker's metadata before asking the next one too. The response comes after
/// those to earlier requests on the connection, which may be long polls.
const ATTEMPT_DELAY: Duration = Duration::from_secs(1);

impl Client {
    /// Refreshes the metadata, unless it is newer than generation `stale` already.
    pub async fn refresh(&self, stale: u64, selector: TopicSelector<'_>) -> Result<Arc<Snapshot>> {
        self.refresh_by(stale, selector, None).await
    }

    /// As [`Client::refresh`], with a deadline; the error of a late server names the phase it was in.
    pub(crate) async fn refresh_by(
        &self,
        stale: u64,
        selector: TopicSelector<'_>,
        deadline: Option<Instant>,
    ) -> Result<Arc<Snapshot>> {
        self.check_open()?;
        if self.config().has_controllers() && !matches!(selector, TopicSelector::Tracked) {
            return Err(Error::new(
                Kind::Config,
                "bootstrap.controllers: controllers do not describe topics; use bootstrap.servers",
            ));
        }
        let metadata = &self.inner.metadata;
        let awaiting = Awaiting::begin(|| {
            let message = "the metadata is being requested for another call";
            let hanging = self.inner.bootstrap_attempts.unended();
            hanging.unwrap_or_else(|| Error::new(Kind::Connection, message).phase(Phase::Metadata))
        });
        let permit = metadata.refresh_permit(stale, selector).await;
        awaiting.end();
        let attempt = match permit {
            RefreshPermit::Granted(attempt) => attempt,
            RefreshPermit::AlreadyRefreshed => return Ok(metadata.snapshot()),
            RefreshPermit::Failed(error) => return Err(error),
        };
        let create = attempt.create || matches!(selector, TopicSelector::Create(_));
        let (first, request) = metadata.build_requests(selector, create);
        let all_topics = request.topics.is_none();
        let fetched = async {
            if let Some(first) = first {
                let created = self.fetch_metadata(&first, deadline).await?;
                metadata.process_response(created, false, selector);
            }
            self.fetch_metadata(&request, deadline).await
        };
        let response = match fetched.await {
            Ok(response) => response,
            Err(error) => {
                attempt.fail(error.clone());
                return Err(error);
            }
        };
        let before = self.snapshot();
        let snapshot = metadata.process_response(response, all_topics, selector);
        if let (Some(before), Some(after)) = (&before.cluster_id, &snapshot.cluster_id)
            && before != after
        {
            let (before, after) = (printable(before), printable(after));
            tracing::warn!(target: "ottla.metadata", "the addresses lead to cluster {after} now, and not to {before} any more");
        }
        let expected = snapshot.cluster_id.as_deref().filter(|_| self.checks_cluster());
        self.inner.pool.expect_cluster(expected);
        tracing::debug!(target: "ottla.metadata", generation = snapshot.generation, brokers = snapshot.brokers.len(), "refreshed");
        self.inner.bootstrap_attempts.found();
        self.inner.pool.retain(|broker| snapshot.brokers.contains_key(&broker));
        self.start_refresher();
        attempt.succeed(snapshot.generation, all_topics);
        Ok(snapshot)
    }

    /// Whether brokers are checked to belong to the cluster: without another bootstrap, a wrong address would stay wrong.
    fn checks_cluster(&self) -> bool {
        let config = &self.inner.config;
        config.metadata_cluster_check && config.metadata_recovery == MetadataRecovery::Rebootstrap
    }

    /// Refuses the metadata of a known broker if it is of another cluster, as of one that has its address now.
    fn check_cluster(
        &self,
        snapshot: &Snapshot,
        connection: &Connection,
        response: &MetadataResponse,
    ) -> Result<()> {
        let (Some(known), Some(found)) = (&snapshot.cluster_id, &response.cluster_id) else { return Ok(()) };
        if known == found || !self.checks_cluster() {
            return Ok(());
        }
        let address = connection.address();
        let (found, known) = (printable(found), printable(known));
        let message = format!(
            "the broker at this address belongs to cluster {found}, not to {known}: the address leads to another cluster now, or the broker's advertised.listeners is wrong"
        );
        // The connection is to that cluster as well.
        connection.close();
        Err(Error::new(Kind::Connection, message).phase(Phase::Metadata).address(address))
    }

    /// Requests the metadata from the least busy connected broker, then from the other known brokers,
    /// then from the bootstrap servers (KIP-899).
    async fn fetch_metadata(
        &self,
        request: &MetadataRequest,
        deadline: Option<Instant>,
    ) -> Result<MetadataResponse> {
        let inner = &*self.inner;
        let snapshot = self.snapshot();
        let mut brokers: Vec<_> = snapshot.brokers.values().collect();
        inner.environment.shuffle(&mut brokers);
        let idle = inner.pool.least_busy().map(|(broker, _)| broker);
        brokers.sort_by_key(|broker| Some(broker.id) != idle);
        let rebootstrap = AtomicBool::new(false);
        let (rebootstrap, known) = (&rebootstrap, &*snapshot);
        let fetching = first_success(brokers, ATTEMPT_DELAY, |broker| async move {
            if rebootstrap.load(Ordering::Relaxed) {
                return Err(Error::from_code(ErrorCode::RebootstrapRequired));
            }
            let requesting = async {
                let shared = (ConnectionRole::Data, Owner::CLIENT);
                let connection = inner.pool.get(broker.id, shared, &broker.endpoint).await?;
                let response = request_metadata(&connection, request).await?;
                self.check_cluster(known, &connection, &response)?;
                Ok(response)
            };
            requesting.await.inspect_err(|error: &Error| {
                if error.code() == Some(ErrorCode::RebootstrapRequired) {
                    rebootstrap.store(true, Ordering::Relaxed);
                }
                tracing::debug!(target: "ottla.metadata", broker = broker.id, %error, "no metadata from this broker");
            })
        });
        let failures = match timeout(inner.config.metadata_rebootstrap_trigger, fetching).await {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(failures)) => failures,
            Err(_) => Vec::new(),
        };
        self.check_open()?;
        if inner.config.metadata_recovery == MetadataRecovery::None && !snapshot.brokers.is_empty() {
            let message = "none of the known brokers gives metadata, and metadata.recovery.strategy is none";
            return Err(match failures.into_iter().next() {
                Some(failure) => failure.prefixed(message),
                None => Error::new(Kind::Connection, message).phase(Phase::Metadata),
            });
        }
        let (server, connection, response) = bootstrap(
            &inner.servers,
            request,
            &inner.settings,
            &inner.environment,
            &inner.bootstrap_attempts,
            deadline,
        )
        .await?;
        // The pool can keep the connection if the server advertises the address that we connected to.
        let same =
            response.brokers.iter().find(|b| b.host == server.host && b.port == i32::from(server.port));
        if let Some(broker) = same {
            inner.pool.adopt(broker.node_id, connection);
        }
        Ok(response)
    }
}
