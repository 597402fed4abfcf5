//! The state that the `Producer` handle and its sender task share.

use std::sync::Arc;

use ottla_protocol::records::{Compression, Compressor};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

use super::accumulator::Accumulator;
use super::refusal_message::log;
use super::refused_writes::{Notice, RefusedWrites};
use super::sending::Sending;
use super::topic_writer::TopicWriter;
use crate::cluster::Client;
use crate::config::Config;
use crate::error::{Error, Kind, Result};
use crate::metadata::{RefreshNeed, Snapshot, TopicSelector};
use crate::retry::persistent_failures::Place;
use crate::topic_partition::TopicPartition;

/// How long a partition that no broker knows is assumed not to exist.
const PARTITION_LOOKUP_INTERVAL: Duration = Duration::from_secs(1);

/// The shared state of one producer.
#[derive(Debug)]
pub(super) struct ProducerInner {
    pub(super) client: Client,
    pub(super) accumulator: Accumulator,
    /// The topics that the producer writes to.
    pub(super) topic_writers: RwLock<hashbrown::HashMap<Arc<str>, Arc<TopicWriter>>>,
    /// Wakes the sender's task.
    pub(super) wake: Notify,
    pub(super) sending: Mutex<Sending>,
    pub(super) refused: Mutex<RefusedWrites>,
    /// Idle compressors.
    pub(super) compressors: Mutex<Vec<Compressor>>,
    /// When an unknown partition was last looked up.
    partition_lookup_at: Mutex<Option<Instant>>,
    /// The last failed attempt to write records, and when it failed.
    last_failure: Mutex<Option<(Instant, Error)>>,
}

impl ProducerInner {
    pub(super) fn new(client: Client, accumulator: Accumulator) -> Self {
        Self {
            client,
            accumulator,
            topic_writers: RwLock::default(),
            wake: Notify::new(),
            sending: Mutex::default(),
            refused: Mutex::default(),
            compressors: Mutex::default(),
            partition_lookup_at: Mutex::default(),
            last_failure: Mutex::default(),
        }
    }

    pub(super) fn request_refresh(&self, need: RefreshNeed) {
        // A closed client fails the requests to come.
        let _ = self.client.request_refresh(need, TopicSelector::Tracked);
    }

    /// Warns about refused writes, or refreshes the metadata before that. Returns when to look again.
    pub(super) fn report_refused(&self, snapshot: &Snapshot, now: Instant) -> Option<Instant> {
        let mut refused = self.refused.lock();
        for notice in refused.poll(now) {
            match notice {
                Notice::Refresh => self.request_refresh(RefreshNeed::Stale(snapshot.generation)),
                notice => log(&notice, snapshot, self.client.config().delivery_timeout),
            }
        }
        refused.next_due()
    }

    /// Records that writing to `topic` has been failing since `since`; the client warns if that lasts.
    pub(super) fn record_failure(&self, topic: &str, error: &Error, since: Instant) {
        self.client.record_failure(format_args!("writing to {topic}"), error, since);
        self.keep_failure(error);
    }

    /// Records that records of a partition were written, which ends a warning about it.
    pub(super) fn record_success(&self, (topic, partition): &TopicPartition) {
        self.client.record_success(format_args!("writing to {topic}"), Place::Partition(*partition));
    }

    /// Keeps the error of a failed attempt for those who wait.
    pub(super) fn keep_failure(&self, error: &Error) {
        *self.last_failure.lock() = Some((Instant::now(), error.clone()));
    }

    /// The last failed attempt to write records, unless it was before `since`.
    pub(super) fn failure_since(&self, since: Instant) -> Option<Error> {
        self.last_failure.lock().as_ref().filter(|(at, _)| *at >= since).map(|(_, error)| error.clone())
    }

    /// Whether an unknown partition may be looked up now. The partition may not exist, and a program
    /// that keeps sending to it must not cause a request for each record.
    pub(super) fn may_look_up_partition(&self, now: Instant) -> bool {
        let mut last = self.partition_lookup_at.lock();
        let may = last.is_none_or(|last| now.saturating_duration_since(last) >= PARTITION_LOOKUP_INTERVAL);
        if may {
            *last = Some(now);
        }
        may
    }

    /// An idle compressor, or a new one.
    pub(super) fn compressor(&self) -> Result<Compressor> {
        if let Some(compressor) = self.compressors.lock().pop() {
            return Ok(compressor);
        }
        compressor(self.client.config())
    }
}

/// Creates a compressor with the configured codec and level.
pub(super) fn compressor(config: &Config) -> Result<Compressor> {
    let codec = config.compression_type;
    let level = match codec {
        // -1 selects the codec's own default.
        Compression::Gzip if config.compression_gzip_level != -1 => Some(config.compression_gzip_level),
        Compression::Lz4 => Some(config.compression_lz4_level),
        Compression::Zstd => Some(config.compression_zstd_level),
        Compression::None | Compression::Gzip | Compression::Snappy => None,
    };
    let compressor = match level {
        Some(level) => Compressor::with_level(codec, level),
        None => Compressor::new(codec),
    };
    compressor.map_err(|error| Error::new(Kind::Config, format!("compression.{codec}.level: {error}")))
}
