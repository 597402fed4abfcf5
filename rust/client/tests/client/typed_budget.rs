//! Proves: a batch of typed columns ends when its budget of bytes is spent, wherever it is read. The position moves with
//! the rows that are delivered, none is passed over or delivered twice, and a row that takes too much alone is an error
//! of its own.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use ottla_arrow::Column;
use ottla_client::consumer::{ArrowLayout, Range, Scan, ScanOptions};
use ottla_client::environment::BoxFuture;
use ottla_client::typed::{
    DeadLetter, DeadLetterSink, DeadLetters, DecodeMode, ERROR_COLUMN, FieldValue, ReaderSchemaSource,
    SubjectName, TypedColumn, TypedColumnOptions, TypedColumns,
};
use ottla_client::{Error, Kind, Result};
use ottla_mock::MockCluster;
use ottla_schema::{Header, ReaderOptions, RegisteredSchema, SchemaLimits, SchemaType, WireFormat};
use parking_lot::Mutex;
use tokio::time::Duration;

use crate::support::reader::{consumer, tp};
use crate::support::*;

/// A number, and items of which each null takes 100,000 bytes.
const SCHEMA: &str = r#"{"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"},
    {"name": "a", "type": {"type": "array", "items": ["null", {"type": "fixed", "name": "F", "size": 100000}]}}]}"#;

/// The budget, of about ten rows.
const BUDGET: usize = 1_000_000;
const ROWS: i64 = 40;
/// The row that takes 20 MB.
const BAD: i64 = 17;

fn typed(mode: DecodeMode) -> TypedColumns {
    let options = TypedColumnOptions {
        validation: None,
        header: Header::Value,
        reader: ReaderSchemaSource::Given(RegisteredSchema::new(SchemaType::Avro, SCHEMA)),
        part: ReaderOptions {
            limits: SchemaLimits { batch_bytes: BUDGET, ..SchemaLimits::default() },
            ..ReaderOptions::default()
        },
        subject: SubjectName::Topic,
        wire_format: WireFormat::None,
        mode,
    };
    TypedColumns { key: None, value: Some(Arc::new(TypedColumn::new(options, None).unwrap())) }
}

fn layout(mode: DecodeMode) -> ArrowLayout {
    ArrowLayout { columns: vec![Column::Value, Column::Offset], typed: typed(mode), ..ArrowLayout::default() }
}

/// Appends the rows in batches of records of different lengths.
fn append(cluster: &MockCluster) {
    let row = |row: i64| {
        let items = if row == BAD { vec![0x90, 0x03] } else { vec![0x02] };
        let count = if row == BAD { 200 } else { 1 };
        [vec![u8::try_from(row << 1).unwrap()], items, vec![0; count], vec![0]].concat()
    };
    for rows in [0..3, 3..31, 31..ROWS] {
        let rows: Vec<Vec<u8>> = rows.map(row).collect();
        let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        cluster.append("t", 0, &rows).unwrap();
    }
}

fn numbers(values: &ArrayRef) -> Vec<Option<i64>> {
    let values = values.as_struct();
    let numbers = values.column(0).as_primitive::<Int64Type>();
    (0..values.len()).map(|row| values.is_valid(row).then(|| numbers.value(row))).collect()
}

/// The offsets of a batch, each of which is the number in its row.
fn offsets(batch: &RecordBatch) -> Vec<i64> {
    let offsets = batch.column(1).as_primitive::<Int64Type>().values().to_vec();
    for (offset, number) in offsets.iter().zip(numbers(batch.column(0))) {
        assert_eq!(number, (*offset != BAD || number.is_some()).then_some(*offset));
    }
    assert!(batch.column(0).get_array_memory_size() < 3 * BUDGET);
    offsets
}

fn check_error(error: &Error) {
    let context = error.context();
    assert_eq!(error.kind(), Kind::Serialization);
    assert_eq!(
        (context.topic.as_deref(), context.partition, context.offset),
        (Some("t"), Some(0), Some(BAD))
    );
    assert!(error.to_string().contains("the schema multiplies"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_arrow_consumer_delivers_parts_and_stops_at_the_row_that_takes_too_much() {
    let cluster = cluster(1).await;
    append(&cluster);
    let consumer = consumer(&cluster, &[0], &[]).await;
    let layout = layout(DecodeMode::FailFast);
    let (mut read, mut batches) = (Vec::new(), 0);
    let error = loop {
        match within_deadline(consumer.poll_arrow(ms(1_000), &layout)).await {
            Ok(batch) => read.extend(offsets(&batch.unwrap())),
            Err(error) => break error,
        }
        batches += 1;
        assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), read.len() as i64);
    };
    check_error(&error);
    assert_eq!(read, (0..BAD).collect::<Vec<_>>());
    assert!(batches >= 2, "{batches}");
    consumer.seek(&tp(0), BAD + 1, None).unwrap();
    while read.len() < 39 {
        let batch = within_deadline(consumer.poll_arrow(ms(1_000), &layout)).await.unwrap().unwrap();
        read.extend(offsets(&batch));
        batches += 1;
        assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), read.len() as i64 + 1);
    }
    assert_eq!(read, (0..ROWS).filter(|row| *row != BAD).collect::<Vec<_>>());
    assert!((4..20).contains(&batches), "{batches}");
}

