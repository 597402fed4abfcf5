//! The task behind a scan: which partition is asked of whom next, and what an answer means.
//!
//! Invariant: each range that is not read to its end is either idle or part of one request.

mod data_loss;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::cursor::Cursor;
use crate::cluster::Client;
use crate::consumer::completed_fetch::{CORRUPT_MAX, Usable, too_large, usable};
use crate::consumer::fetch::request::{Ask, Fetched, Limits, Position, fetch, min_interval};
use crate::consumer::scan::deleted_topics::Deleted;
use crate::consumer::scan::{Chunk, Event, FOLLOW, Output, Range, ScanOptions};
use crate::error::{Error, Kind, Result};
use crate::metadata::TopicSelector;
use crate::metadata::no_leader::no_leader;
use crate::retry::Retry;
use crate::retry::recovery::{Recovery, recovery};
use crate::tasks::panics::try_catch;
use crate::topic_partition::TopicPartition;

pub(crate) struct Reader {
    client: Client,
    options: ScanOptions,
    output: Output,
    /// Cursors that wait for a fetch, the longest waiting first.
    idle: VecDeque<Cursor>,
    /// Cursors whose offset is not in the log, until it is known where the log starts and ends.
    astray: Vec<(Cursor, Error)>,
    retry: Retry,
    /// Why the last partition that could not be read could not.
    trouble: Option<Error>,
    /// What becomes of deleted topics, if they are not to fail the scan.
    deleted: Option<Deleted>,
}

/// What came back from one broker, with the cursors that went out.
type Answer = (i32, Vec<Cursor>, Result<HashMap<TopicPartition, Fetched>>);

impl Reader {
    pub(crate) fn new(client: Client, ranges: Vec<Range>, options: ScanOptions, output: Output) -> Self {
        let idle = ranges.into_iter().filter(|range| range.start < range.end).map(Cursor::new).collect();
        let retry = client.retry("reading", options.timeout);
        let deleted = (!options.fail_on_data_loss).then(|| Deleted::new(options.timeout));
        Self { client, options, output, idle, astray: Vec::new(), retry, trouble: None, deleted }
    }

    pub(crate) async fn run(mut self) -> Result<()> {
        let mut topics: Vec<Arc<str>> =
            self.idle.iter().map(|cursor| Arc::clone(&cursor.partition.0)).collect();
        topics.sort();
        topics.dedup();
        if !topics.is_empty() {
            self.find(&topics).await?;
        }
        let mut busy: BTreeSet<i32> = BTreeSet::new();
        let mut requests: JoinSet<Answer> = JoinSet::new();
        loop {
            let generation = self.client.inner.metadata.peek().generation;
            self.dispatch(&mut busy, &mut requests)?;
            if requests.is_empty() {
                if self.idle.is_empty() {
                    return Ok(());
                }
                // Nobody can be asked: find out who leads now.
                self.recover(generation).await?;
                continue;
            }
            let joined = self.retry.attempt(async { Ok(requests.join_next().await) }).await?;
            let Some(Ok((broker, cursors, answer))) = joined else {
                return Err(Error::new(Kind::Closed, "the client's runtime is shutting down"));
            };
            busy.remove(&broker);
            let chunks = self.process(broker, cursors, answer)?;
            for (cursor, error) in std::mem::take(&mut self.astray) {
                self.process_out_of_range(cursor, error).await?;
            }
            // The next fetch is on its way before the reader gets these.
            self.dispatch(&mut busy, &mut requests)?;
            for chunk in chunks {
                if self.output.chunks.send(Event::Chunk(chunk)).await.is_err() {
                    return Ok(());
                }
                // Waiting for the reader is not a lack of progress.
                self.retry.restart();
            }
            // Even if others went on: the partition in trouble may have another leader.
            if self.trouble.is_some() {
                self.recover(generation).await?;
            }
        }
    }

