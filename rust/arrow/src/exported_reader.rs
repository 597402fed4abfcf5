//! `ExportedReader`: a reader of batches that code in C may call.
//!
//! Arrow's exporter panics on an error with a NUL character, and a panic that reaches code in C ends the process.
//!
//! Invariants: neither reading nor dropping it panics, and its errors contain no NUL. A reader that panicked is
//! dropped, and its panic is an error of this and every later call, never an end of the data.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

/// A reader for Arrow's C stream interface.
#[derive(Debug)]
pub struct ExportedReader<R> {
    schema: SchemaRef,
    /// `None` after a panic.
    reader: Option<R>,
}

impl<R: Iterator<Item = Result<RecordBatch, ArrowError>>> ExportedReader<R> {
    /// Wraps a reader of batches with this schema.
    pub fn new(schema: SchemaRef, reader: R) -> Self {
        Self { schema, reader: Some(reader) }
    }
}

impl<R: Iterator<Item = Result<RecordBatch, ArrowError>>> Iterator for ExportedReader<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = &mut self.reader;
        let next = catch_unwind(AssertUnwindSafe(|| reader.as_mut().map(Iterator::next)));
        let Ok(Some(next)) = next else {
            drop_quietly(&mut self.reader);
            return Some(Err(ArrowError::CDataInterface("the reader failed: this is a bug".to_owned())));
        };
        Some(next?.map_err(without_nul))
    }
}

impl<R: Iterator<Item = Result<RecordBatch, ArrowError>>> RecordBatchReader for ExportedReader<R> {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl<R> Drop for ExportedReader<R> {
    fn drop(&mut self) {
        drop_quietly(&mut self.reader);
    }
}

fn drop_quietly<R>(reader: &mut Option<R>) {
    let reader = reader.take();
    let _ = catch_unwind(AssertUnwindSafe(|| drop(reader)));
}

fn without_nul(error: ArrowError) -> ArrowError {
    let text = error.to_string();
    match text.contains('\0') {
        true => ArrowError::CDataInterface(text.replace('\0', "\\0")),
        false => error,
    }
}
