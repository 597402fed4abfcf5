//! Control batches: the markers that end transactions.
//!
//! Readers use them to find where an aborted transaction ends; the mock broker writes them.

use bytes::Bytes;

use super::{Batch, BatchBuilder, Compression, Compressor, Decompressor, ProducerState, RecordError};

/// The type of a control record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlType {
    /// The producer's transaction was aborted.
    Abort,
    /// The producer's transaction was committed.
    Commit,
    /// A type that only brokers use, by id.
    Other(i16),
}

impl ControlType {
    const fn id(self) -> i16 {
        match self {
            Self::Abort => 0,
            Self::Commit => 1,
            Self::Other(id) => id,
        }
    }

    const fn from_id(id: i16) -> Self {
        match id {
            0 => Self::Abort,
            1 => Self::Commit,
            id => Self::Other(id),
        }
    }
}

/// The end marker of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// Whether the transaction was committed or aborted.
    pub control: ControlType,
    /// The id of the transaction's producer.
    pub producer_id: i64,
    /// The epoch of the transaction's producer.
    pub producer_epoch: i16,
    /// The epoch of the coordinator that wrote the marker.
    pub coordinator_epoch: i32,
    /// The time of the marker in milliseconds since the epoch.
    pub timestamp: i64,
}

/// Builds a batch with one marker.
///
/// # Errors
/// Those of [`BatchBuilder`], which a batch this small never causes.
pub fn build_marker(marker: &Marker) -> Result<Bytes, RecordError> {
    let mut key = [0u8; 4];
    let mut value = [0u8; 6];
    // Both begin with version 0.
    key[2..].copy_from_slice(&marker.control.id().to_be_bytes());
    value[2..].copy_from_slice(&marker.coordinator_epoch.to_be_bytes());
    let mut builder = BatchBuilder::new(128);
    builder.append(marker.timestamp, Some(&key), Some(&value), &[])?;
    let producer = ProducerState {
        producer_id: marker.producer_id,
        producer_epoch: marker.producer_epoch,
        base_sequence: -1,
        transactional: true,
        control: true,
    };
    builder.finish(&producer, &mut Compressor::new(Compression::None)?)
}

/// Reads the type of the first record in a control batch. `None` if compaction has emptied the batch or
/// it is not a control batch.
///
/// # Errors
/// [`RecordError`] if the record is malformed.
pub fn read_control_type(
    batch: &Batch,
    decompressor: &mut Decompressor,
) -> Result<Option<ControlType>, RecordError> {
    if !batch.is_control() {
        return Ok(None);
    }
    let Some(record) = batch.records(decompressor)?.next().transpose()? else {
        return Ok(None);
    };
    let malformed = |reason| RecordError::Control { base_offset: batch.base_offset(), reason };
    // Later versions append fields to these two.
    let [v0, v1, t0, t1] = *record
        .key
        .and_then(|key| key.first_chunk::<4>())
        .ok_or_else(|| malformed("its key is shorter than 4 bytes"))?;
    if i16::from_be_bytes([v0, v1]) < 0 {
        return Err(malformed("its version is negative"));
    }
    Ok(Some(ControlType::from_id(i16::from_be_bytes([t0, t1]))))
}
