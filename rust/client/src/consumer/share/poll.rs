//! The wait of a poll, until an error or records are ready, and the polls of Rust programs.
//!
//! Invariants: a poll begins by acknowledging the records of the last one. It reports errors before records.
//! A cancelled poll loses nothing: what was acquired stays buffered.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use ottla_protocol::records::TimestampType;
use tokio::time::{Duration, Instant, sleep_until};

use super::ShareConsumer;
use super::shared::Shared;
use crate::consumer::ConvertError;
use crate::consumer::wait::check_woken;
use crate::error::{Error, Kind, Result};
use crate::retry;
use crate::topic_partition::TopicPartition;

/// How often iteration looks for errors and rebalances while it has buffered records.
const WAIT_INTERVAL: Duration = Duration::from_millis(100);

/// A delivered record.
#[derive(Debug, Clone)]
pub struct ShareRecord {
    /// The partition.
    pub partition: TopicPartition,
    /// The offset.
    pub offset: i64,
    /// Milliseconds since 1970; -1 if the record has none.
    pub timestamp: i64,
    /// Whether the producer or the broker set the timestamp.
    pub timestamp_type: TimestampType,
    /// The key.
    pub key: Option<Bytes>,
    /// The value.
    pub value: Option<Bytes>,
    /// Names and values of the headers.
    pub headers: Vec<(Bytes, Option<Bytes>)>,
    /// How often the record was delivered, to any member; 1 the first time.
    pub delivery_count: i16,
}

/// Marks the end of a poll, also of one whose future is dropped.
struct Polling<'a>(&'a Shared);

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_polling = false;
    }
}

impl ShareConsumer {
    /// Returns records as soon as there are any, at most `max_records`, or none after the timeout.
    ///
    /// # Errors
    /// [`Kind::State`] if nothing is subscribed, or a record of the last poll is not acknowledged with
    /// `share.acknowledgement.mode=explicit`; [`Kind::Wakeup`] after [`ShareConsumer::wakeup`]; and the errors
    /// of the group and of partitions.
    pub async fn poll(&self, timeout: Duration, max_records: usize) -> Result<Vec<ShareRecord>> {
        let deadline = retry::deadline(timeout);
        self.begin_poll()?;
        loop {
            if !self.wait_until_ready(deadline).await? {
                return Ok(Vec::new());
            }
            let records = self.pop_records(max_records.max(1), |set, entry, delivery_count| {
                let owned = Bytes::copy_from_slice;
                Ok::<_, ConvertError<Error>>(ShareRecord {
                    partition: set.partition.clone(),
                    offset: entry.offset,
                    timestamp: entry.timestamp,
                    timestamp_type: set.timestamp_type,
                    key: set.key(entry).map(owned),
                    value: set.value(entry).map(owned),
                    headers: set
                        .headers(entry)
                        .map(|(name, value)| (owned(name), value.map(owned)))
                        .collect(),
                    delivery_count,
                })
            })?;
            if !records.is_empty() {
                return Ok(records);
            }
        }
    }

    /// Begins a poll: acknowledges the records of the last one. Call it on a runtime, before
    /// [`ShareConsumer::wait_until_ready`].
    ///
    /// # Errors
    /// [`Kind::State`] if nothing is subscribed, or records are not acknowledged.
    pub fn begin_poll(&self) -> Result<()> {
        self.check_open()?;
        self.join()?;
        if self.topics.lock().is_empty() {
            return Err(Error::new(Kind::State, "nothing to poll: subscribe to topics first"));
        }
        self.shared.state.lock().begin_poll(Instant::now())?;
        self.shared.fetcher_wakeup.notify_one();
        Ok(())
    }

    /// Returns the error of a poll that was ended by [`ShareConsumer::wakeup`] or by closing.
    pub(super) fn check_woken(&self) -> Result<()> {
        check_woken(&self.woken, &self.closing, "share consumer")
    }

    /// Whether buffered records may be delivered without a wait: the last one is recent.
    #[must_use]
    pub fn has_buffered_records(&self) -> bool {
        let polled_at = *self.polled_at.lock();
        let is_recent = polled_at.is_some_and(|polled| polled.elapsed() < WAIT_INTERVAL);
        let is_woken = self.woken.load(Ordering::Acquire);
        is_recent && !is_woken && {
            let state = self.shared.state.lock();
            state.errors.is_empty() && !state.buffered.is_empty()
        }
    }

    /// Waits until records are buffered, and returns true, or until the deadline. Cancel-safe.
    pub async fn wait_until_ready(&self, deadline: Instant) -> Result<bool> {
        let _in_poll = self.shared.group.get().map(crate::consumer::group::Group::enter_poll);
        let _polling = Polling(&self.shared);
        *self.polled_at.lock() = Some(Instant::now());
        loop {
            let ready = self.shared.poll_wakeup.notified();
            tokio::pin!(ready);
            // From here on no wakeup is missed.
            ready.as_mut().enable();
            self.check_woken()?;
            self.check_open()?;
            self.join()?;
            self.process_group_events()?;
            if let Some(error) = self.shared.fatal_error.get() {
                return Err(error.clone());
            }
            let now = Instant::now();
            {
                let mut state = self.shared.state.lock();
                if let Some(error) = state.errors.pop_front() {
                    return Err(error);
                }
                state.drop_expired(now);
                if !state.buffered.is_empty() {
                    return Ok(true);
                }
                if deadline <= now {
                    return Ok(false);
                }
                if !std::mem::replace(&mut state.is_polling, true) {
                    self.shared.fetcher_wakeup.notify_one();
                }
            }
            let event = async {
                match self.shared.group.get() {
                    Some(group) => group.wait_for_event().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = ready => {}
                () = event => {}
                () = sleep_until(deadline) => {}
            }
        }
    }
}
