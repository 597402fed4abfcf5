//! [`RecordColumns`]: the rows of Arrow columns as records to send.
//!
//! Invariant: all types are checked when a [`RecordColumns`] is created, so reading a row cannot fail.

mod bytes;
mod error;
mod headers;
mod timestamps;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StructArray};
use arrow_schema::{DataType, Fields};
use ottla_protocol::records::{BatchBuilder, Header};

use crate::Column;
use bytes::BytesRef;
pub use error::ColumnsError;
use headers::HeadersRef;
use timestamps::TimestampsRef;

/// The columns of one batch of rows, found by name: `value` and, if present, `key`, `headers`,
/// `timestamp`, `partition` and `topic`. The other columns of a decoded batch (see [`Column`]) are
/// ignored, so that it can be sent unchanged. Any other column is an error, since its name may be a typo.
#[derive(Debug, Clone)]
pub struct RecordColumns<'a> {
    rows: usize,
    key: BytesRef<'a>,
    value: BytesRef<'a>,
    topic: BytesRef<'a>,
    headers: Option<HeadersRef<'a>>,
    timestamp: Option<TimestampsRef<'a>>,
    partition: Option<&'a Int32Array>,
}

/// One row without its headers: see [`RecordColumns::headers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value.
    pub value: Option<&'a [u8]>,
    /// The timestamp in milliseconds since the epoch, or null.
    pub timestamp: Option<i64>,
    /// The partition, or null.
    pub partition: Option<i32>,
}

impl<'a> RecordColumns<'a> {
    /// Takes the columns of a record batch.
    ///
    /// # Errors
    /// [`ColumnsError`], which names the column and the accepted types.
    pub fn try_new(batch: &'a RecordBatch) -> Result<Self, ColumnsError> {
        Self::from_parts(batch.num_rows(), batch.schema_ref().fields(), batch.columns())
    }

    /// Takes the columns of a struct array, the form of a batch in the C data interface.
    ///
    /// # Errors
    /// [`ColumnsError`], which names the column and the accepted types.
    pub fn from_struct(array: &'a StructArray) -> Result<Self, ColumnsError> {
        match array.null_count() {
            0 => Self::from_parts(array.len(), array.fields(), array.columns()),
            nulls => Err(ColumnsError::NullRows { nulls }),
        }
    }

    /// Takes a key column and a value column, without names.
    ///
    /// # Errors
    /// [`ColumnsError`], which names the column and the accepted types.
    pub fn from_arrays(key: Option<&'a dyn Array>, value: &'a dyn Array) -> Result<Self, ColumnsError> {
        let rows = value.len();
        let key = match key {
            Some(key) if key.len() == rows => BytesRef::try_new("key", key)?,
            Some(key) => return Err(ColumnsError::LengthMismatch { keys: key.len(), values: rows }),
            None => BytesRef::Null,
        };
        let value = BytesRef::try_new("value", value)?;
        Ok(Self { rows, key, value, topic: BytesRef::Null, headers: None, timestamp: None, partition: None })
    }

    fn from_parts(rows: usize, fields: &Fields, arrays: &'a [ArrayRef]) -> Result<Self, ColumnsError> {
        let find = |column: &'static str| {
            let mut found = fields.iter().zip(arrays).filter(|(field, _)| field.name() == column);
            match (found.next(), found.next()) {
                (_, Some(_)) => Err(ColumnsError::Duplicate { column }),
                (first, None) => Ok(first.map(|(_, array)| array.as_ref())),
            }
        };
        let bytes = |column: &'static str| match find(column)? {
            Some(array) => BytesRef::try_new(column, array).map(Some),
            None => Ok(None),
        };
        let Some(value) = bytes("value")? else {
            let found = fields.iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
            return Err(ColumnsError::MissingValue { found });
        };
        if let Some(field) = fields.iter().find(|field| field.name().parse::<Column>().is_err()) {
            return Err(ColumnsError::Unknown { column: field.name().clone() });
        }
        let topic = bytes("topic")?.unwrap_or(BytesRef::Null);
        if !topic.is_text() {
            let found = find("topic")?.map_or(DataType::Null, |array| array.data_type().clone());
            let accepted = "string, large_string, string_view or null";
            return Err(ColumnsError::Type { column: "topic", found, accepted });
        }
        Ok(Self {
            rows,
            key: bytes("key")?.unwrap_or(BytesRef::Null),
            value,
            topic,
            headers: find("headers")?.map(HeadersRef::try_new).transpose()?.flatten(),
            timestamp: find("timestamp")?.map(TimestampsRef::try_new).transpose()?.flatten(),
            partition: find("partition")?.map(partitions).transpose()?.flatten(),
        })
    }

    /// The number of rows.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether rows may have headers.
    #[must_use]
    pub const fn has_headers(&self) -> bool {
        self.headers.is_some()
    }

    /// The row at this index, if it exists.
    #[inline(always)]
    #[must_use]
    pub fn row(&self, row: usize) -> Option<Row<'a>> {
        (row < self.rows).then(|| Row {
            key: self.key.get(row),
            value: self.value.get(row),
            timestamp: self.timestamp.as_ref().and_then(|timestamps| timestamps.get(row)),
            partition: self.partition.and_then(|array| array.is_valid(row).then(|| array.value(row))),
        })
    }

    /// The highest partition of all rows.
    #[must_use]
    pub fn highest_partition(&self) -> Option<i32> {
        self.partition.and_then(|array| array.iter().flatten().max())
    }

    /// The topic of a row, or null.
    #[must_use]
    pub fn topic(&self, row: usize) -> Option<&'a str> {
        if row < self.rows { self.topic.get_text(row) } else { None }
    }

    /// Replaces the contents of `out` with a row's headers.
    #[inline]
    pub fn headers(&self, row: usize, out: &mut Vec<Header<'a>>) {
        out.clear();
        if let Some(headers) = &self.headers
            && row < self.rows
        {
            headers.read(row, out);
        }
    }

    /// Appends rows from `from` on to `builder`, until it holds `max_bytes` or the rows end, and
    /// returns the first row that was not appended. An empty builder always gets one row, as with a
    /// record larger than `batch.size`. A row without a timestamp gets `now`.
    ///
    /// # Errors
    /// [`ColumnsError::Record`] for a row that no batch can hold; the rows before it are appended.
    pub fn append(
        &self,
        builder: &mut BatchBuilder,
        from: usize,
        max_bytes: usize,
        now: i64,
    ) -> Result<usize, ColumnsError> {
        let mut headers = Vec::new();
        let mut at = from;
        while let Some(row) = self.row(at) {
            if self.has_headers() {
                self.headers(at, &mut headers);
            }
            let bound = BatchBuilder::upper_bound(row.key, row.value, &headers);
            if !builder.is_empty() && builder.size_in_bytes() + bound > max_bytes {
                break;
            }
            builder
                .append(row.timestamp.unwrap_or(now), row.key, row.value, &headers)
                .map_err(|source| ColumnsError::Record { row: at, source })?;
            at += 1;
        }
        Ok(at)
    }
}

fn partitions(array: &dyn Array) -> Result<Option<&Int32Array>, ColumnsError> {
    if array.data_type() == &DataType::Null {
        return Ok(None);
    }
    array.as_primitive_opt::<Int32Type>().map(Some).ok_or_else(|| ColumnsError::Type {
        column: "partition",
        found: array.data_type().clone(),
        accepted: "int32 or null",
    })
}
