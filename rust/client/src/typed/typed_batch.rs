//! Replaces the bytes of keys and values in an Arrow batch by typed columns.
//!
//! Invariants: the batch that is decoded also has the columns that decoding needs, which the result does not.
//! Rows and their spans stay together; spans count dead letters, too. With [`DecodeMode::FailFast`], the rows before the first error are
//! returned, and the rest is kept. Rows beyond the budget of a batch are kept, too.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use ottla_arrow::{Column, DecodedBatch, PartitionSpan};
use ottla_schema::{ArrowRows, DEFAULT_BATCH_BYTES, Header, RowError};

use super::batch_columns::{headers, offset};
use super::dead_rows::{DeadRows, UnwrittenLetters};
use super::payload_validator::InvalidPayloads;
use super::typed_column::{DecodeMode, TypedColumn};
use crate::error::{Error, Kind, Result};

/// The column that says why a row could not be decoded, with [`DecodeMode::Permissive`].
pub const ERROR_COLUMN: &str = "_error";

/// The typed columns of a batch.
#[derive(Debug, Clone, Default)]
pub struct TypedColumns {
    /// The keys; `None` keeps their bytes.
    pub key: Option<Arc<TypedColumn>>,
    /// The values.
    pub value: Option<Arc<TypedColumn>>,
}

impl PartialEq for TypedColumns {
    /// Whether both decode with the same columns, not with equal ones.
    fn eq(&self, other: &Self) -> bool {
        let is_same = |a: &Option<Arc<TypedColumn>>, b: &Option<Arc<TypedColumn>>| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        is_same(&self.key, &other.key) && is_same(&self.value, &other.value)
    }
}

impl Eq for TypedColumns {}

/// The keys and the values of some records that are invalid.
#[derive(Debug, Default)]
pub struct InvalidFields {
    key: InvalidPayloads,
    value: InvalidPayloads,
}

impl InvalidFields {
    pub(crate) fn of(&self, header: Header) -> &InvalidPayloads {
        match header {
            Header::Key => &self.key,
            Header::Value => &self.value,
        }
    }

    pub(crate) fn of_mut(&mut self, header: Header) -> &mut InvalidPayloads {
        match header {
            Header::Key => &mut self.key,
            Header::Value => &mut self.value,
        }
    }
}

/// A batch after its decoding.
#[derive(Debug)]
pub(crate) struct TypedOutcome {
    /// The rows before the first error, or before the end of the budget; `None` if there are none.
    pub(crate) decoded: Option<DecodedBatch>,
    /// The bytes of the rows after them.
    pub(crate) rest: Option<DecodedBatch>,
    /// Why the first of the rest cannot be decoded; `None` if only the budget was spent.
    pub(crate) error: Option<Error>,
    /// Rows to [write](TypedColumns::write) before the batch is decoded again. Nothing was decoded then.
    pub(crate) dead_letters: UnwrittenLetters,
}

/// The columns of bytes to read for the requested ones.
pub(crate) fn bytes_columns(requested: &[Column], typed: &TypedColumns) -> Vec<Column> {
    let mut columns = requested.to_vec();
    let mut add = |column: Column| {
        if !columns.contains(&column) {
            columns.push(column);
        }
    };
    for column in typed.each() {
        // An error names the offset.
        add(Column::Offset);
        if column.needs_headers() {
            add(Column::Headers);
        }
        if matches!(column.mode(), DecodeMode::DeadLetter(_)) {
            for needed in [Column::Key, Column::Value, Column::Timestamp, Column::Headers] {
                add(needed);
            }
        }
    }
    columns
}

impl TypedColumns {
    /// Whether no column is typed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.key.is_none() && self.value.is_none()
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = &Arc<TypedColumn>> {
        self.key.iter().chain(&self.value)
    }

    /// The bytes after which a batch of these columns ends.
    pub(crate) fn batch_bytes(&self) -> usize {
        self.each().map(|column| column.batch_bytes()).min().unwrap_or(DEFAULT_BATCH_BYTES)
    }

    /// Looks up the schemas that a batch needs, and returns the payloads that are invalid. Cancel-safe.
    pub(crate) async fn load(&self, requested: &[Column], batch: &DecodedBatch) -> Result<InvalidFields> {
        let mut invalid = InvalidFields::default();
        let columns = bytes_columns(requested, self);
        let headers = headers(&columns, &batch.batch);
        for typed in self.each() {
            for span in &batch.spans {
                typed.resolve(&span.topic).await?;
            }
            let column = bytes(&columns, &batch.batch, typed)?;
            *invalid.of_mut(typed.header()) = typed.load(&ArrowRows { column, headers }).await?;
        }
        Ok(invalid)
    }

    /// Writes dead letters. Cancel-safe.
    pub(crate) async fn write(letters: UnwrittenLetters) -> Result<()> {
        for (sink, letters) in letters {
            sink.write(letters).await?;
        }
        Ok(())
    }

    /// Looks up the readers' schemas before anything is read.
    ///
    /// # Errors
    /// As for [`TypedColumn::resolve`].
    pub async fn resolve(&self, topic: &Arc<str>) -> Result<()> {
        for typed in self.each() {
            typed.resolve(topic).await?;
        }
        Ok(())
    }

    /// The schema of batches with the requested columns; `None` before the readers' schemas were resolved.
    #[must_use]
    pub fn schema(&self, requested: &[Column]) -> Option<SchemaRef> {
        let mut fields = Vec::with_capacity(requested.len() + 1);
        for column in requested {
            fields.push(match self.of(*column) {
                Some(typed) => Arc::new(Field::new(column.name(), typed.data_type()?, true)),
                None => column.field(),
            });
        }
        if self.has_errors() {
            fields.push(Arc::new(Field::new(ERROR_COLUMN, DataType::Utf8, true)));
        }
        Some(Arc::new(Schema::new(fields)))
    }

