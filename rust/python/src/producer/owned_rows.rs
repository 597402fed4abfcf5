//! Rows of a `send_batch` that were read and serialized: they can be sent without the GIL.

use ottla_arrow::RecordColumns;

use crate::convert::record::OwnedRecord;
use crate::producer::arrow_rows::{Pair, all_columns};

/// Rows that can be sent without the GIL.
pub(crate) enum OwnedRows {
    Arrow(Vec<Pair>),
    Lists(Vec<OwnedRecord>),
    /// Rows whose interceptors are notified of each.
    Intercepted(Vec<OwnedRecord>),
}

impl OwnedRows {
    /// The intercepted rows, if there are any.
    pub(crate) fn into_intercepted(self) -> Vec<OwnedRecord> {
        match self {
            Self::Intercepted(rows) => rows,
            Self::Arrow(_) | Self::Lists(_) => Vec::new(),
        }
    }

    /// The highest partition that a row names.
    pub(crate) fn highest_partition(&self) -> Option<i32> {
        match self {
            Self::Lists(rows) | Self::Intercepted(rows) => rows.iter().filter_map(|row| row.partition).max(),
            Self::Arrow(pairs) => {
                let all = all_columns(pairs).unwrap_or_default();
                all.iter().filter_map(RecordColumns::highest_partition).max()
            }
        }
    }
}