#[tokio::test(start_paused = true)]
async fn permissive_batches_read_on_past_the_row_that_takes_too_much() {
    let cluster = cluster(1).await;
    append(&cluster);
    let consumer = consumer(&cluster, &[0], &[]).await;
    let layout = layout(DecodeMode::Permissive);
    let (mut read, mut batches) = (Vec::new(), 0);
    while read.len() < 40 {
        let batch = within_deadline(consumer.poll_arrow(ms(1_000), &layout)).await.unwrap().unwrap();
        let errors = batch.column_by_name(ERROR_COLUMN).unwrap().as_string::<i32>().clone();
        for (row, offset) in offsets(&batch).into_iter().enumerate() {
            assert_eq!(errors.is_valid(row), offset == BAD);
            read.push(offset);
        }
        batches += 1;
    }
    assert_eq!(read, (0..ROWS).collect::<Vec<_>>());
    assert!((4..20).contains(&batches), "{batches}");
}

/// Keeps the offsets that are written.
#[derive(Debug, Default)]
struct Letters(Mutex<Vec<i64>>);

impl DeadLetterSink for Letters {
    fn write(&self, letters: Vec<DeadLetter>) -> BoxFuture<'_, Result<()>> {
        self.0.lock().extend(letters.iter().map(|letter| letter.offset));
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_that_takes_too_much_is_a_dead_letter() {
    let cluster = cluster(1).await;
    append(&cluster);
    let consumer = consumer(&cluster, &[0], &[]).await;
    let letters = Arc::new(Letters::default());
    let layout = layout(DecodeMode::DeadLetter(Arc::new(DeadLetters::new(letters.clone()))));
    let mut read = Vec::new();
    while read.len() < 39 {
        let batch = within_deadline(consumer.poll_arrow(ms(1_000), &layout)).await.unwrap().unwrap();
        read.extend(offsets(&batch));
    }
    assert_eq!(read, (0..ROWS).filter(|row| *row != BAD).collect::<Vec<_>>());
    assert_eq!(*letters.0.lock(), [BAD]);
    assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), ROWS);
}

#[tokio::test(start_paused = true)]
async fn a_scan_delivers_parts_of_a_batch() {
    let cluster = cluster(1).await;
    append(&cluster);
    let options = ScanOptions {
        fail_on_data_loss: true,
        read_committed: false,
        max_bytes: 1 << 20,
        timeout: Duration::from_secs(20),
    };
    for mode in [DecodeMode::Permissive, DecodeMode::FailFast] {
        let layout = layout(mode);
        layout.typed.resolve(&"t".into()).await.unwrap();
        let range = Range { partition: tp(0), start: 0, end: ROWS };
        let mut scan = Scan::start(client(&cluster, &[]).await, vec![range], options, &layout);
        let (mut read, mut batches) = (Vec::new(), 0);
        let error = loop {
            match within_deadline(scan.next_batch()).await {
                Ok(Some(batch)) => read.extend(offsets(&batch)),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
            batches += 1;
        };
        match error {
            Some(error) => {
                check_error(&error);
                assert_eq!(read, (0..BAD).collect::<Vec<_>>());
            }
            None => assert_eq!(read, (0..ROWS).collect::<Vec<_>>()),
        }
        assert!(batches >= 2, "{batches}");
    }
}

#[tokio::test(start_paused = true)]
async fn records_are_decoded_in_parts_of_their_batch() {
    let cluster = cluster(1).await;
    append(&cluster);
    let consumer = consumer(&cluster, &[0], &[]).await.with_typed_records(typed(DecodeMode::FailFast));
    let mut read = Vec::new();
    while read.len() < 40 {
        let sets = within_deadline(consumer.poll(ms(1_000), 500)).await.unwrap();
        assert!(!sets.is_empty());
        for set in sets {
            let values = set.typed.as_ref().and_then(|typed| typed.value.clone()).expect("it was decoded");
            for entry in &set.entries {
                match values.value(entry.row) {
                    Ok(value) => {
                        let FieldValue::Converted(array, _) = value else { panic!("{value:?}") };
                        assert_eq!(numbers(array)[entry.row], Some(entry.offset));
                        assert!(array.get_array_memory_size() < 3 * BUDGET);
                    }
                    Err(error) => {
                        assert_eq!((error.kind(), entry.offset), (Kind::Serialization, BAD));
                    }
                }
                read.push(entry.offset);
            }
        }
        assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), read.len() as i64);
    }
    assert_eq!(read, (0..ROWS).collect::<Vec<_>>());
}
