//! Drives the state of a share consumer in unit tests, with a manual clock, fixed leaders and real batches.

use std::sync::Arc;

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::messages::share_acknowledge::{
    self, ShareAcknowledgeRequest, ShareAcknowledgeResponse, ShareAcknowledgeTopicResponse,
};
use ottla_protocol::messages::share_fetch::{
    AcquiredRecords, PartitionData, ShareFetchRequest, ShareFetchResponse, ShareFetchableTopicResponse,
};
use ottla_protocol::records::{BatchBuilder, Compression, Compressor, Decompressor, ProducerState};
use ottla_protocol::wire::Uuid;
use tokio::time::{Duration, Instant};

use super::acknowledgements::AcknowledgeType;
use super::read::DecodedFetch;
use super::schedule::LeaderRequest;
use super::state::{ShareSettings, ShareState};
use crate::config::{ShareAcknowledgementMode, ShareAcquireMode};
use crate::error::{Error, Kind};
use crate::metadata::Snapshot;
use crate::topic_partition::TopicPartition;

pub(super) const TOPIC: Uuid = Uuid([1; 16]);
/// The pause after each failure.
pub(super) const BACKOFF: Duration = Duration::from_millis(50);
pub(super) const LOCK: Duration = Duration::from_secs(30);

/// A state and its clock. Partition n of topic `t` has broker `leaders[n]` as its leader.
pub(super) struct Harness {
    pub(super) state: ShareState,
    pub(super) now: Instant,
    pub(super) snapshot: Snapshot,
}

/// The part of a response for one partition of `t`.
pub(super) fn fetched(partition_index: i32, records: Bytes, acquired: &[(i64, i64)]) -> PartitionData {
    let acquired = acquired.iter().map(|(first_offset, last_offset)| AcquiredRecords {
        first_offset: *first_offset,
        last_offset: *last_offset,
        delivery_count: 1,
    });
    PartitionData {
        partition_index,
        records: Some(records),
        acquired_records: acquired.collect(),
        ..Default::default()
    }
}

pub(super) fn response(partitions: Vec<PartitionData>) -> ShareFetchResponse {
    let topic = ShareFetchableTopicResponse { topic_id: TOPIC, partitions };
    let acquisition_lock_timeout_ms = i32::try_from(LOCK.as_millis()).unwrap();
    ShareFetchResponse { acquisition_lock_timeout_ms, responses: vec![topic], ..Default::default() }
}

/// One batch of `count` records from `first` on.
pub(super) fn batch(first: i64, count: i64) -> Bytes {
    let mut builder = BatchBuilder::new(0);
    for _ in 0..count {
        builder.append(0, None, Some(b"value"), &[]).unwrap();
    }
    let mut compressor = Compressor::new(Compression::None).unwrap();
    let mut batch = builder.finish(&ProducerState::default(), &mut compressor).unwrap().to_vec();
    // The checksum does not cover the base offset.
    batch[..8].copy_from_slice(&first.to_be_bytes());
    batch.into()
}

pub(super) fn lost() -> Error {
    Error::new(Kind::Connection, "connection lost")
}

/// Acknowledgements as a request carries them: partition, first and last offset, type.
pub(super) type Sent = Vec<(i32, i64, i64, i8)>;

impl Harness {
    pub(super) fn new(mode: ShareAcknowledgementMode, leaders: &[i32]) -> Self {
        let settings = ShareSettings {
            group_id: "g".into(),
            mode,
            acquire_mode: ShareAcquireMode::BatchOptimized,
            max_wait: Duration::from_millis(500),
            min_bytes: 1,
            max_bytes: 1 << 20,
            max_records: 500,
            check_crcs: true,
        };
        let mut harness =
            Self { state: ShareState::new(settings), now: Instant::now(), snapshot: Snapshot::default() };
        harness.lead(leaders);
        let count = i32::try_from(leaders.len()).unwrap();
        harness.assign(&(0..count).collect::<Vec<_>>());
        harness
    }

    pub(super) fn explicit(leaders: &[i32]) -> Self {
        Self::new(ShareAcknowledgementMode::Explicit, leaders)
    }

    /// Gives the partitions these leaders.
    pub(super) fn lead(&mut self, leaders: &[i32]) {
        let partitions = leaders.iter().zip(0..).map(|(leader, partition_index)| MetadataResponsePartition {
            partition_index,
            leader_id: *leader,
            leader_epoch: 1,
            ..Default::default()
        });
        let topic = MetadataResponseTopic {
            name: Some("t".to_owned()),
            topic_id: TOPIC,
            partitions: partitions.collect(),
            ..Default::default()
        };
        let broker =
            |node_id| MetadataResponseBroker { node_id, host: "b".to_owned(), port: 1, ..Default::default() };
        let brokers = (0..4).map(broker).collect();
        let response = MetadataResponse { brokers, topics: vec![topic], ..Default::default() };
        self.snapshot = Snapshot::default().updated(response, true);
    }

    pub(super) fn assign(&mut self, partitions: &[i32]) {
        let partitions = partitions.iter().map(|partition| tp(*partition)).collect();
        self.state.assign("m".into(), partitions);
    }

    /// The requests that are due, by leader.
    pub(super) fn due(&mut self) -> Vec<(i32, LeaderRequest)> {
        self.state.schedule(&self.snapshot, self.now).requests
    }

    /// The only request that is due, which is a fetch.
    pub(super) fn fetch(&mut self) -> (i32, ShareFetchRequest) {
        match <[_; 1]>::try_from(self.due()) {
            Ok([(leader, LeaderRequest::Fetch(request))]) => (leader, request),
            other => panic!("no fetch: {other:?}"),
        }
    }

