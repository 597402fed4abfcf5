//! `ExportedReader`, read through Arrow's C stream interface: errors and panics of the reader reach the consumer as
//! errors. Without it, each of these tests ended the process.

use std::sync::Arc;

use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Int32Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use ottla_arrow::ExportedReader;

type Next = Box<dyn FnMut() -> Option<Result<RecordBatch, ArrowError>> + Send>;

fn batch() -> RecordBatch {
    let schema = Schema::new(vec![Field::new("a", DataType::Int32, false)]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int32Array::from(vec![1, 2]))]).unwrap()
}

/// Exports a reader, and imports it again.
fn imported<R>(reader: R) -> ArrowArrayStreamReader
where
    R: Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'static,
{
    let exported = ExportedReader::new(batch().schema(), reader);
    ArrowArrayStreamReader::try_new(FFI_ArrowArrayStream::new(Box::new(exported))).unwrap()
}

fn next_error(reader: &mut ArrowArrayStreamReader) -> String {
    reader.next().unwrap().unwrap_err().to_string()
}

#[test]
fn batches_pass_unchanged() {
    let all: Result<Vec<_>, _> = imported([Ok(batch()), Ok(batch())].into_iter()).collect();
    assert_eq!(all.unwrap(), [batch(), batch()]);
}

#[test]
fn an_error_with_a_nul_character_is_an_error() {
    let error = ArrowError::ExternalError("a\0b".into());
    let mut reader = imported([Err(error), Ok(batch())].into_iter());
    assert!(next_error(&mut reader).contains("a\\0b"));
    assert_eq!(reader.next().unwrap().unwrap(), batch());
    assert!(reader.next().is_none());
}

#[test]
fn a_panic_is_an_error_and_never_the_end() {
    let mut calls = 0;
    let next: Next = Box::new(move || {
        calls += 1;
        assert!(calls < 2, "the reader panics");
        Some(Ok(batch()))
    });
    let mut reader = imported(std::iter::from_fn(next));
    assert_eq!(reader.next().unwrap().unwrap(), batch());
    for _ in 0..2 {
        assert!(next_error(&mut reader).contains("the reader failed"));
    }
}

#[test]
fn a_panic_while_dropping_is_caught() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropping panics");
        }
    }
    impl Iterator for Bomb {
        type Item = Result<RecordBatch, ArrowError>;
        fn next(&mut self) -> Option<Self::Item> {
            None
        }
    }
    let mut reader = imported(Bomb);
    assert!(reader.next().is_none());
    drop(reader);
}
