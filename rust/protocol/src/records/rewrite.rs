//! Changing the header of a finished batch: a producer that takes a new epoch (KIP-360), a broker
//! that appends.
//!
//! Invariant: what the CRC covers is never changed without the CRC. Bytes that nobody else holds
//! are changed in place, others are copied first.

use bytes::{Bytes, BytesMut};

use super::checksum::crc32c;
use super::layout::{
    ATTRIBUTES, BASE_OFFSET, BASE_SEQUENCE, CONTROL, CRC, LEADER_EPOCH, LENGTH, LOG_APPEND_TIME, MAGIC,
    MAX_TIMESTAMP, PREFIX, PRODUCER_EPOCH, PRODUCER_ID, RECORDS, TRANSACTIONAL, read_i8, read_i16, read_i32,
    write_i16, write_i32, write_i64, write_u32,
};
use super::{RecordError, Stamp};

/// Gives the batch another producer id, epoch and sequence, and other flags.
///
/// # Errors
/// [`RecordError::NotABatch`] unless `batch` is one whole batch of magic 2.
pub fn restamp(batch: Bytes, stamp: &Stamp) -> Result<Bytes, RecordError> {
    let mut bytes = editable(batch)?;
    let mut attributes = read_i16(&bytes, ATTRIBUTES) & !(TRANSACTIONAL | CONTROL);
    if stamp.transactional {
        attributes |= TRANSACTIONAL;
    }
    if stamp.control {
        attributes |= CONTROL;
    }
    write_i16(&mut bytes, ATTRIBUTES, attributes);
    write_i64(&mut bytes, PRODUCER_ID, stamp.producer_id);
    write_i16(&mut bytes, PRODUCER_EPOCH, stamp.producer_epoch);
    write_i32(&mut bytes, BASE_SEQUENCE, stamp.base_sequence);
    Ok(sealed(bytes))
}

/// Gives the batch its place in a log: the CRC does not cover that.
///
/// # Errors
/// [`RecordError::NotABatch`] unless `batch` is one whole batch of magic 2.
pub fn place(batch: Bytes, base_offset: i64, partition_leader_epoch: i32) -> Result<Bytes, RecordError> {
    let mut bytes = editable(batch)?;
    write_i64(&mut bytes, BASE_OFFSET, base_offset);
    write_i32(&mut bytes, LEADER_EPOCH, partition_leader_epoch);
    Ok(bytes.freeze())
}

/// Makes `timestamp` that of every record, as a topic with `message.timestamp.type=LogAppendTime`
/// does.
///
/// # Errors
/// [`RecordError::NotABatch`] unless `batch` is one whole batch of magic 2.
pub fn set_log_append_time(batch: Bytes, timestamp: i64) -> Result<Bytes, RecordError> {
    let mut bytes = editable(batch)?;
    let attributes = read_i16(&bytes, ATTRIBUTES) | LOG_APPEND_TIME;
    write_i16(&mut bytes, ATTRIBUTES, attributes);
    write_i64(&mut bytes, MAX_TIMESTAMP, timestamp);
    Ok(sealed(bytes))
}

fn editable(batch: Bytes) -> Result<BytesMut, RecordError> {
    let no = |why| Err(RecordError::NotABatch { why });
    if batch.len() < RECORDS {
        return no("the bytes are shorter than a header");
    }
    if read_i8(&batch, MAGIC) != 2 {
        return no("its magic is not 2");
    }
    if usize::try_from(read_i32(&batch, LENGTH)).ok() != Some(batch.len() - PREFIX) {
        return no("the bytes are not one whole batch");
    }
    Ok(batch.try_into_mut().unwrap_or_else(|shared| BytesMut::from(shared.as_ref())))
}

fn sealed(mut bytes: BytesMut) -> Bytes {
    let crc = crc32c(bytes.get(ATTRIBUTES..).unwrap_or_default());
    write_u32(&mut bytes, CRC, crc);
    bytes.freeze()
}
