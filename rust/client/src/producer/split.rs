//! Splits a batch that a broker rejected as too large.
//!
//! Invariant: the parts have the batch's records, in order and with the same sequence numbers, and
//! share its memory.

use std::sync::Arc;

use ottla_protocol::records::{BatchBuilder, Batches, Decompressor};

use super::batch::Batch;
use crate::error::{Error, Kind, Result};

/// Splits a closed batch of more than one record into two of about the same size.
pub(super) fn split(batch: &Batch) -> Result<Vec<Batch>> {
    let nothing = || Error::new(Kind::Config, "the batch has nothing to split");
    let closed = batch.closed().ok_or_else(nothing)?;
    // These bytes were encoded here, so their checksum need not be verified.
    let records = Batches::new(closed.clone()).check_crc(false).next().ok_or_else(nothing)??;
    let mut decompressor = Decompressor::with_limit(usize::MAX);
    let (mut total, mut count) = (0, 0);
    for record in records.records(&mut decompressor)? {
        let record = record?;
        total += record.value.map_or(0, <[u8]>::len) + record.key.map_or(0, <[u8]>::len) + 1;
        count += 1;
    }
    let mut builders = [BatchBuilder::new(total / 2), BatchBuilder::new(total / 2)];
    let (mut done, mut index, mut headers) = (0, 0, Vec::new());
    for record in records.records(&mut decompressor)? {
        let record = record?;
        headers.clear();
        headers.extend(record.headers);
        // The first record always goes left and the last one right, whatever their sizes.
        let right = index > 0 && (done >= total / 2 || index == count - 1);
        let [left_builder, right_builder] = &mut builders;
        let builder = if right { right_builder } else { left_builder };
        builder.append(record.timestamp, record.key, record.value, &headers)?;
        done += record.value.map_or(0, <[u8]>::len) + record.key.map_or(0, <[u8]>::len) + 1;
        index += 1;
    }
    let [left, right] = builders;
    if left.is_empty() || right.is_empty() {
        return Err(nothing());
    }
    let half = batch.reserved / 2;
    let tail = Arc::new(batch.part.split(left.len()));
    Ok(vec![
        batch.split_off(Arc::clone(&batch.part), left, batch.reserved - half),
        batch.split_off(tail, right, half),
    ])
}