    fn of(&self, column: Column) -> Option<&Arc<TypedColumn>> {
        match column {
            Column::Key => self.key.as_ref(),
            Column::Value => self.value.as_ref(),
            _ => None,
        }
    }

    /// Whether batches have the column of errors.
    fn has_errors(&self) -> bool {
        self.each().any(|typed| matches!(typed.mode(), DecodeMode::Permissive))
    }

    /// Decodes a batch whose schemas were loaded.
    pub(crate) fn decode(
        &self,
        requested: &[Column],
        source: DecodedBatch,
        invalid: &InvalidFields,
    ) -> Result<TypedOutcome> {
        let columns = bytes_columns(requested, self);
        let headers = headers(&columns, &source.batch);
        let mut arrays: Vec<ArrayRef> =
            source.batch.columns().iter().take(requested.len()).cloned().collect();
        let mut messages: Vec<Option<String>> = Vec::new();
        let mut fatal: Option<(&TypedColumn, RowError)> = None;
        let mut dead = DeadRows::default();
        // A column may end before the others: its budget is spent.
        let mut end = source.batch.num_rows();
        for typed in self.each() {
            let at = requested.iter().position(|column| column.name() == typed.name());
            let column = bytes(&columns, &source.batch, typed)?.slice(0, end);
            let decoded =
                typed.decode(&ArrowRows { column: &column, headers }, invalid.of(typed.header()))?;
            end = end.min(decoded.array.len());
            if let Some(array) = at.and_then(|at| arrays.get_mut(at)) {
                *array = decoded.array;
            }
            match typed.mode() {
                DecodeMode::FailFast => {
                    let first = decoded.errors.into_iter().next();
                    fatal = [fatal, first.map(|error| (&**typed, error))]
                        .into_iter()
                        .flatten()
                        .min_by_key(|(_, error)| error.row);
                    continue;
                }
                DecodeMode::DeadLetter(letters) => {
                    for error in decoded.errors {
                        dead.add(letters, error.row, format!("{}: {error}", typed.name()));
                    }
                    continue;
                }
                DecodeMode::Permissive => {}
            }
            messages.resize(source.batch.num_rows(), None);
            for error in decoded.errors {
                let message = format!("{}: {error}", typed.name());
                if let Some(slot) = messages.get_mut(error.row) {
                    *slot =
                        Some(slot.take().map_or_else(|| message.clone(), |key| format!("{key}; {message}")));
                }
            }
        }
        if self.has_errors() {
            messages.resize(end, None);
            arrays.push(Arc::new(StringArray::from(messages)));
        }
        let fatal = fatal.filter(|(_, error)| error.row < end);
        if let Some((_, error)) = &fatal {
            end = error.row;
        }
        dead.truncate(end);
        let unwritten = dead.unwritten(&columns, &source);
        if !unwritten.is_empty() {
            return Ok(TypedOutcome { decoded: None, rest: None, error: None, dead_letters: unwritten });
        }
        let malformed = |error: &dyn std::fmt::Display| Error::new(Kind::Internal, error.to_string());
        let schema = self.schema(requested).ok_or_else(|| malformed(&"no schema"))?;
        let arrays = arrays.into_iter().map(|array| array.slice(0, end)).collect();
        let batch = RecordBatch::try_new(schema, arrays).map_err(|error| malformed(&error))?;
        let batch = dead.without(&batch, end, &columns, &source).map_err(|error| malformed(&error))?;
        let dead_letters = UnwrittenLetters::new();
        let rows = source.batch.num_rows();
        if end == rows {
            let decoded = Some(DecodedBatch { batch, spans: source.spans });
            return Ok(TypedOutcome { decoded, rest: None, error: None, dead_letters });
        }
        let offset = offset(&columns, &source.batch, end);
        let (before, after) = split_spans(source.spans, end, offset);
        let error = fatal.map(|(typed, error)| {
            let message = format!("the {} cannot be decoded: {error}", typed.name());
            let error = Error::new(Kind::Serialization, message).offset(offset);
            match after.first() {
                Some(span) => error.at(&span.topic, span.partition),
                None => error,
            }
        });
        let rest = Some(DecodedBatch { batch: source.batch.slice(end, rows - end), spans: after });
        let decoded = (end > 0).then_some(DecodedBatch { batch, spans: before });
        Ok(TypedOutcome { decoded, rest, error, dead_letters })
    }
}

/// Splits spans before a row, whose offset is the position after the rows before it.
fn split_spans(
    spans: Vec<PartitionSpan>,
    row: usize,
    offset: i64,
) -> (Vec<PartitionSpan>, Vec<PartitionSpan>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut left = row;
    for span in spans {
        if span.rows <= left {
            left -= span.rows;
            before.push(span);
        } else {
            if left > 0 {
                before.push(PartitionSpan { rows: left, next_offset: offset, ..span.clone() });
            }
            after.push(PartitionSpan { rows: span.rows - left, ..span });
            left = 0;
        }
    }
    (before, after)
}

fn bytes<'a>(columns: &[Column], batch: &'a RecordBatch, typed: &TypedColumn) -> Result<&'a BinaryArray> {
    let at = columns.iter().position(|column| column.name() == typed.name());
    let array = at.and_then(|at| batch.columns().get(at)).and_then(|array| array.as_binary_opt());
    array.ok_or_else(|| {
        let message = format!("the {0} is decoded, but the column {0} is not among columns", typed.name());
        Error::new(Kind::Config, message)
    })
}
