//! The topic column, which nearly always repeats one name.
//!
//! A column of one name is built once and then sliced, without a copy or a UTF-8 check for each batch.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, StringArray};
use arrow_schema::ArrowError;

use super::PartitionSpan;

#[derive(Debug)]
pub(super) struct TopicColumn {
    name: Arc<str>,
    cached: StringArray,
}

impl TopicColumn {
    pub(super) fn new() -> Self {
        Self { name: Arc::from(""), cached: StringArray::new_null(0) }
    }

    /// Returns the name as a shared string.
    pub(super) fn intern(&mut self, topic: &str) -> Arc<str> {
        if *self.name != *topic {
            self.name = Arc::from(topic);
            self.cached = StringArray::new_null(0);
        }
        Arc::clone(&self.name)
    }

    /// Builds the column for the rows of all spans, `rows` in all.
    pub(super) fn build(&mut self, spans: &[PartitionSpan], rows: usize) -> Result<StringArray, ArrowError> {
        let bytes = spans.iter().map(|span| span.rows.saturating_mul(span.topic.len())).sum();
        if bytes > i32::MAX as usize {
            return Err(ArrowError::OffsetOverflowError(bytes));
        }
        if spans.iter().any(|span| span.topic != self.name) {
            let mut names = StringBuilder::with_capacity(rows, bytes);
            for span in spans {
                (0..span.rows).for_each(|_| names.append_value(&span.topic));
            }
            return Ok(names.finish());
        }
        if self.cached.len() < rows {
            self.cached = StringArray::from_iter_values(std::iter::repeat_n(&*self.name, rows));
        }
        Ok(self.cached.slice(0, rows))
    }
}
