//! Requests to the leaders of many partitions: one request per broker.
//!
//! Invariant: partitions with a transient error are retried with fresh metadata until the deadline, and
//! no partition is missing from the result.

use std::collections::{BTreeMap, HashMap};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use ottla_protocol::ErrorCode;
use tokio::time::{Duration, Instant};

use crate::cluster::Client;
use crate::cluster::partitions::lacks_partition;
use crate::error::{Error, Result};
use crate::metadata::no_leader::no_leader;
use crate::metadata::{Snapshot, TopicSelector};
use crate::retry::Retry;
use crate::topic_partition::TopicPartition;

/// The parameters of a request to one leader, by partition.
pub(crate) type PartitionRequests<W> = BTreeMap<TopicPartition, W>;

/// The result of each partition in a leader's response.
pub(crate) type PartitionResults<F> = Vec<(TopicPartition, Result<F>)>;

/// A function that sends a request to one leader, a broker's id, and returns the result of each of its partitions.
pub(crate) trait SendRequest<W, F>:
    Fn(Client, i32, PartitionRequests<W>, Arc<Snapshot>) -> <Self as SendRequest<W, F>>::Response
{
    type Response: Future<Output = Result<PartitionResults<F>>> + Send + 'static;
}

impl<W, F, Function, Response> SendRequest<W, F> for Function
where
    Function: Fn(Client, i32, PartitionRequests<W>, Arc<Snapshot>) -> Response,
    Response: Future<Output = Result<PartitionResults<F>>> + Send + 'static,
{
    type Response = Response;
}

impl Client {
    /// Calls `send` for each leader with its partitions of `wanted`, until each has a result. Fails with the first
    /// error of a partition.
    pub(crate) async fn request_from_leaders<W: Clone, F: Send + 'static>(
        &self,
        what: &str,
        wanted: impl IntoIterator<Item = (TopicPartition, W)>,
        timeout: Duration,
        send: impl SendRequest<W, F>,
    ) -> Result<HashMap<TopicPartition, F>> {
        let results = self.request_each((what, true), wanted, timeout, send).await;
        results.into_iter().map(|(partition, result)| Ok((partition, result?))).collect()
    }

    /// As [`Client::request_from_leaders`], with the error of each partition in the place of its result.
    pub(crate) async fn request_each_from_leaders<W: Clone, F: Send + 'static>(
        &self,
        what: &str,
        wanted: impl IntoIterator<Item = (TopicPartition, W)>,
        timeout: Duration,
        send: impl SendRequest<W, F>,
    ) -> BTreeMap<TopicPartition, Result<F>> {
        let results = self.request_each((what, false), wanted, timeout, send).await;
        let placed = results.into_iter().map(|(partition, result)| {
            let result = result.map_err(|error| error.at(&partition.0, partition.1));
            (partition, result)
        });
        placed.collect()
    }

    async fn request_each<W: Clone, F: Send + 'static>(
        &self,
        (what, stop_at_error): (&str, bool),
        wanted: impl IntoIterator<Item = (TopicPartition, W)>,
        timeout: Duration,
        send: impl SendRequest<W, F>,
    ) -> BTreeMap<TopicPartition, Result<F>> {
        let wanted = wanted.into_iter().collect();
        let mut call = Call { wanted, results: BTreeMap::new(), stop_at_error, has_failed: false };
        let mut retry = self.retry(what, timeout);
        let mut is_first = true;
        while !call.is_done() {
            let attempt = self.attempt(&mut call, &mut retry, is_first, &send);
            if let Err(error) = attempt.await {
                call.fail_all(&error);
            }
            is_first = false;
        }
        call.results
    }

    /// One attempt for all partitions without a result, and the pause after it. An error concerns all of them.
    async fn attempt<W: Clone, F: Send + 'static>(
        &self,
        call: &mut Call<W, F>,
        retry: &mut Retry,
        is_first: bool,
        send: &impl SendRequest<W, F>,
    ) -> Result<()> {
        self.drop_missing(call, retry, is_first).await?;
        if call.is_done() {
            return Ok(());
        }
        let snapshot = self.snapshot();
        let mut last = None;
        let mut requests = Vec::new();
        for (broker, requests_of_broker) in call.group_by_leader(&snapshot, &mut last) {
            let partitions: Vec<TopicPartition> = requests_of_broker.keys().cloned().collect();
            let response = send(self.clone(), broker, requests_of_broker, Arc::clone(&snapshot));
            requests.push(Box::pin(async move { (broker, partitions, response.await) }));
        }
        let responses = async {
            // Dropped with the attempt: the responses that have not come are the cause of a timeout.
            let mut requests = requests;
            while let Some((broker, partitions, results)) = next_of(&mut requests).await {
                match results {
                    Ok(results) => call.process(results, broker, &mut last),
                    Err(error) if error.may_pass() => last = Some(error),
                    Err(error) => partitions.iter().for_each(|partition| call.fail(partition, error.clone())),
                }
            }
            Ok(())
        };
        retry.attempt(responses).await?;
        if call.is_done() {
            return Ok(());
        }
        let error = last.unwrap_or_else(|| Error::from_code(ErrorCode::LeaderNotAvailable));
        if !retry.repeats(&error) {
            return Err(error);
        }
        retry.pause(error).await?;
        if let Err(error) = retry.attempt(self.refresh(snapshot.generation, TopicSelector::Tracked)).await {
            retry.pause(error).await?;
        }
        Ok(())
    }

    /// Looks up topics and partitions that the metadata lacks, and fails those that do not exist.
    async fn drop_missing<W, F>(&self, call: &mut Call<W, F>, retry: &Retry, is_first: bool) -> Result<()> {
        let left = || retry.deadline().saturating_duration_since(Instant::now());
        let mut topics: Vec<Arc<str>> = call.wanted.keys().map(|(topic, _)| Arc::clone(topic)).collect();
        topics.dedup();
        let metadata = &self.inner.metadata;
        if is_first && topics.iter().any(|topic| metadata.peek().topic(topic).is_none()) {
            let missing = self.missing_topics(&topics, left()).await?;
            call.fail_where(|(topic, _)| missing.get(topic).cloned());
        }
        let snapshot = self.snapshot();
        let lacking = |partition: &&TopicPartition| lacks_partition(&snapshot, partition);
        let lacking: Vec<TopicPartition> = call.wanted.keys().filter(lacking).cloned().collect();
        // Ends by itself at the deadline, with the error of a partition instead of a timeout's.
        if !lacking.is_empty()
            && let Err(error) = self.check_partitions(&lacking, left()).await
        {
            let snapshot = self.snapshot();
            let (topic, partition) = (error.context().topic.clone(), error.context().partition);
            let is_of =
                |(of, number): &TopicPartition| topic.as_ref() == Some(of) && partition == Some(*number);
            if !lacking.iter().any(is_of) {
                return Err(error);
            }
            call.fail_where(|key| match () {
                () if is_of(key) => Some(error.clone()),
                () if lacks_partition(&snapshot, key) => Some(no_leader(&snapshot, &key.0, key.1)),
                () => None,
            });
        }
        Ok(())
    }
}

