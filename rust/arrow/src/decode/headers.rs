//! The headers column under construction: lists of structs with a string key and a binary value.

use std::mem;
use std::sync::Arc;

use arrow_array::{ListArray, StringArray, StructArray};
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer};
use arrow_schema::ArrowError;
use ottla_protocol::records::Headers;

use super::bytes::BytesColumn;
use crate::schema::{header_field, header_fields};

/// The maximum growth of a key: a byte that is not UTF-8 is replaced by the three bytes of U+FFFD.
pub(super) const MAX_GROWTH: usize = 3;

/// The bytes of a header's offsets.
const OFFSETS: usize = 2 * size_of::<i32>();

#[derive(Debug)]
pub(super) struct HeadersColumn {
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
    key_offsets: Vec<i32>,
    keys: String,
    values: BytesColumn,
}

impl HeadersColumn {
    /// Creates an empty column. Buffers of up to `max_pooled` bytes are reused.
    pub(super) fn new(max_pooled: usize) -> Self {
        Self {
            offsets: vec![0],
            nulls: NullBufferBuilder::new(0),
            key_offsets: vec![0],
            keys: String::new(),
            values: BytesColumn::new(true, max_pooled),
        }
    }

    pub(super) fn reserve(&mut self, rows: usize) {
        self.offsets.reserve(rows);
    }

    /// The length of all keys and values in bytes, with their offsets: headers may be many and empty.
    pub(super) fn len(&self) -> usize {
        self.keys.len() + self.values.len() + OFFSETS * (self.key_offsets.len() - 1)
    }

    /// An upper bound of the bytes that these headers add.
    #[inline]
    pub(super) fn bound(headers: &Headers<'_>) -> usize {
        if headers.is_empty() { 0 } else { headers.encoded_len().saturating_mul(MAX_GROWTH) }
    }

    #[inline]
    pub(super) fn push(&mut self, headers: &Headers<'_>) {
        if headers.is_empty() {
            self.nulls.append_null();
        } else {
            self.push_all(headers);
        }
        self.offsets.push((self.key_offsets.len() - 1) as i32);
    }

    /// Appends `rows` rows without headers.
    pub(super) fn push_none(&mut self, rows: usize) {
        self.nulls.append_n_nulls(rows);
        self.offsets.resize(self.offsets.len() + rows, (self.key_offsets.len() - 1) as i32);
    }

    fn push_all(&mut self, headers: &Headers<'_>) {
        self.nulls.append_non_null();
        for header in *headers {
            match str::from_utf8(header.key) {
                Ok(key) => self.keys.push_str(key),
                Err(_) => self.keys.push_str(&String::from_utf8_lossy(header.key)),
            }
            self.key_offsets.push(self.keys.len() as i32);
            self.values.push(header.value);
        }
    }

    pub(super) fn finish(&mut self) -> Result<ListArray, ArrowError> {
        let key_offsets = OffsetBuffer::new(mem::replace(&mut self.key_offsets, vec![0]).into());
        let keys = Buffer::from_vec(mem::take(&mut self.keys).into_bytes());
        let keys = StringArray::try_new(key_offsets, keys, None)?;
        let values = self.values.finish()?;
        let entries = StructArray::try_new(header_fields(), vec![Arc::new(keys), Arc::new(values)], None)?;
        let offsets = OffsetBuffer::new(mem::replace(&mut self.offsets, vec![0]).into());
        ListArray::try_new(header_field(), offsets, Arc::new(entries), self.nulls.finish())
    }
}
