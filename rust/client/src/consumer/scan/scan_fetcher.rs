//! The task behind a scan: sends fetches to brokers and turns responses into chunks.
//!
//! Invariant: each unfinished range is either idle or part of one request.

mod data_loss;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use ottla_protocol::{ApiKey, ErrorCode};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::cursor::Cursor;
use crate::cluster::Client;
use crate::consumer::completed_fetch::{CheckedBatches, MAX_CORRUPT_FETCHES, batch_too_large, check_batches};
use crate::consumer::fetch::request::{
    FetchRequestData, Limits, PartitionResponse, RequestedPartition, fetch, min_interval,
};
use crate::consumer::scan::deleted_topics::DeletedTopics;
use crate::consumer::scan::fetch_size::FetchSize;
use crate::consumer::scan::{Chunk, FOLLOW, Range, ScanEvent, ScanOptions, ScanOutput};
use crate::error::recovery::{Recovery, recovery};
use crate::error::{Error, Kind, Result};
use crate::metadata::no_leader::no_leader;
use crate::retry::Retry;
use crate::tasks::panics::try_catch;
use crate::topic_partition::TopicPartition;

pub(crate) struct ScanFetcher {
    client: Client,
    options: ScanOptions,
    size: FetchSize,
    output: ScanOutput,
    /// Cursors that wait for a fetch, the longest waiting first.
    idle: VecDeque<Cursor>,
    /// Cursors whose offset is not in the log, until its bounds are known.
    out_of_range: Vec<(Cursor, Error)>,
    retry: Retry,
    /// The error to recover from before the next fetch.
    pending_error: Option<Error>,
    /// Detects deleted topics, if they should not fail the scan.
    deleted: Option<DeletedTopics>,
}

/// A broker, the cursors of its request, and the response.
type BrokerResponse = (i32, Vec<Cursor>, Result<HashMap<TopicPartition, PartitionResponse>>);

impl ScanFetcher {
    pub(crate) fn new(client: Client, ranges: Vec<Range>, options: ScanOptions, output: ScanOutput) -> Self {
        let idle = ranges.into_iter().filter(|range| range.start < range.end).map(Cursor::new).collect();
        let retry = client.retry("reading", options.timeout);
        let deleted = (!options.fail_on_data_loss).then(|| DeletedTopics::new(options.timeout));
        let size = FetchSize::new(options.max_bytes);
        Self {
            client,
            options,
            size,
            output,
            idle,
            out_of_range: Vec::new(),
            retry,
            pending_error: None,
            deleted,
        }
    }

    pub(crate) async fn run(mut self) -> Result<()> {
        let mut topics: Vec<Arc<str>> =
            self.idle.iter().map(|cursor| Arc::clone(&cursor.partition.0)).collect();
        topics.sort();
        topics.dedup();
        if !topics.is_empty() {
            self.wait_for_topics(&topics).await?;
        }
        if self.deleted.is_none() {
            // A range that is followed may be of a partition that is created later.
            let bounded = self.idle.iter().filter(|cursor| cursor.end != FOLLOW);
            let partitions: Vec<TopicPartition> = bounded.map(|cursor| cursor.partition.clone()).collect();
            self.client.check_partitions(&partitions, self.options.timeout).await?;
        }
        let mut in_flight: BTreeSet<i32> = BTreeSet::new();
        let mut requests: JoinSet<BrokerResponse> = JoinSet::new();
        loop {
            let generation = self.client.inner.metadata.peek().generation;
            self.dispatch(&mut in_flight, &mut requests)?;
            if requests.is_empty() {
                if self.idle.is_empty() {
                    return Ok(());
                }
                // No broker is known for any cursor: refresh the metadata.
                self.recover(generation).await?;
                continue;
            }
            let joined = self.retry.attempt(async { Ok(requests.join_next().await) }).await?;
            let Some(Ok((broker, cursors, response))) = joined else {
                return Err(Error::new(Kind::Closed, "the client's runtime is shutting down"));
            };
            in_flight.remove(&broker);
            let chunks = self.process_response(broker, cursors, response)?;
            for (cursor, error) in std::mem::take(&mut self.out_of_range) {
                self.process_out_of_range(cursor, error).await?;
            }
            // Send the next fetch before the caller gets these chunks.
            self.dispatch(&mut in_flight, &mut requests)?;
            for chunk in chunks {
                if self.output.chunks.send(ScanEvent::Chunk(chunk)).await.is_err() {
                    return Ok(());
                }
                // Waiting for the caller does not count as lack of progress.
                self.retry.restart();
            }
            // Even if other partitions progress: this one may have a new leader.
            if self.pending_error.is_some() {
                self.recover(generation).await?;
            }
        }
    }

