//! Topic lookup by name: waits for missing topics and suggests similar names.

use std::collections::BTreeMap;
use std::sync::Arc;

use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::{Duration, Instant};

use crate::cluster::Client;
use crate::cluster::nearest_names::nearest_names;
use crate::error::{Error, Result};
use crate::metadata::no_leader::missing_topic;
use crate::metadata::{Cache, Snapshot, Topic, TopicSelector};
use crate::retry::Retry;

/// What to do about a topic that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMissing {
    /// Let the broker create it, if it allows that, and wait for it: as Java's producers do.
    Create,
    /// Wait for it until the timeout.
    Wait,
    /// Fail once it has been unknown for longer than a newly created topic takes to reach all brokers.
    Fail,
}

/// How long a newly created topic or partition may take to reach all brokers.
pub(super) const PROPAGATION_TIME: Duration = Duration::from_secs(3);

impl Client {
    /// Waits until all topics exist in the metadata; their partitions may still lack leaders.
    pub async fn topics(
        &self,
        names: &[Arc<str>],
        if_missing: IfMissing,
        timeout: Duration,
    ) -> Result<Vec<Arc<Topic>>> {
        self.inner.metadata.touch(names);
        let mut forget = ForgetUnlessFound { metadata: &self.inner.metadata, names };
        let found = self.wait_for_topics(names, if_missing, timeout).await;
        if found.is_ok() {
            forget.names = &[];
        }
        found
    }

    /// Looks up topics. Returns those that do not exist or cannot be described, each with its error.
    ///
    /// # Errors
    /// The lookup failed for another reason.
    pub(crate) async fn missing_topics(
        &self,
        names: &[Arc<str>],
        timeout: Duration,
    ) -> Result<BTreeMap<Arc<str>, Error>> {
        self.inner.metadata.touch(names);
        let mut forget = ForgetUnlessFound { metadata: &self.inner.metadata, names };
        let Err(error) = self.wait_for_topics(names, IfMissing::Fail, timeout).await else {
            forget.names = &[];
            return Ok(BTreeMap::new());
        };
        let Some(first) = names.iter().find(|name| error.context().topic.as_ref() == Some(name)).cloned()
        else {
            return Err(error);
        };
        let snapshot = self.snapshot();
        let missing = |name: &Arc<str>| Some((Arc::clone(name), topic_error(&snapshot, name)?));
        let mut missing: BTreeMap<Arc<str>, Error> = names.iter().filter_map(missing).collect();
        missing.insert(first, error);
        let unknown: Vec<Arc<str>> = missing.keys().cloned().collect();
        forget.names = &[];
        self.inner.metadata.forget(&unknown);
        Ok(missing)
    }

    async fn wait_for_topics(
        &self,
        names: &[Arc<str>],
        if_missing: IfMissing,
        timeout: Duration,
    ) -> Result<Vec<Arc<Topic>>> {
        let selector = match if_missing {
            IfMissing::Create => TopicSelector::Create(names),
            IfMissing::Wait | IfMissing::Fail => TopicSelector::Topics(names),
        };
        let fail_after = Instant::now() + PROPAGATION_TIME;
        let mut retry = self.retry(format!("looking up {}", names.join(", ")), timeout);
        let mut snapshot = self.snapshot();
        let mut lookups = 0;
        loop {
            let missing = names.iter().find_map(|name| topic_error(&snapshot, name));
            match missing {
                None => return Ok(names.iter().filter_map(|name| snapshot.topic(name).cloned()).collect()),
                // Without an entry for each topic, there has been no lookup yet.
                Some(error)
                    if snapshot.generation > 0 && names.iter().all(|name| snapshot.topic(name).is_some()) =>
                {
                    if !error.is_retriable() && !retry.repeats(&error) {
                        return Err(error);
                    }
                    let missing = error.code() == Some(ErrorCode::UnknownTopicOrPartition);
                    if missing && if_missing == IfMissing::Fail && Instant::now() >= fail_after {
                        return Err(self.suggest_names(error, &retry).await);
                    }
                    retry.pause(error).await?;
                }
                // A refresh for others does not look these up. The next one does, unless a broker leaves
                // them out.
                Some(error) if lookups >= 2 => retry.pause(error).await?,
                Some(_) => {}
            }
            snapshot = match retry.attempt(self.refresh(snapshot.generation, selector)).await {
                Ok(snapshot) => {
                    lookups += 1;
                    snapshot
                }
                Err(error) if error.is_transient() => {
                    retry.pause(error).await?;
                    self.snapshot()
                }
                Err(error) => return Err(error),
            };
        }
    }
}

impl Client {
    /// Adds existing topics with similar names to the error for a missing topic.
    async fn suggest_names(&self, error: Error, retry: &Retry) -> Error {
        let generation = self.snapshot().generation;
        let Ok(snapshot) = retry.attempt(self.refresh(generation, TopicSelector::All)).await else {
            return error;
        };
        let existing = snapshot.topics().filter(|topic| topic.exists()).map(|topic| &*topic.name);
        let name = error.context().topic.clone().unwrap_or_default();
        match nearest_names(&name, existing).join(", ") {
            similar if similar.is_empty() => error,
            similar => {
                let message = format!("{}; did you mean {similar}?", error.message());
                error.with_message(message)
            }
        }
    }
}

/// The error of a topic that does not exist, or that the metadata does not describe.
fn topic_error(snapshot: &Snapshot, name: &Arc<str>) -> Option<Error> {
    match snapshot.topic(name) {
        Some(topic) if topic.error == ErrorCode::None => None,
        Some(topic) if topic.error != ErrorCode::UnknownTopicOrPartition => {
            Some(Error::from_code(topic.error).lacking(ApiKey::Metadata, name).topic(name))
        }
        _ => Some(missing_topic().topic(name)),
    }
}

/// Stops tracking topics whose lookup failed; otherwise every refresh would ask for a misspelt topic.
struct ForgetUnlessFound<'a> {
    metadata: &'a Cache,
    names: &'a [Arc<str>],
}

impl Drop for ForgetUnlessFound<'_> {
    fn drop(&mut self) {
        self.metadata.forget(self.names);
    }
}
