//! Handles records of a scan that are gone: deleted with their topic, even if it was recreated, by
//! retention, or by log truncation.
//!
//! Invariant: they end the scan with an error or are recorded as a gap, as the options say.

use std::sync::Arc;

use tokio::time::Instant;

use crate::cluster::IfMissing;
use crate::consumer::scan::cursor::Cursor;
use crate::consumer::scan::deleted_topics::DeletedTopics;
use crate::consumer::scan::scan_fetcher::ScanFetcher;
use crate::consumer::scan::{FOLLOW, Gap};
use crate::error::{Error, Kind, Result};
use crate::metadata::Snapshot;
use crate::requests::OffsetSpec;

impl ScanFetcher {
    /// Waits until the topics are known; only briefly if the scan skips deleted ones.
    pub(crate) async fn wait_for_topics(&mut self, topics: &[Arc<str>]) -> Result<()> {
        let since = Instant::now();
        if let Some(deleted) = &mut self.deleted {
            match self.client.topics(topics, IfMissing::Wait, deleted.grace()).await {
                Err(error) if error.kind() == Kind::UnknownTopic => {
                    deleted.record_unknown(&self.client.snapshot(), &self.idle, since);
                    self.skip_deleted();
                    return Ok(());
                }
                // The cluster is slow.
                Err(error) if error.kind() == Kind::Timeout => {}
                found => return found.map(drop),
            }
        }
        self.client.topics(topics, IfMissing::Fail, self.options.timeout).await.map(drop)
    }

    /// Records the ranges of deleted topics as gaps.
    pub(crate) fn skip_deleted(&mut self) {
        let Some(deleted) = &mut self.deleted else { return };
        let removed = deleted.remove_deleted(&self.client.snapshot(), &mut self.idle);
        let gaps = removed.into_iter().map(|cursor| Gap {
            partition: cursor.partition,
            from: cursor.offset,
            to: cursor.end,
        });
        self.output.gaps.lock().extend(gaps);
    }

    /// Returns the cursor if it continues. The offset of a deleted topic is meaningless in the recreated
    /// one, so a bounded range ends there; with [`FOLLOW`] it continues at the start of the new topic.
    pub(crate) fn check_topic(&self, mut cursor: Cursor, snapshot: &Snapshot) -> Result<Option<Cursor>> {
        if cursor.is_same_topic(snapshot) {
            return Ok(Some(cursor));
        }
        let is_following = cursor.end == FOLLOW;
        let message = format!(
            "the topic was deleted and recreated: the records from offset {} on are gone",
            cursor.offset
        );
        let to = if is_following { 0 } else { cursor.end };
        self.skip_or_fail(&cursor, to, Error::new(Kind::DataLoss, message))?;
        cursor.restart_in_new_topic(snapshot);
        Ok(is_following.then_some(cursor))
    }

    /// Records a gap up to an offset, or fails if the options say so.
    fn skip_or_fail(&self, cursor: &Cursor, to: i64, error: Error) -> Result<()> {
        if self.options.fail_on_data_loss {
            return Err(error.as_kind(Kind::DataLoss).at(&cursor.partition.0, cursor.partition.1));
        }
        let gap = Gap { partition: cursor.partition.clone(), from: cursor.offset, to };
        tracing::debug!(target: "ottla.fetch", ?gap, %error, "skipped records that are gone");
        self.output.gaps.lock().push(gap);
        Ok(())
    }

    /// Handles an offset outside of the log: the records were deleted, or the log was truncated. The
    /// broker's error does not include the bounds of the log, so they are looked up.
    pub(crate) async fn process_out_of_range(&mut self, mut cursor: Cursor, error: Error) -> Result<()> {
        let (start, end) = match self.bounds(&cursor).await {
            Ok(bounds) => bounds,
            // The topic may be deleted, too.
            Err(error) if self.deleted.is_some() && error.is_transient() => {
                self.pending_error = Some(error);
                self.idle.push_back(cursor);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if (start..=end).contains(&cursor.offset) {
            // The leader lagged behind at the time.
            self.pending_error = Some(cursor.lagging_error());
            self.idle.push_back(cursor);
            return Ok(());
        }
        let next = match start > cursor.offset {
            true => start.min(cursor.end),
            // The log was truncated below the offset; with [`FOLLOW`] it continues at the new end.
            false if cursor.end == FOLLOW => end,
            false => cursor.end,
        };
        let message = format!(
            "the records from offset {} to {next} are gone (the log holds {start} to {end}): retention deleted them, or the topic was recreated",
            cursor.offset
        );
        self.skip_or_fail(&cursor, next, error.prefixed(message))?;
        cursor.offset = next;
        if cursor.offset < cursor.end {
            self.idle.push_back(cursor);
        }
        Ok(())
    }

    /// The start and the end of a partition's log.
    async fn bounds(&self, cursor: &Cursor) -> Result<(i64, i64)> {
        let timeout = self.deleted.as_ref().map_or(self.options.timeout, DeletedTopics::grace);
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