    /// Backs off and refreshes the metadata.
    async fn recover(&mut self, generation: u64) -> Result<()> {
        let error = self.pending_error.take().unwrap_or_else(|| self.no_leader_error());
        if !self.retry.repeats(&error) {
            return Err(error);
        }
        self.client.pause_and_refresh(&mut self.retry, generation, error).await?;
        self.skip_deleted();
        Ok(())
    }

    fn no_leader_error(&self) -> Error {
        let snapshot = self.client.snapshot();
        let mut cursors = self.idle.iter().map(|cursor| &cursor.partition);
        match cursors.find(|(topic, partition)| snapshot.leader(topic, *partition).is_none()) {
            Some((topic, partition)) => no_leader(&snapshot, topic, *partition),
            None => Error::from_code(ErrorCode::LeaderNotAvailable),
        }
    }

    /// Sends a fetch to each leader or preferred read replica that has none in flight.
    fn dispatch(
        &mut self,
        in_flight: &mut BTreeSet<i32>,
        requests: &mut JoinSet<BrokerResponse>,
    ) -> Result<()> {
        // Recover first.
        if self.pending_error.is_some() {
            return Ok(());
        }
        let snapshot = self.client.snapshot();
        let now = Instant::now();
        let mut by_broker: BTreeMap<i32, Vec<Cursor>> = BTreeMap::new();
        let mut rest = VecDeque::new();
        for cursor in std::mem::take(&mut self.idle) {
            let Some(cursor) = self.check_topic(cursor, &snapshot)? else { continue };
            match cursor.broker(&snapshot, now) {
                // A request names a partition only once, so two ranges of one partition alternate.
                Some(broker)
                    if !in_flight.contains(&broker)
                        && by_broker
                            .get(&broker)
                            .is_none_or(|l| l.iter().all(|c| c.partition != cursor.partition)) =>
                {
                    by_broker.entry(broker).or_default().push(cursor);
                }
                broker => {
                    if broker.is_none() {
                        // The metadata may have dropped the topic while the caller was slow.
                        self.client.inner.metadata.touch([&cursor.partition.0]);
                    }
                    rest.push_back(cursor);
                }
            }
        }
        self.idle = rest;
        let config = self.client.config();
        let limits = Limits {
            max_wait: config.fetch_max_wait,
            min_bytes: config.fetch_min_bytes,
            max_bytes: self.size.bytes(),
            partition_max_bytes: self.size.bytes(),
            read_committed: self.options.read_committed,
        };
        for (broker, cursors) in by_broker {
            in_flight.insert(broker);
            let client = self.client.clone();
            let requested =
                |cursor: &Cursor| RequestedPartition::new(&snapshot, &cursor.partition, cursor.offset);
            let data = FetchRequestData::sessionless(cursors.iter().map(requested).collect());
            requests.spawn(async move {
                let sent = Instant::now();
                let response = try_catch("a fetch of a scan", fetch(&client, broker, &data, limits)).await;
                let response = response.and_then(|response| response.into_partitions(broker));
                if response.as_ref().is_ok_and(|parts| parts.values().all(PartitionResponse::is_empty)) {
                    sleep_until(sent + min_interval(limits.max_wait)).await;
                }
                (broker, cursors, response)
            });
        }
        Ok(())
    }

