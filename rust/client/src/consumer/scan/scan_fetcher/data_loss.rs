//! What a scan does about records that it was to read and that are gone: with their topic, even if there
//! is another one of its name, by retention, or with a log that was cut.
//!
//! Invariant: they end the scan with an error, or are among its gaps, as its options say.

use std::sync::Arc;

use tokio::time::Instant;

use crate::cluster::IfMissing;
use crate::consumer::scan::cursor::Cursor;
use crate::consumer::scan::deleted_topics::Deleted;
use crate::consumer::scan::scan_fetcher::Reader;
use crate::consumer::scan::{FOLLOW, Gap};
use crate::error::{Error, Kind, Result};
use crate::metadata::Snapshot;
use crate::requests::OffsetSpec;

impl Reader {
    /// Waits until the topics are known; of a scan that passes over deleted ones not for long.
    pub(crate) async fn find(&mut self, topics: &[Arc<str>]) -> Result<()> {
        let since = Instant::now();
        if let Some(deleted) = &mut self.deleted {
            match self.client.topics(topics, IfMissing::Wait, deleted.grace()).await {
                Err(error) if error.kind() == Kind::UnknownTopic => {
                    deleted.missed(&self.client.snapshot(), &self.idle, since);
                    self.skip_deleted();
                    return Ok(());
                }
                // It is the cluster that is slow.
                Err(error) if error.kind() == Kind::Timeout => {}
                found => return found.map(drop),
            }
        }
        self.client.topics(topics, IfMissing::Fail, self.options.timeout).await.map(drop)
    }

    /// Takes what is gone with its topic to be read.
    pub(crate) fn skip_deleted(&mut self) {
        let Some(deleted) = &mut self.deleted else { return };
        let gone = deleted.take_out(&self.client.snapshot(), &mut self.idle);
        let gaps =
            gone.into_iter().map(|gone| Gap { partition: gone.partition, from: gone.offset, to: gone.end });
        self.output.gaps.lock().extend(gaps);
    }

    /// The cursor, if it goes on. It reads no further in a topic that was deleted and made anew: where its
    /// offset happens to lie in the new log, other records are there. Who follows the log goes on at the
    /// start of the new one.
    pub(crate) fn in_its_topic(&self, mut cursor: Cursor, snapshot: &Snapshot) -> Result<Option<Cursor>> {
        if cursor.is_of(snapshot) {
            return Ok(Some(cursor));
        }
        let follows = cursor.end == FOLLOW;
        let words = format!(
            "the topic was deleted and made anew: the records from offset {} on are gone",
            cursor.offset
        );
        let to = if follows { 0 } else { cursor.end };
        self.pass_over(&cursor, to, Error::new(Kind::DataLoss, words))?;
        cursor.begin_anew(snapshot);
        Ok(follows.then_some(cursor))
    }

    /// Records up to an offset are gone: that is an error, or a gap if the options say so.
    fn pass_over(&self, cursor: &Cursor, to: i64, error: Error) -> Result<()> {
        if self.options.fail_on_data_loss {
            return Err(error.as_kind(Kind::DataLoss).at(&cursor.partition.0, cursor.partition.1));
        }
        let gap = Gap { partition: cursor.partition.clone(), from: cursor.offset, to };
        tracing::debug!(target: "ottla.fetch", ?gap, %error, "records are gone and skipped");
        self.output.gaps.lock().push(gap);
        Ok(())
    }

    /// The position is not in the log: records before its start were deleted, or the log was cut.
    /// Brokers tell only that (the error comes without the log's bounds), so they are asked.
    pub(crate) async fn process_out_of_range(&mut self, mut cursor: Cursor, error: Error) -> Result<()> {
        let (start, end) = match self.bounds(&cursor).await {
            Ok(bounds) => bounds,
            // Gone with its topic, perhaps.
            Err(error) if self.deleted.is_some() && error.is_transient() => {
                self.trouble = Some(error);
                self.idle.push_back(cursor);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if (start..=end).contains(&cursor.offset) {
            // A leader that was behind when it was asked.
            self.trouble = Some(cursor.fell_behind());
            self.idle.push_back(cursor);
            return Ok(());
        }
        let next = match start > cursor.offset {
            true => start.min(cursor.end),
            // Beyond the end: the log was cut, and who follows it goes on where it ends now.
            false if cursor.end == FOLLOW => end,
            false => cursor.end,
        };
        let words = format!(
            "records from offset {} to {next} are gone (the log holds {start} to {end}): they were deleted by retention, or the topic was made anew",
            cursor.offset
        );
        self.pass_over(&cursor, next, error.prefixed(words))?;
        cursor.offset = next;
        if cursor.offset < cursor.end {
            self.idle.push_back(cursor);
        }
        Ok(())
    }

    /// Where a partition's log starts and ends.
    async fn bounds(&self, cursor: &Cursor) -> Result<(i64, i64)> {
        let timeout = self.deleted.as_ref().map_or(self.options.timeout, Deleted::grace);
        let mut bounds = [-1; 2];
        for (bound, spec) in bounds.iter_mut().zip([OffsetSpec::Earliest, OffsetSpec::Latest]) {
            let wanted = [(cursor.partition.clone(), spec)];
            let found = self.client.list_offsets(wanted, self.options.read_committed, timeout).await?;
            *bound = found.get(&cursor.partition).map_or(-1, |listed| listed.offset);
        }
        let [start, end] = bounds;
        Ok((start, end))
    }
}
