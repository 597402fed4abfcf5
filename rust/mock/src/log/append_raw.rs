//! Appends without a producer: by tests, batches of any content and transactions; by coordinators, markers.
//!
//! Invariant: a batch appended here is stored as a broker would store it.

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::records::control::{self, ControlType, build_marker};
use ottla_protocol::records::{
    BatchBuilder, Batches, Compression, Compressor, ProducerState, RecordError, rewrite,
};

use super::{PartitionLog, StoredBatch};
use crate::transaction::ProducerIdAndEpoch;

/// The end of a transaction in a partition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marker {
    pub(crate) producer: ProducerIdAndEpoch,
    pub(crate) commit: bool,
    pub(crate) coordinator_epoch: i32,
}

impl PartitionLog {
    /// Appends a batch of magic 2 without validation; its first record gets the next offset.
    pub(crate) fn append_raw(&mut self, bytes: Bytes, leader_epoch: i32) -> Result<i64, ErrorCode> {
        let corrupt = |_: RecordError| ErrorCode::CorruptMessage;
        let base_offset = self.high_watermark();
        let bytes = rewrite::assign_base_offset(bytes, base_offset, leader_epoch).map_err(corrupt)?;
        let mut batches = Batches::new(bytes.clone()).check_crc(false);
        let batch = batches.next().ok_or(ErrorCode::CorruptMessage)?.map_err(corrupt)?;
        self.push(StoredBatch {
            base_offset,
            last_offset: batch.last_offset(),
            leader_epoch,
            max_timestamp: batch.max_timestamp(),
            count: batch.count().and_then(|count| i32::try_from(count).ok()).unwrap_or(0),
            producer_id: batch.producer_id(),
            producer_epoch: batch.producer_epoch(),
            base_sequence: batch.base_sequence(),
            bytes,
        });
        Ok(base_offset)
    }

    /// Appends a batch of values; in a transaction if there is a producer id.
    pub(crate) fn append_values(
        &mut self,
        values: &[&[u8]],
        producer_id: Option<i64>,
        (leader_epoch, now): (i32, i64),
    ) -> Result<i64, ErrorCode> {
        let stamp = match producer_id {
            None => ProducerState::default(),
            Some(producer_id) => ProducerState {
                producer_id,
                producer_epoch: 0,
                base_sequence: self.producers.next_sequence(producer_id),
                transactional: true,
                control: false,
            },
        };
        let build = || {
            let mut builder = BatchBuilder::new(1024);
            values.iter().try_for_each(|value| builder.append(now, None, Some(value), &[]).map(drop))?;
            builder.finish(&stamp, &mut Compressor::new(Compression::None)?)
        };
        self.append_raw(build().map_err(|_| ErrorCode::InvalidRecord)?, leader_epoch)
    }

    /// Ends a producer's transaction with a control batch; returns its offset.
    pub(crate) fn end_transaction(
        &mut self,
        producer_id: i64,
        commit: bool,
        (leader_epoch, now): (i32, i64),
    ) -> Result<i64, ErrorCode> {
        let producer = ProducerIdAndEpoch { id: producer_id, epoch: 0 };
        self.write_marker(Marker { producer, commit, coordinator_epoch: 0 }, (leader_epoch, now))
    }

    /// Appends the marker of a coordinator; returns its offset.
    pub(crate) fn write_marker(
        &mut self,
        Marker { producer, commit, coordinator_epoch }: Marker,
        (leader_epoch, now): (i32, i64),
    ) -> Result<i64, ErrorCode> {
        let marker = build_marker(&control::Marker {
            control: if commit { ControlType::Commit } else { ControlType::Abort },
            producer_id: producer.id,
            producer_epoch: producer.epoch,
            coordinator_epoch,
            timestamp: now,
        });
        let marker = marker.map_err(|_| ErrorCode::UnknownServerError)?;
        let offset = self.append_raw(marker, leader_epoch)?;
        self.producers.set_coordinator_epoch(producer.id, coordinator_epoch);
        Ok(offset)
    }

    /// Fails if a marker comes from a fenced producer or coordinator.
    pub(crate) fn check_marker(
        &self,
        producer: ProducerIdAndEpoch,
        coordinator_epoch: i32,
    ) -> Result<(), ErrorCode> {
        self.producers.check_marker(producer, coordinator_epoch)
    }
}