    /// Advances the cursors and splits the response into chunks.
    fn process_response(
        &mut self,
        broker: i32,
        mut cursors: Vec<Cursor>,
        response: Result<HashMap<TopicPartition, PartitionResponse>>,
    ) -> Result<Vec<Chunk>> {
        let mut fetched = match response {
            Ok(fetched) => fetched,
            Err(error) if error.may_pass() => {
                tracing::debug!(target: "ottla.fetch", broker, %error, "fetch failed");
                self.pending_error = Some(error);
                for cursor in &mut cursors {
                    cursor.back_to_leader(broker);
                }
                self.idle.extend(cursors);
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        };
        let mut chunks = Vec::new();
        let mut unfinished = Vec::new();
        for mut cursor in cursors {
            let Some(response) = fetched.remove(&cursor.partition) else {
                unfinished.push(cursor);
                continue;
            };
            if response.error != ErrorCode::None {
                let error = Error::from_code(response.error)
                    .lacking(ApiKey::Fetch, &cursor.partition.0)
                    .at(&cursor.partition.0, cursor.partition.1)
                    .broker(broker);
                let follower = cursor.back_to_leader(broker);
                match recovery(response.error) {
                    // A follower may lag behind its leader.
                    Recovery::ResetOffset if follower => {
                        self.pending_error = Some(cursor.lagging_error().broker(broker));
                        unfinished.push(cursor);
                    }
                    Recovery::ResetOffset => self.out_of_range.push((cursor, error)),
                    _ if error.may_pass() => {
                        self.pending_error = Some(error);
                        unfinished.push(cursor);
                    }
                    _ => return Err(error),
                }
                continue;
            }
            cursor.confirm();
            if response.preferred_replica >= 0 {
                // The leader returns no records with a preferred read replica.
                let until = Instant::now() + self.client.config().metadata_max_age;
                let redirected =
                    cursor.use_preferred_replica(response.preferred_replica, until, &self.client.snapshot());
                self.pending_error = redirected.err().or_else(|| self.pending_error.take());
                unfinished.push(cursor);
                continue;
            }
            let start = cursor.offset;
            match self.next_offset(&mut cursor, &response)? {
                Some(next) => {
                    self.retry.progress();
                    cursor.offset = next;
                    chunks.push(Chunk {
                        partition: cursor.partition.clone(),
                        records: response.records,
                        start,
                        end: next.min(cursor.end),
                        aborted: response.aborted,
                    });
                }
                None => self.check_end(&mut cursor, &response)?,
            }
            if cursor.offset < cursor.end {
                unfinished.push(cursor);
            }
        }
        if !chunks.is_empty() {
            self.size.grow();
        }
        // Rotate, so that a full response starves no partition.
        let shift = unfinished.len().min(1);
        unfinished.rotate_left(shift);
        self.idle.extend(unfinished);
        Ok(chunks)
    }

    /// The offset after the last whole batch of the response; `None` without one.
    fn next_offset(&mut self, cursor: &mut Cursor, response: &PartitionResponse) -> Result<Option<i64>> {
        let (topic, partition) = &cursor.partition;
        let CheckedBatches { next, error, truncated_size, .. } =
            check_batches(&response.records, self.client.config().check_crcs);
        let next = next.map(|(next, _)| next);
        // Batches before the corrupt one are usable.
        if let Some(error) = error.filter(|_| next.is_none_or(|next| next <= cursor.offset)) {
            cursor.corrupt += 1;
            let message = format!("records after offset {} are corrupt", cursor.offset);
            let error = error.prefixed(message).at(topic, *partition);
            if cursor.corrupt >= MAX_CORRUPT_FETCHES {
                return Err(error.prefixed(format_args!("fetched {MAX_CORRUPT_FETCHES} times")));
            }
            tracing::warn!(target: "ottla.fetch", %error, "corrupt records are fetched again");
            self.pending_error = Some(error);
            return Ok(None);
        }
        if next.is_none() && !response.records.is_empty() && self.pending_error.is_none() {
            return Err(
                batch_too_large(truncated_size.unwrap_or(response.records.len())).at(topic, *partition)
            );
        }
        cursor.corrupt = 0;
        Ok(next.filter(|next| *next > cursor.offset))
    }

    /// Handles an empty response: the rest of the range may be compacted away or not written yet.
    fn check_end(&mut self, cursor: &mut Cursor, response: &PartitionResponse) -> Result<()> {
        let end = if self.options.read_committed { response.last_stable } else { response.high_watermark };
        if self.pending_error.is_none() && !response.records.is_empty() {
            let message = format!("the broker sent only records before offset {}", cursor.offset);
            self.pending_error =
                Some(Error::new(Kind::Timeout, message).at(&cursor.partition.0, cursor.partition.1));
        }
        if self.pending_error.is_some() || end >= cursor.end {
            return Ok(());
        }
        if cursor.end == FOLLOW {
            // An empty response is progress: the log may be idle for days.
            self.retry.restart();
            return Ok(());
        }
        let (topic, partition) = &cursor.partition;
        let message = match response.high_watermark >= cursor.end {
            true => format!(
                "offsets {} to {} were requested, but an open transaction holds back records after offset {end}",
                cursor.offset, cursor.end
            ),
            false => format!(
                "offsets {} to {} were requested, but the log ends at {}",
                cursor.offset, cursor.end, response.high_watermark
            ),
        };
        self.pending_error = Some(Error::new(Kind::Timeout, message).at(topic, *partition));
        Ok(())
    }
}
