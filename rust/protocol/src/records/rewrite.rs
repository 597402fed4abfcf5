//! Changes the header of a finished batch: for a producer whose epoch is bumped (KIP-360), and for the
//! mock broker, which appends batches.
//!
//! Invariant: a change of bytes that the CRC covers updates the CRC. Bytes with one owner are changed in
//! place, shared bytes are copied first.

use bytes::{Bytes, BytesMut};

use super::checksum::crc32c;
use super::layout::{
    ATTRIBUTES, BASE_OFFSET, BASE_SEQUENCE, CONTROL, CRC, LEADER_EPOCH, LENGTH, LOG_APPEND_TIME, MAGIC,
    MAX_TIMESTAMP, PREFIX, PRODUCER_EPOCH, PRODUCER_ID, RECORDS, TRANSACTIONAL, read_i8, read_i16, read_i32,
    write_i16, write_i32, write_i64, write_u32,
};
use super::{ProducerState, RecordError};

/// Sets the batch's producer id, epoch and sequence, and its transactional and control flags.
///
/// # Errors
/// [`RecordError::NotABatch`] unless `batch` is one whole batch of magic 2.
pub fn set_producer_state(batch: Bytes, producer: &ProducerState) -> Result<Bytes, RecordError> {
    let mut bytes = editable(batch)?;
    let mut attributes = read_i16(&bytes, ATTRIBUTES) & !(TRANSACTIONAL | CONTROL);
    if producer.transactional {
        attributes |= TRANSACTIONAL;
    }
    if producer.control {
        attributes |= CONTROL;
    }
    write_i16(&mut bytes, ATTRIBUTES, attributes);
    write_i64(&mut bytes, PRODUCER_ID, producer.producer_id);
    write_i16(&mut bytes, PRODUCER_EPOCH, producer.producer_epoch);
    write_i32(&mut bytes, BASE_SEQUENCE, producer.base_sequence);
    Ok(with_crc(bytes))
}

/// Sets the batch's base offset and leader epoch, as a broker does when it appends the batch. The CRC
/// does not cover them.
///
/// # Errors
/// [`RecordError::NotABatch`] unless `batch` is one whole batch of magic 2.
pub fn assign_base_offset(
    batch: Bytes,
    base_offset: i64,
    partition_leader_epoch: i32,
) -> Result<Bytes, RecordError> {
    let mut bytes = editable(batch)?;
    write_i64(&mut bytes, BASE_OFFSET, base_offset);
    write_i32(&mut bytes, LEADER_EPOCH, partition_leader_epoch);
    Ok(bytes.freeze())
}

/// Sets the timestamp of every record, as a broker does for `message.timestamp.type=LogAppendTime`.
///
/// # Errors
/// [`RecordError::NotABatch`] unless `batch` is one whole batch of magic 2.
pub fn set_log_append_time(batch: Bytes, timestamp: i64) -> Result<Bytes, RecordError> {
    let mut bytes = editable(batch)?;
    let attributes = read_i16(&bytes, ATTRIBUTES) | LOG_APPEND_TIME;
    write_i16(&mut bytes, ATTRIBUTES, attributes);
    write_i64(&mut bytes, MAX_TIMESTAMP, timestamp);
    Ok(with_crc(bytes))
}

fn editable(batch: Bytes) -> Result<BytesMut, RecordError> {
    let refuse = |reason| Err(RecordError::NotABatch { reason });
    if batch.len() < RECORDS {
        return refuse("the bytes are shorter than a header");
    }
    if read_i8(&batch, MAGIC) != 2 {
        return refuse("the magic is not 2");
    }
    if usize::try_from(read_i32(&batch, LENGTH)).ok() != Some(batch.len() - PREFIX) {
        return refuse("the length does not match the bytes");
    }
    Ok(batch.try_into_mut().unwrap_or_else(|shared| BytesMut::from(shared.as_ref())))
}

fn with_crc(mut bytes: BytesMut) -> Bytes {
    let crc = crc32c(bytes.get(ATTRIBUTES..).unwrap_or_default());
    write_u32(&mut bytes, CRC, crc);
    bytes.freeze()
}