    /// The only request that is due, which is a ShareAcknowledge.
    pub(super) fn acknowledge(&mut self) -> (i32, ShareAcknowledgeRequest) {
        match <[_; 1]>::try_from(self.due()) {
            Ok([(leader, LeaderRequest::Acknowledge(request))]) => (leader, request),
            other => panic!("no acknowledgement: {other:?}"),
        }
    }

    pub(super) fn assert_idle(&mut self) {
        let due = self.due();
        assert!(due.is_empty(), "{due:?}");
    }

    pub(super) fn fetched(&mut self, leader: i32, partitions: Vec<PartitionData>) {
        self.state.process_fetch(leader, Ok(response(partitions)), self.now, |_| BACKOFF);
    }

    pub(super) fn fetch_refused(&mut self, leader: i32, code: ErrorCode) {
        let refused = ShareFetchResponse { error_code: code.code(), ..Default::default() };
        self.state.process_fetch(leader, Ok(refused), self.now, |_| BACKOFF);
    }

    pub(super) fn fetch_lost(&mut self, leader: i32) {
        self.state.process_fetch(leader, Err(lost()), self.now, |_| BACKOFF);
    }

    pub(super) fn acknowledge_lost(&mut self, leader: i32) {
        self.state.process_acknowledge(leader, Err(lost()), self.now, |_| BACKOFF);
    }

    pub(super) fn acknowledge_refused(&mut self, leader: i32, code: ErrorCode) {
        let refused = ShareAcknowledgeResponse { error_code: code.code(), ..Default::default() };
        self.state.process_acknowledge(leader, Ok(refused), self.now, |_| BACKOFF);
    }

    /// Responds to a ShareAcknowledge, with a code for each partition.
    pub(super) fn acknowledged(&mut self, leader: i32, partitions: &[(i32, ErrorCode)]) {
        let partitions = partitions.iter().map(|(partition_index, code)| share_acknowledge::PartitionData {
            partition_index: *partition_index,
            error_code: code.code(),
            ..Default::default()
        });
        let topic = ShareAcknowledgeTopicResponse { topic_id: TOPIC, partitions: partitions.collect() };
        let response = ShareAcknowledgeResponse { responses: vec![topic], ..Default::default() };
        self.state.process_acknowledge(leader, Ok(response), self.now, |_| BACKOFF);
    }

    /// Polls, and reads a fetch of `count` records from `first` on of partition 0, of `leader`.
    pub(super) fn read(&mut self, leader: i32, first: i64, count: i64) -> Vec<i64> {
        self.poll();
        assert_eq!(self.fetch().0, leader);
        self.fetched(leader, vec![fetched(0, batch(first, count), &[(first, first + count - 1)])]);
        self.deliver(usize::MAX)
    }

    pub(super) fn poll(&mut self) {
        self.state.begin_poll(self.now).expect("acknowledged");
    }

    /// Ends the poll, and delivers at most `limit` buffered records; returns their offsets.
    pub(super) fn deliver(&mut self, limit: usize) -> Vec<i64> {
        self.state.is_polling = false;
        self.state.drop_expired(self.now);
        let mut offsets = Vec::new();
        while offsets.len() < limit
            && let Some(fetch) = self.state.buffered.front().cloned()
        {
            let mut decoded = DecodedFetch::new(&fetch, 0, &mut Decompressor::new());
            let mut delivered = Vec::new();
            while offsets.len() < limit
                && let Some((_, entry)) = decoded.next()
            {
                offsets.push(entry.offset);
                delivered.push((entry.offset, 1));
                decoded.next_index += 1;
            }
            let is_exhausted = decoded.is_exhausted();
            self.state.deliver(&fetch, &delivered);
            if is_exhausted {
                self.state.finish_front(decoded.malformed.take(), self.now);
            }
        }
        offsets
    }

    pub(super) fn mark(&mut self, offsets: (i64, i64), how: AcknowledgeType) {
        self.state.delivered.acknowledge_offsets("t", 0, offsets, how).expect("delivered");
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// The results since the last call: first and last offset, and the error's code.
    pub(super) fn results(&mut self) -> Vec<(i64, i64, Option<ErrorCode>)> {
        let results = std::mem::take(&mut self.state.results);
        let rows = results.iter().flat_map(|result| {
            let code =
                result.error.as_ref().map(|error| error.code().unwrap_or(ErrorCode::UnknownServerError));
            result.offsets.iter().map(move |(first, last)| (*first, *last, code))
        });
        rows.collect()
    }
}

pub(super) fn tp(partition: i32) -> TopicPartition {
    (Arc::from("t"), partition)
}

/// The acknowledgements in a fetch.
pub(super) fn piggybacked(request: &ShareFetchRequest) -> Sent {
    let partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
    let batches = partitions.flat_map(|partition| {
        let batches = partition.acknowledgement_batches.iter();
        batches.map(|batch| {
            (partition.partition_index, batch.first_offset, batch.last_offset, batch.acknowledge_types[0])
        })
    });
    batches.collect()
}

/// The acknowledgements in a ShareAcknowledge.
pub(super) fn sent(request: &ShareAcknowledgeRequest) -> Sent {
    let partitions = request.topics.iter().flat_map(|topic| &topic.partitions);
    let batches = partitions.flat_map(|partition| {
        let batches = partition.acknowledgement_batches.iter();
        batches.map(|batch| {
            (partition.partition_index, batch.first_offset, batch.last_offset, batch.acknowledge_types[0])
        })
    });
    batches.collect()
}
