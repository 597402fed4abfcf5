//! Validates a producer's batch before it is appended to any log.
//!
//! Invariant: a [`ValidatedBatch`] is one complete batch of magic 2 with a valid CRC; all its records are
//! readable and their offsets have no gaps.

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::records::{Batch, Batches, Compression, Decompressor, RecordError};

/// An error code and a message; empty if Kafka adds none.
pub(crate) type AppendError = (ErrorCode, &'static str);

/// The first version of Produce that allows zstd.
const ZSTD_SINCE: i16 = 7;

/// A batch that passed validation.
#[derive(Debug)]
pub(crate) struct ValidatedBatch {
    pub(crate) batch: Batch,
    pub(crate) count: i32,
    /// Whether all records have keys, which compaction requires.
    pub(crate) keyed: bool,
}

/// Validates one partition's records in a Produce request of `version`.
pub(crate) fn validate(records: Option<&Bytes>, version: i16) -> Result<ValidatedBatch, AppendError> {
    let invalid = |why| Err((ErrorCode::InvalidRecord, why));
    let Some(records) = records.filter(|records| !records.is_empty()) else {
        return invalid("a partition has no records");
    };
    let mut batches = Batches::new(records.clone());
    let batch = match batches.next() {
        Some(batch) => batch.map_err(|error| append_error(&error))?,
        None => return Err((ErrorCode::CorruptMessage, "the batch is cut off")),
    };
    if !batches.rest().is_empty() {
        return invalid("a partition has more than one batch");
    }
    if batch.magic() != 2 {
        return invalid("produce requests carry batches of magic 2");
    }
    if batch.is_control() {
        return invalid("only brokers write control batches");
    }
    if batch.compression() == Compression::Zstd && version < ZSTD_SINCE {
        return Err((ErrorCode::UnsupportedCompressionType, "zstd needs Produce 7"));
    }
    let count = batch.count().and_then(|count| i32::try_from(count).ok()).unwrap_or(0);
    if count == 0 || batch.last_offset() - batch.base_offset() != i64::from(count) - 1 {
        return invalid("the record count does not match the batch's offsets");
    }
    let keyed = validate_records(&batch)?;
    Ok(ValidatedBatch { batch, count, keyed })
}

fn validate_records(batch: &Batch) -> Result<bool, AppendError> {
    let (mut next, mut keyed, mut gaps) = (batch.base_offset(), true, false);
    let mut decompressor = Decompressor::new();
    let visited = batch.records(&mut decompressor).and_then(|mut records| {
        records.try_for_each(|record| {
            let record = record?;
            gaps |= record.offset != next;
            keyed &= record.key.is_some();
            // The first offset is the producer's choice and may be the largest possible.
            next = next.wrapping_add(1);
            Ok::<_, RecordError>(())
        })
    });
    match visited {
        Err(error) => Err(append_error(&error)),
        Ok(()) if gaps => Err((ErrorCode::InvalidRecord, "the records' offsets have gaps")),
        Ok(()) => Ok(keyed),
    }
}

fn append_error(error: &RecordError) -> AppendError {
    match error {
        RecordError::Crc { .. } => (ErrorCode::CorruptMessage, "the batch's checksum is wrong"),
        RecordError::BatchLength { .. } => (ErrorCode::CorruptMessage, "invalid batch length"),
        RecordError::Codec { .. } => (ErrorCode::UnsupportedCompressionType, "unknown compression codec"),
        RecordError::Magic { .. } => (ErrorCode::InvalidRecord, "unknown magic"),
        _ => (ErrorCode::InvalidRecord, "the batch's records cannot be read"),
    }
}
