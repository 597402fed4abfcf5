//! Rows of a `send_batch` that were read and serialized: they can be sent without the GIL.

use ottla_arrow::RecordColumns;
use ottla_client::{Error, Kind, Result};

use crate::producer::arrow_rows::{Pair, all_columns};
use crate::producer::record::OwnedRecord;
use crate::typed::{BatchEncoders, SchemaIdHeaders};

/// Rows that can be sent without the GIL.
pub(crate) enum OwnedRows {
    Arrow(Vec<Pair>, SchemaIdHeaders),
    /// Columns that are not encoded yet.
    Typed(Vec<Pair>, BatchEncoders),
    Lists(Vec<OwnedRecord>),
    /// Rows whose interceptors are notified of each.
    Intercepted(Vec<OwnedRecord>),
}

impl OwnedRows {
    /// The intercepted rows, if there are any.
    pub(crate) fn into_intercepted(self) -> Vec<OwnedRecord> {
        match self {
            Self::Intercepted(rows) => rows,
            Self::Arrow(..) | Self::Typed(..) | Self::Lists(_) => Vec::new(),
        }
    }

    /// The rows with encoded keys and values.
    pub(crate) async fn encoded(self, topic: &str) -> Result<Self> {
        let Self::Typed(pairs, encoders) = self else { return Ok(self) };
        let (pairs, schema_ids) = encoders.encode(topic, pairs).await?;
        all_columns(&pairs).map_err(|error| Error::new(Kind::Config, error.to_string()))?;
        Ok(Self::Arrow(pairs, schema_ids))
    }

    /// The highest partition that a row names.
    pub(crate) fn highest_partition(&self) -> Option<i32> {
        match self {
            Self::Lists(rows) | Self::Intercepted(rows) => rows.iter().filter_map(|row| row.partition).max(),
            // Known once they are encoded.
            Self::Typed(..) => None,
            Self::Arrow(pairs, _) => {
                let all = all_columns(pairs).unwrap_or_default();
                all.iter().filter_map(RecordColumns::highest_partition).max()
            }
        }
    }
}