    /// Backs off and refreshes the metadata.
    async fn recover(&mut self, generation: u64) -> Result<()> {
        let error = self.trouble.take().unwrap_or_else(|| self.leaderless());
        if !error.is_transient() {
            return Err(error);
        }
        self.retry.pause(error).await?;
        if let Err(error) = self.retry.attempt(self.client.refresh(generation, TopicSelector::Tracked)).await
        {
            self.retry.pause(error).await?;
        }
        self.skip_deleted();
        Ok(())
    }

    fn leaderless(&self) -> Error {
        let snapshot = self.client.snapshot();
        let mut cursors = self.idle.iter().map(|cursor| &cursor.partition);
        match cursors.find(|(topic, partition)| snapshot.leader(topic, *partition).is_none()) {
            Some((topic, partition)) => no_leader(&snapshot, topic, *partition),
            None => Error::from_code(ErrorCode::LeaderNotAvailable),
        }
    }

    /// Sends a fetch to each leader, or replica that is nearer, that has none under way.
    fn dispatch(&mut self, busy: &mut BTreeSet<i32>, requests: &mut JoinSet<Answer>) -> Result<()> {
        // While a failure is being recovered from, nothing new goes out.
        if self.trouble.is_some() {
            return Ok(());
        }
        let snapshot = self.client.snapshot();
        let now = Instant::now();
        let mut by_broker: BTreeMap<i32, Vec<Cursor>> = BTreeMap::new();
        let mut rest = VecDeque::new();
        for cursor in std::mem::take(&mut self.idle) {
            let Some(cursor) = self.in_its_topic(cursor, &snapshot)? else { continue };
            match cursor.broker(&snapshot, now) {
                // Two ranges of one partition take turns: a request holds a partition once.
                Some(broker)
                    if !busy.contains(&broker)
                        && by_broker
                            .get(&broker)
                            .is_none_or(|l| l.iter().all(|c| c.partition != cursor.partition)) =>
                {
                    by_broker.entry(broker).or_default().push(cursor);
                }
                broker => {
                    if broker.is_none() {
                        // A slow reader may have let the topic fall into oblivion.
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
            max_bytes: self.options.max_bytes,
            partition_max_bytes: self.options.max_bytes,
            read_committed: self.options.read_committed,
        };
        for (broker, cursors) in by_broker {
            busy.insert(broker);
            let client = self.client.clone();
            let position = |cursor: &Cursor| Position::new(&snapshot, &cursor.partition, cursor.offset);
            let ask = Ask::alone(cursors.iter().map(position).collect());
            requests.spawn(async move {
                let sent = Instant::now();
                let answer = try_catch("a fetch of a scan", fetch(&client, broker, &ask, limits)).await;
                let answer = answer.and_then(|answer| answer.partitions(broker));
                if answer.as_ref().is_ok_and(|parts| parts.values().all(Fetched::is_empty)) {
                    sleep_until(sent + min_interval(limits.max_wait)).await;
                }
                (broker, cursors, answer)
            });
        }
        Ok(())
    }

    /// Moves the cursors on and cuts the answer into chunks.
    fn process(
        &mut self,
        broker: i32,
        mut cursors: Vec<Cursor>,
        answer: Result<HashMap<TopicPartition, Fetched>>,
    ) -> Result<Vec<Chunk>> {
        let mut fetched = match answer {
            Ok(fetched) => fetched,
            Err(error) if error.is_transient() => {
                tracing::debug!(target: "ottla.fetch", broker, %error, "fetch failed");
                self.trouble = Some(error);
                for cursor in &mut cursors {
                    cursor.back_to_leader(broker);
                }
                self.idle.extend(cursors);
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        };
        let mut chunks = Vec::new();
        let mut behind = Vec::new();
        for mut cursor in cursors {
            let Some(answer) = fetched.remove(&cursor.partition) else {
                behind.push(cursor);
                continue;
            };
            if answer.error != ErrorCode::None {
                let error =
                    Error::from_code(answer.error).at(&cursor.partition.0, cursor.partition.1).broker(broker);
                let follower = cursor.back_to_leader(broker);
                match recovery(answer.error) {
                    // A replica may be behind its leader.
                    Recovery::ResetOffset if follower => {
                        self.trouble = Some(cursor.fell_behind().broker(broker));
                        behind.push(cursor);
                    }
                    Recovery::ResetOffset => self.astray.push((cursor, error)),
                    recovery if recovery.retries() => {
                        self.trouble = Some(error);
                        behind.push(cursor);
                    }
                    _ => return Err(error),
                }
                continue;
            }
            cursor.confirm();
            if answer.preferred_replica >= 0 {
                // The leader sends nothing with its advice.
                let until = Instant::now() + self.client.config().metadata_max_age;
                let advised = cursor.go_nearer(answer.preferred_replica, until, &self.client.snapshot());
                self.trouble = advised.err().or_else(|| self.trouble.take());
                behind.push(cursor);
                continue;
            }
            let start = cursor.offset;
            match self.next_offset(&mut cursor, &answer)? {
                Some(next) => {
                    self.retry.progress();
                    cursor.offset = next;
                    chunks.push(Chunk {
                        partition: cursor.partition.clone(),
                        records: answer.records,
                        start,
                        end: next.min(cursor.end),
                        aborted: answer.aborted,
                    });
                }
                None => self.check_end(&mut cursor, &answer)?,
            }
            if cursor.offset < cursor.end {
                behind.push(cursor);
            }
        }
        // Who came last goes first next time, so that a full answer starves nobody.
        let turn = behind.len().min(1);
        behind.rotate_left(turn);
        self.idle.extend(behind);
        Ok(chunks)
    }

    /// The offset after the last whole batch of the answer; `None` if there is no whole batch.
    fn next_offset(&mut self, cursor: &mut Cursor, answer: &Fetched) -> Result<Option<i64>> {
        let (topic, partition) = &cursor.partition;
        let Usable { next, flaw, cut_off, .. } = usable(&answer.records, self.client.config().check_crcs);
        let next = next.map(|(next, _)| next);
        // What came before the bad batch is good.
        if let Some(error) = flaw.filter(|_| next.is_none_or(|next| next <= cursor.offset)) {
            cursor.corrupt += 1;
            let words = format!("records after offset {} are damaged", cursor.offset);
            let error = error.prefixed(words).at(topic, *partition);
            if cursor.corrupt >= CORRUPT_MAX {
                return Err(error.prefixed(format_args!("fetched {CORRUPT_MAX} times")));
            }
            tracing::warn!(target: "ottla.fetch", %error, "fetching again");
            self.trouble = Some(error);
            return Ok(None);
        }
        if next.is_none() && !answer.records.is_empty() && self.trouble.is_none() {
            return Err(too_large(cut_off.unwrap_or(answer.records.len())).at(topic, *partition));
        }
        cursor.corrupt = 0;
        Ok(next.filter(|next| *next > cursor.offset))
    }

    /// An empty answer: what is left of the range may be gone (compaction), or not be there yet.
    fn check_end(&mut self, cursor: &mut Cursor, answer: &Fetched) -> Result<()> {
        let end = if self.options.read_committed { answer.last_stable } else { answer.high_watermark };
        if self.trouble.is_none() && !answer.records.is_empty() {
            let words = format!("the broker sends records from before offset {}", cursor.offset);
            self.trouble = Some(Error::new(Kind::Timeout, words).at(&cursor.partition.0, cursor.partition.1));
        }
        if self.trouble.is_some() || end >= cursor.end {
            return Ok(());
        }
        if cursor.end == FOLLOW {
            // Nothing new is no lack of progress: the log may rest for days.
            self.retry.restart();
            return Ok(());
        }
        let (topic, partition) = &cursor.partition;
        let words = match answer.high_watermark >= cursor.end {
            true => format!(
                "offsets {} to {} were asked for, but an open transaction holds back what is behind offset {end}",
                cursor.offset, cursor.end
            ),
            false => format!(
                "offsets {} to {} were asked for, but the log ends at {}",
                cursor.offset, cursor.end, answer.high_watermark
            ),
        };
        self.trouble = Some(Error::new(Kind::Timeout, words).at(topic, *partition));
        Ok(())
    }
}
