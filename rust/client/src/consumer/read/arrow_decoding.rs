//! Fetched record batches to rows of an Arrow batch: the one place where the consumer and a scan call the
//! decoder.
//!
//! Invariants: CRCs are not checked here. The fetcher has checked them, when it could still fetch a corrupt
//! batch again. Decoding stops at the end of an Arrow batch, whatever is left of a fetch.

use std::ops::Range;

use ottla_arrow::{
    ArrowDecoder, Column, DEFAULT_MAX_ROWS, DEFAULT_TARGET_BYTES, DecodeCause, DecodeError, DecoderConfig,
    OffsetRange, RecordsCursor,
};
use ottla_protocol::records::AbortedTransactions;

use crate::config::Config;
use crate::error::{Error, Kind, Result};
use crate::topic_partition::TopicPartition;
use crate::typed::{TypedColumns, bytes_columns};

/// The columns and the size limits of Arrow batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrowLayout {
    /// The columns, in order.
    pub columns: Vec<Column>,
    /// The columns among them that are decoded with a schema.
    pub typed: TypedColumns,
    /// The maximum number of rows of a batch; at least one.
    pub max_rows: usize,
    /// A batch is finished once keys, values and headers hold this many bytes; the last row may exceed them.
    pub target_bytes: usize,
}

impl Default for ArrowLayout {
    /// All columns but the headers, 50,000 rows and 4 MiB.
    fn default() -> Self {
        Self {
            columns: Column::ALL.into_iter().filter(|column| *column != Column::Headers).collect(),
            typed: TypedColumns::default(),
            max_rows: DEFAULT_MAX_ROWS,
            target_bytes: DEFAULT_TARGET_BYTES,
        }
    }
}

impl ArrowLayout {
    /// The largest `target_bytes`: Arrow's offsets have 32 bits.
    const MAX_TARGET_BYTES: usize = 1 << 30;

    pub(crate) fn decoder(&self, config: &Config) -> ArrowDecoder {
        let config = DecoderConfig {
            max_rows: self.max_rows.max(1),
            target_bytes: self.target_bytes.clamp(1, Self::MAX_TARGET_BYTES),
            max_decompressed: config.decompressed_batch_max,
        };
        ArrowDecoder::new(&bytes_columns(&self.columns, &self.typed), config)
    }
}

/// Decodes visible records whose offsets are in `offsets` until a batch of the decoder is finished, and returns
/// false, or until the end, and returns true. `aborted` filters the records of aborted transactions, for
/// `read_committed`.
pub(crate) fn decode_until_full(
    decoder: &mut ArrowDecoder,
    partition: &TopicPartition,
    cursor: &mut RecordsCursor,
    offsets: Range<i64>,
    aborted: Option<&mut AbortedTransactions>,
) -> Result<bool> {
    let (topic, number) = (&partition.0, partition.1);
    let range = OffsetRange { topic, partition: number, start: offsets.start, end: offsets.end };
    let decoded = decoder.decode(cursor, &range, aborted);
    decoded.map_err(|error| undecodable(error).at(topic, number))
}

/// Finishes the batch of the rows that were decoded so far.
pub(crate) fn flush(decoder: &mut ArrowDecoder) -> Result<()> {
    decoder.flush().map_err(|cause| Error::new(Kind::Protocol, cause.to_string()))
}

fn undecodable(error: DecodeError) -> Error {
    let context = format!("{}-{}, read up to offset {}", error.topic, error.partition, error.next_offset);
    let error = match error.cause {
        DecodeCause::Records(cause) => Error::from(cause),
        cause => Error::new(Kind::Protocol, cause.to_string()),
    };
    error.prefixed(context)
}
