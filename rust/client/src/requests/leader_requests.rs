//! Requests to the leaders of many partitions: one request per broker.
//!
//! Invariant: partitions with a transient error are retried with fresh metadata until the deadline, and
//! no partition is missing from the result.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use crate::cluster::Client;
use crate::cluster::IfMissing;
use crate::cluster::partitions::lacks_partition;
use crate::error::{Error, Result};
use crate::metadata::no_leader::no_leader;
use crate::metadata::{Snapshot, TopicSelector};
use crate::topic_partition::TopicPartition;

/// The parameters of a request to one leader, by partition.
pub(crate) type PartitionRequests<W> = BTreeMap<TopicPartition, W>;

/// The result of each partition in a leader's response.
pub(crate) type PartitionResults<F> = Vec<(TopicPartition, ErrorCode, F)>;

impl Client {
    /// Calls `send` for each leader with its partitions of `wanted`, until each has a result.
    pub(crate) async fn request_from_leaders<W, F, SendRequest, Response>(
        &self,
        what: &str,
        wanted: impl IntoIterator<Item = (TopicPartition, W)>,
        timeout: Duration,
        send: SendRequest,
    ) -> Result<HashMap<TopicPartition, F>>
    where
        W: Clone,
        F: Send + 'static,
        SendRequest: Fn(Self, i32, PartitionRequests<W>, Arc<Snapshot>) -> Response,
        Response: Future<Output = Result<PartitionResults<F>>> + Send + 'static,
    {
        let mut wanted: PartitionRequests<W> = wanted.into_iter().collect();
        let mut found = HashMap::with_capacity(wanted.len());
        let mut retry = self.retry(what, timeout);
        let topics: Vec<Arc<str>> = {
            let mut topics: Vec<Arc<str>> = wanted.keys().map(|(topic, _)| Arc::clone(topic)).collect();
            topics.dedup();
            topics
        };
        if topics.iter().any(|topic| self.inner.metadata.peek().topic(topic).is_none()) {
            self.topics(&topics, IfMissing::Fail, timeout).await?;
        }
        loop {
            let mut snapshot = self.snapshot();
            let missing = |partition: &&TopicPartition| lacks_partition(&snapshot, partition);
            let missing: Vec<TopicPartition> = wanted.keys().filter(missing).cloned().collect();
            if !missing.is_empty() {
                // Ends by itself at the deadline, with the error of a partition instead of a timeout's.
                let left = retry.deadline().saturating_duration_since(Instant::now());
                self.check_partitions(&missing, left).await?;
                snapshot = self.snapshot();
            }
            let mut last = None;
            let mut requests = JoinSet::new();
            for (broker, requests_of_broker) in group_by_leader(&wanted, &snapshot, &mut last)? {
                let response = send(self.clone(), broker, requests_of_broker, Arc::clone(&snapshot));
                requests.spawn(async move { (broker, response.await) });
            }
            while let Some(joined) = retry.attempt(async { Ok(requests.join_next().await) }).await? {
                let Ok((broker, results)) = joined else { continue };
                match results {
                    Ok(results) => process_results(results, broker, &mut wanted, &mut found, &mut last)?,
                    Err(error) if error.may_pass() => last = Some(error),
                    Err(error) => return Err(error),
                }
            }
            if wanted.is_empty() {
                return Ok(found);
            }
            let error = last.unwrap_or_else(|| Error::from_code(ErrorCode::LeaderNotAvailable));
            if !retry.repeats(&error) {
                return Err(error);
            }
            retry.pause(error).await?;
            if let Err(error) = retry.attempt(self.refresh(snapshot.generation, TopicSelector::Tracked)).await
            {
                retry.pause(error).await?;
            }
        }
    }
}

/// Groups the partitions by leader. Partitions without a leader are left for a later attempt.
fn group_by_leader<W: Clone>(
    wanted: &PartitionRequests<W>,
    snapshot: &Snapshot,
    last: &mut Option<Error>,
) -> Result<BTreeMap<i32, PartitionRequests<W>>> {
    let mut parts: BTreeMap<i32, PartitionRequests<W>> = BTreeMap::new();
    for (partition, what) in wanted {
        match snapshot.leader(&partition.0, partition.1) {
            Some(leader) => {
                parts.entry(leader.id).or_default().insert(partition.clone(), what.clone());
            }
            None => match no_leader(snapshot, &partition.0, partition.1) {
                error if error.may_pass() => *last = Some(error),
                error => return Err(error),
            },
        }
    }
    Ok(parts)
}

/// Moves partitions with a result from `wanted` to `found`; those to be retried stay in `wanted`.
fn process_results<W, F>(
    results: PartitionResults<F>,
    broker: i32,
    wanted: &mut PartitionRequests<W>,
    found: &mut HashMap<TopicPartition, F>,
    last: &mut Option<Error>,
) -> Result<()> {
    for (partition, code, value) in results {
        if code == ErrorCode::None {
            if wanted.remove(&partition).is_some() {
                found.insert(partition, value);
            }
            continue;
        }
        let error = Error::from_code(code).at(&partition.0, partition.1).broker(broker);
        if !error.may_pass() {
            return Err(error);
        }
        *last = Some(error);
    }
    Ok(())
}
