//! Control batches: the markers that end transactions.
//!
//! A reader needs them to know where an aborted transaction ends, a broker (the mock) writes them.

use bytes::Bytes;

use super::{Batch, BatchBuilder, Compression, Compressor, RecordError, Scratch, Stamp};

/// What a control record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlType {
    /// The producer's transaction was aborted.
    Abort,
    /// The producer's transaction was committed.
    Commit,
    /// Something for brokers among themselves, by number.
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

/// Who ended the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// Whether it was committed.
    pub control: ControlType,
    /// The transaction's producer.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// The epoch of the coordinator that wrote the marker.
    pub coordinator_epoch: i32,
    /// When, in milliseconds since the epoch.
    pub timestamp: i64,
}

/// A batch with one marker.
///
/// # Errors
/// Only those of [`BatchBuilder`], which such a batch does not reach.
pub fn build_marker(marker: &Marker) -> Result<Bytes, RecordError> {
    let mut key = [0u8; 4];
    let mut value = [0u8; 6];
    // Both start with version 0.
    key[2..].copy_from_slice(&marker.control.id().to_be_bytes());
    value[2..].copy_from_slice(&marker.coordinator_epoch.to_be_bytes());
    let mut builder = BatchBuilder::new(128);
    builder.append(marker.timestamp, Some(&key), Some(&value), &[])?;
    let stamp = Stamp {
        producer_id: marker.producer_id,
        producer_epoch: marker.producer_epoch,
        base_sequence: -1,
        transactional: true,
        control: true,
    };
    builder.finish(&stamp, &mut Compressor::new(Compression::None)?)
}

/// What the first record of a control batch says. `None` if compaction has emptied the batch, or
/// it is no control batch.
///
/// # Errors
/// [`RecordError`] if the record is malformed.
pub fn read_control_type(batch: &Batch, scratch: &mut Scratch) -> Result<Option<ControlType>, RecordError> {
    if !batch.is_control() {
        return Ok(None);
    }
    let Some(record) = batch.records(scratch)?.next().transpose()? else {
        return Ok(None);
    };
    let malformed = |why| RecordError::Control { base_offset: batch.base_offset(), why };
    // Later versions add fields behind these two.
    let [v0, v1, t0, t1] = *record
        .key
        .and_then(|key| key.first_chunk::<4>())
        .ok_or_else(|| malformed("its key is shorter than 4 bytes"))?;
    if i16::from_be_bytes([v0, v1]) < 0 {
        return Err(malformed("its version is negative"));
    }
    Ok(Some(ControlType::from_id(i16::from_be_bytes([t0, t1]))))
}
