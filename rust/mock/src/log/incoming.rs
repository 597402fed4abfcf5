//! A batch that a producer sends: what a broker checks before it looks at any log.
//!
//! Invariant: a [`Checked`] batch is one whole batch of magic 2 with a right CRC, whose records can
//! all be read and have offsets without gaps.

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::records::{Batch, Batches, Compression, Decompressor, RecordError};

/// An error and, where Kafka has more to say, a message.
pub(crate) type Refused = (ErrorCode, &'static str);

/// Before this version of Produce a client may not know zstd.
const ZSTD_SINCE: i16 = 7;

/// A batch that may be appended.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) batch: Batch,
    pub(crate) count: i32,
    /// Whether all records have a key, as compaction needs.
    pub(crate) keyed: bool,
}

/// Checks the records that a Produce request of `version` has for one partition.
pub(crate) fn check(records: Option<&Bytes>, version: i16) -> Result<Checked, Refused> {
    let invalid = |why| Err((ErrorCode::InvalidRecord, why));
    let Some(records) = records.filter(|records| !records.is_empty()) else {
        return invalid("a partition has no records");
    };
    let mut batches = Batches::new(records.clone());
    let batch = match batches.next() {
        Some(batch) => batch.map_err(|error| refusal(&error))?,
        None => return Err((ErrorCode::CorruptMessage, "the batch is cut off")),
    };
    if !batches.rest().is_empty() {
        return invalid("a partition's records are more than one batch");
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
        return invalid("the batch's count does not fit its offsets");
    }
    let keyed = check_records(&batch)?;
    Ok(Checked { batch, count, keyed })
}

fn check_records(batch: &Batch) -> Result<bool, Refused> {
    let (mut next, mut keyed, mut gaps) = (batch.base_offset(), true, false);
    let mut decompressor = Decompressor::new();
    let visited = batch.records(&mut decompressor).and_then(|mut records| {
        records.try_for_each(|record| {
            let record = record?;
            gaps |= record.offset != next;
            keyed &= record.key.is_some();
            // The first offset is the producer's word, up to the largest there is.
            next = next.wrapping_add(1);
            Ok::<_, RecordError>(())
        })
    });
    match visited {
        Err(error) => Err(refusal(&error)),
        Ok(()) if gaps => Err((ErrorCode::InvalidRecord, "the records' offsets have gaps")),
        Ok(()) => Ok(keyed),
    }
}

fn refusal(error: &RecordError) -> Refused {
    match error {
        RecordError::Crc { .. } => (ErrorCode::CorruptMessage, "the batch's checksum is wrong"),
        RecordError::BatchLength { .. } => (ErrorCode::CorruptMessage, "no batch has that length"),
        RecordError::Codec { .. } => (ErrorCode::UnsupportedCompressionType, "no codec has that number"),
        RecordError::Magic { .. } => (ErrorCode::InvalidRecord, "no batch has that magic"),
        _ => (ErrorCode::InvalidRecord, "the batch's records cannot be read"),
    }
}