/// The result of the first of `running` that ends, which is taken out; `None` if there is none.
async fn next_of<F: Future>(running: &mut Vec<Pin<Box<F>>>) -> Option<F::Output> {
    if running.is_empty() {
        return None;
    }
    let (at, ended) = poll_fn(|cx| {
        let ready = running.iter_mut().enumerate().find_map(|(at, future)| match future.as_mut().poll(cx) {
            Poll::Ready(ended) => Some((at, ended)),
            Poll::Pending => None,
        });
        ready.map_or(Poll::Pending, Poll::Ready)
    })
    .await;
    drop(running.swap_remove(at));
    Some(ended)
}

/// The partitions of one call: those without a result, and the results of the others.
struct Call<W, F> {
    wanted: PartitionRequests<W>,
    results: BTreeMap<TopicPartition, Result<F>>,
    /// Whether the first error ends the call.
    stop_at_error: bool,
    has_failed: bool,
}

impl<W: Clone, F> Call<W, F> {
    /// Groups the partitions by leader. Partitions without a leader are left for a later attempt.
    fn group_by_leader(
        &mut self,
        snapshot: &Snapshot,
        last: &mut Option<Error>,
    ) -> BTreeMap<i32, PartitionRequests<W>> {
        let mut parts: BTreeMap<i32, PartitionRequests<W>> = BTreeMap::new();
        let mut failed = Vec::new();
        for (partition, what) in &self.wanted {
            match snapshot.leader(&partition.0, partition.1) {
                Some(leader) => {
                    parts.entry(leader.id).or_default().insert(partition.clone(), what.clone());
                }
                None => match no_leader(snapshot, &partition.0, partition.1) {
                    error if error.may_pass() => *last = Some(error),
                    error => failed.push((partition.clone(), error)),
                },
            }
        }
        failed.into_iter().for_each(|(partition, error)| self.fail(&partition, error));
        parts
    }
}

impl<W, F> Call<W, F> {
    fn is_done(&self) -> bool {
        self.wanted.is_empty() || self.stop_at_error && self.has_failed
    }

    /// Keeps the results of a response; partitions to be retried stay in `wanted`.
    fn process(&mut self, results: PartitionResults<F>, broker: i32, last: &mut Option<Error>) {
        for (partition, result) in results {
            match result {
                Ok(value) => {
                    if self.wanted.remove(&partition).is_some() {
                        self.results.insert(partition, Ok(value));
                    }
                }
                Err(error) => {
                    let error = error.at(&partition.0, partition.1).broker(broker);
                    if error.may_pass() {
                        *last = Some(error);
                    } else {
                        self.fail(&partition, error);
                    }
                }
            }
        }
    }

    fn fail(&mut self, partition: &TopicPartition, error: Error) {
        if let Some((partition, _)) = self.wanted.remove_entry(partition) {
            self.results.insert(partition, Err(error));
            self.has_failed = true;
        }
    }

    /// Fails the partitions for which `error` returns one.
    fn fail_where(&mut self, error: impl Fn(&TopicPartition) -> Option<Error>) {
        let failed: Vec<_> = self.wanted.keys().filter_map(|key| Some((key.clone(), error(key)?))).collect();
        failed.into_iter().for_each(|(partition, error)| self.fail(&partition, error));
    }

    /// Fails all partitions without a result.
    fn fail_all(&mut self, error: &Error) {
        self.fail_where(|_| Some(error.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_that_were_not_asked_for_are_ignored() {
        let partition = |index| (Arc::from("t"), index);
        let mut call = Call {
            wanted: [(partition(0), ())].into(),
            results: BTreeMap::new(),
            stop_at_error: false,
            has_failed: false,
        };
        let refused = Error::from_code(ErrorCode::TopicAuthorizationFailed);
        let results = vec![(partition(1), Ok(7)), (partition(2), Err(refused)), (partition(0), Ok(5))];
        call.process(results, 1, &mut None);
        let found: Vec<_> = call.results.into_iter().map(|(at, result)| (at.1, result.ok())).collect();
        assert_eq!((found, call.has_failed), (vec![(0, Some(5))], false));
    }
}
