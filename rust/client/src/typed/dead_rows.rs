//! The rows of a batch that are dead letters.
//!
//! Invariant: a row is left out of the batch only after its dead letter was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use bytes::Bytes;
use ottla_arrow::{Column, DecodedBatch, PartitionSpan};
use ottla_schema::select_rows;

use super::batch_columns::column_of;
use super::dead_letters::{DeadLetter, DeadLetters, RecordId};

/// Dead letters to write, by where to write them.
pub(crate) type UnwrittenLetters = Vec<(Arc<DeadLetters>, Vec<DeadLetter>)>;

/// The rows that could not be decoded, with the reason and where their dead letters go.
#[derive(Debug, Default)]
pub(super) struct DeadRows(BTreeMap<usize, (Arc<DeadLetters>, String)>);

impl DeadRows {
    pub(super) fn add(&mut self, letters: &Arc<DeadLetters>, row: usize, reason: String) {
        match self.0.get_mut(&row) {
            Some((_, known)) => *known = format!("{known}; {reason}"),
            None => {
                self.0.insert(row, (Arc::clone(letters), reason));
            }
        }
    }

    /// Drops the rows from this one on.
    pub(super) fn truncate(&mut self, row: usize) {
        self.0.split_off(&row);
    }

    /// The dead letters of the batch that were not written yet.
    pub(super) fn unwritten(&self, columns: &[Column], source: &DecodedBatch) -> UnwrittenLetters {
        let mut groups = UnwrittenLetters::new();
        for (row, (letters, reason)) in &self.0 {
            let Some(id) = record_id(columns, source, *row) else { continue };
            if letters.is_written(&id) {
                continue;
            }
            let letter = dead_letter(columns, &source.batch, *row, id, reason.clone());
            match groups.iter_mut().find(|(known, _)| Arc::ptr_eq(known, letters)) {
                Some((_, group)) => group.push(letter),
                None => groups.push((Arc::clone(letters), vec![letter])),
            }
        }
        groups
    }

    /// The first `rows` rows of the decoded batch, without the dead ones.
    pub(super) fn without(
        &self,
        batch: &RecordBatch,
        rows: usize,
        columns: &[Column],
        source: &DecodedBatch,
    ) -> Result<RecordBatch, ArrowError> {
        let batch = batch.slice(0, rows);
        if self.0.is_empty() {
            return Ok(batch);
        }
        for (row, (letters, _)) in &self.0 {
            letters.forget(record_id(columns, source, *row).as_ref());
        }
        let alive: Vec<usize> = (0..rows).filter(|row| !self.0.contains_key(row)).collect();
        select_rows(&batch, alive.into_iter())
    }
}

/// The partition of a row, and its offset.
fn record_id(columns: &[Column], source: &DecodedBatch, row: usize) -> Option<RecordId> {
    let mut end = 0;
    let holds = |span: &&PartitionSpan| {
        end += span.rows;
        row < end
    };
    let span = source.spans.iter().find(holds)?;
    let offset =
        column_of(columns, &source.batch, Column::Offset)?.as_primitive_opt::<Int64Type>()?.value(row);
    Some((Arc::clone(&span.topic), span.partition, offset))
}

fn bytes_of(array: Option<&ArrayRef>, row: usize) -> Option<Bytes> {
    let array = array?.as_binary_opt::<i32>()?;
    array.is_valid(row).then(|| Bytes::copy_from_slice(array.value(row)))
}

fn dead_letter(
    columns: &[Column],
    batch: &RecordBatch,
    row: usize,
    (topic, partition, offset): RecordId,
    reason: String,
) -> DeadLetter {
    let bytes = |wanted| bytes_of(column_of(columns, batch, wanted), row);
    let timestamps = column_of(columns, batch, Column::Timestamp);
    let timestamps = timestamps.and_then(|array| array.as_primitive_opt::<TimestampMicrosecondType>());
    DeadLetter {
        topic,
        partition,
        offset,
        timestamp: timestamps
            .filter(|timestamps| timestamps.is_valid(row))
            .map_or(-1, |timestamps| timestamps.value(row).div_euclid(1_000)),
        key: bytes(Column::Key),
        value: bytes(Column::Value),
        headers: headers(column_of(columns, batch, Column::Headers), row).unwrap_or_default(),
        reason,
    }
}

fn headers(array: Option<&ArrayRef>, row: usize) -> Option<Vec<(Bytes, Option<Bytes>)>> {
    let lists = array?.as_list_opt::<i32>()?;
    if lists.is_null(row) {
        return None;
    }
    let entries = lists.value(row);
    let entries = entries.as_struct_opt()?;
    let keys = entries.column(0).as_string_opt::<i32>()?;
    let header =
        |at| (Bytes::copy_from_slice(keys.value(at).as_bytes()), bytes_of(entries.columns().get(1), at));
    Some((0..entries.len()).map(header).collect())
}
