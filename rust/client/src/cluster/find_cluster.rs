//! First contact: retries the bootstrap servers until one returns the cluster's metadata.
//!
//! Invariants: a permanent cause (refused credentials, unknown host, connection refused, not Kafka)
//! fails at once, and is not logged as well. Any other cause is retried with backoff until the caller's timeout, and is logged
//! within seconds. A cause that is probably a setting that does not match the server (the server hangs
//! up on the first request) must occur three times in a row before it counts as permanent.

use tokio::time::{Duration, Instant, sleep};

use crate::cluster::Client;
use crate::cluster::bootstrap::FINDING;
use crate::config::Config;
use crate::environment::Environment;
use crate::error::{Error, Outlook, Result};
use crate::metadata::TopicSelector;
use crate::retry;

/// Consecutive failures after which a probably permanent cause counts as permanent.
const CONFIRMATIONS: u32 = 3;

impl Client {
    /// Creates a client and finds its cluster, as [`Client::find_cluster`] does.
    pub async fn connect(config: Config, environment: Environment, timeout: Duration) -> Result<Self> {
        let client = Self::new(config, environment)?;
        client.find_cluster(timeout).await?;
        Ok(client)
    }

    /// Finds the cluster, unless it is known already. Retries the bootstrap servers until one responds,
    /// `timeout` passes, or all have failed for permanent causes. The error lists the failure of each
    /// server.
    pub async fn find_cluster(&self, timeout: Duration) -> Result<()> {
        let (started, deadline) = (Instant::now(), retry::deadline(timeout));
        let backoff = self.config().connect_backoff();
        let _search = self.inner.bootstrap_attempts.search();
        let (mut failures, mut consecutive) = (0, 0);
        let mut previous: Option<Error> = None;
        loop {
            let Err(error) = self.refresh_by(0, TopicSelector::Tracked, Some(deadline)).await else {
                return Ok(());
            };
            // An attempt that the deadline cut short says less than the one before it.
            if let Some(previous) = previous.filter(|_| Instant::now() >= deadline) {
                return Err(previous);
            }
            failures += 1;
            consecutive = if error.outlook() == Outlook::ProbablyPermanent { consecutive + 1 } else { 0 };
            if error.outlook() == Outlook::Permanent || consecutive >= CONFIRMATIONS {
                return Err(error);
            }
            let wait = backoff.after(failures, self.inner.environment.random());
            if Instant::now() + wait >= deadline {
                return Err(error);
            }
            // A probably permanent cause is told once: as the error, as soon as it is confirmed.
            if consecutive == 0 && self.inner.settings.failures.opens(FINDING, &error, started) {
                warn(&error, deadline);
            }
            previous = Some(error);
            sleep(wait).await;
        }
    }
}

fn warn(error: &Error, deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now()).as_secs_f64();
    tracing::warn!(
        target: "ottla.client",
        %error,
        "the cluster is not found yet; trying again for up to {left:.1} s",
    );
}
