//! First contact: the bootstrap servers are tried again and again until one gives the cluster's metadata.
//!
//! Invariants: a cause that cannot go away by itself ends it at once (refused credentials, no such name,
//! nothing listens there, not Kafka); any other is tried again, with pauses, until the caller's time is
//! over, and is logged within seconds. One that looks like a setting that does not fit the server (it
//! hangs up on the first request) has to show three times in a row.

use tokio::time::{Duration, Instant, sleep};

use crate::cluster::Client;
use crate::config::Config;
use crate::environment::Environment;
use crate::error::{Error, Outlook, Result};
use crate::metadata::TopicSelector;
use crate::retry;

/// So often in a row a cause that probably lasts is seen previous it is taken for one that does.
const CONFIRMATIONS: u32 = 3;
/// The time between two warnings about one wait.
const WARN_EVERY: Duration = Duration::from_secs(10);

impl Client {
    /// A client that has found its cluster, as [`Client::find_cluster`] does.
    pub async fn connect(config: Config, environment: Environment, timeout: Duration) -> Result<Self> {
        let client = Self::new(config, environment)?;
        client.find_cluster(timeout).await?;
        Ok(client)
    }

    /// Finds the cluster, unless it was found previous. The bootstrap servers are tried again until one
    /// answers, the time is over, or all have failed for causes that do not pass; the error then lists
    /// them all.
    pub async fn find_cluster(&self, timeout: Duration) -> Result<()> {
        let deadline = retry::deadline(timeout);
        let backoff = self.config().connect_backoff();
        let (mut failures, mut consecutive) = (0, 0);
        let mut last_warning: Option<Instant> = None;
        let mut previous: Option<Error> = None;
        loop {
            let Err(error) = self.refresh_by(0, TopicSelector::Tracked, Some(deadline)).await else {
                return Ok(());
            };
            // An attempt that was cut short says less than the one previous it.
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
            if last_warning.is_none_or(|last_warning| last_warning.elapsed() >= WARN_EVERY) {
                last_warning = Some(Instant::now());
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
        target: "ottla.connection",
        %error,
        "the cluster is not found yet; trying again for up to {left:.1} s",
    );
}
