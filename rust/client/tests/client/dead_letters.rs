//! Proves: records that cannot be decoded are written to a topic, whole and with the reason, before their batch
//! is delivered without them; a topic that cannot be written is an error and passes nothing over; polls that
//! end meanwhile do not write them again; a topic cannot have its own dead letters.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use ottla_arrow::Column;
use ottla_client::consumer::{ArrowLayout, Consumer, Range, Scan, ScanOptions};
use ottla_client::environment::BoxFuture;
use ottla_client::producer::Producer;
use ottla_client::typed::{
    DeadLetter, DeadLetterSink, DeadLetterTopic, DeadLetters, DecodeMode, ReaderSchemaSource, SubjectName,
    TypedColumn, TypedColumnOptions, TypedColumns,
};
use ottla_client::{Error, Kind, Result};
use ottla_schema::{Header, ReaderOptions, RegisteredSchema, SchemaType, WireFormat};
use parking_lot::Mutex;
use tokio::time::{Duration, sleep};

use crate::support::reader::{consumer, tp};
use crate::support::{self, *};

/// Keeps what is written, after a delay and the failures of the first calls.
#[derive(Debug, Default)]
struct Letters {
    written: Mutex<Vec<DeadLetter>>,
    calls: Mutex<usize>,
    failures: Mutex<Vec<Error>>,
    delay: Duration,
}

impl DeadLetterSink for Letters {
    fn write(&self, letters: Vec<DeadLetter>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            *self.calls.lock() += 1;
            sleep(self.delay).await;
            if let Some(error) = self.failures.lock().pop() {
                return Err(error);
            }
            self.written.lock().extend(letters);
            Ok(())
        })
    }
}

fn layout(sink: Arc<dyn DeadLetterSink>) -> ArrowLayout {
    let options = TypedColumnOptions {
        validation: None,
        header: Header::Value,
        reader: ReaderSchemaSource::Given(RegisteredSchema::new(SchemaType::Avro, "\"long\"")),
        part: ReaderOptions::default(),
        subject: SubjectName::Topic,
        wire_format: WireFormat::None,
        mode: DecodeMode::DeadLetter(Arc::new(DeadLetters::new(sink))),
    };
    let typed = TypedColumns { key: None, value: Some(Arc::new(TypedColumn::new(options, None).unwrap())) };
    ArrowLayout { columns: vec![Column::Value, Column::Offset], typed, ..ArrowLayout::default() }
}

fn rows(batch: &RecordBatch) -> Vec<(i64, i64)> {
    let column = |at: usize| batch.column(at).as_primitive::<Int64Type>().values().to_vec();
    column(0).into_iter().zip(column(1)).collect()
}

async fn poll(consumer: &Consumer, layout: &ArrowLayout, timeout: u64) -> Result<Option<RecordBatch>> {
    within_deadline(consumer.poll_arrow(ms(timeout), layout)).await
}

async fn position(consumer: &Consumer) -> i64 {
    consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn records_that_cannot_be_decoded_are_written_before_the_others_are_delivered() {
    let cluster = cluster(1).await;
    cluster.append("t", 0, &[&[2], b"bad\xff", &[4], &[], &[6]]).unwrap();
    let consumer = consumer(&cluster, &[0], &[]).await;
    let letters = Arc::new(Letters::default());
    let layout = layout(letters.clone());
    let batch = poll(&consumer, &layout, 1_000).await.unwrap().unwrap();
    assert_eq!(rows(&batch), [(1, 0), (2, 2), (3, 4)]);
    assert_eq!(position(&consumer).await, 5);
    let written = letters.written.lock();
    let places: Vec<_> =
        written.iter().map(|letter| (&*letter.topic, letter.partition, letter.offset)).collect();
    assert_eq!(places, [("t", 0, 1), ("t", 0, 3)]);
    assert_eq!(written[0].value.as_deref(), Some(&b"bad\xff"[..]));
    assert!(written[0].reason.starts_with("value: "), "{}", written[0].reason);
}

#[tokio::test(start_paused = true)]
async fn letters_that_cannot_be_written_are_an_error_and_nothing_is_passed_over() {
    let cluster = cluster(1).await;
    cluster.append("t", 0, &[b"bad\xff", &[4]]).unwrap();
    let consumer = consumer(&cluster, &[0], &[]).await;
    let failure = || Error::new(Kind::Timeout, "the topic cannot be written");
    let letters =
        Arc::new(Letters { failures: Mutex::new(vec![failure(), failure()]), ..Letters::default() });
    let layout = layout(letters.clone());
    for _ in 0..2 {
        let error = poll(&consumer, &layout, 1_000).await.unwrap_err();
        assert_eq!((error.kind(), position(&consumer).await), (Kind::Timeout, 0));
    }
    let batch = poll(&consumer, &layout, 1_000).await.unwrap().unwrap();
    assert_eq!(rows(&batch), [(2, 1)]);
    assert_eq!(letters.written.lock().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn polls_that_end_while_letters_are_written_do_not_write_them_again() {
    let cluster = cluster(1).await;
    cluster.append("t", 0, &[b"bad\xff", b"bad\xff"]).unwrap();
    let consumer = consumer(&cluster, &[0], &[]).await;
    let letters = Arc::new(Letters { delay: ms(1_000), ..Letters::default() });
    let layout = layout(letters.clone());
    let mut polls = 0;
    let batch = loop {
        polls += 1;
        assert!(polls < 100, "the letters were never written");
        if let Some(batch) = poll(&consumer, &layout, 100).await.unwrap() {
            break batch;
        }
        assert_eq!(position(&consumer).await, 0);
    };
    assert!(polls > 5, "{polls}");
    assert_eq!((batch.num_rows(), position(&consumer).await), (0, 2));
    assert_eq!((letters.written.lock().len(), *letters.calls.lock()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_topic_gets_the_whole_record_with_the_reason_in_headers() {
    let cluster = cluster(1).await;
    cluster.append("t", 0, &[&[2], b"bad\xff"]).unwrap();
    let client = client(&cluster, &[]).await;
    let producer = Producer::new(client.clone()).unwrap();
    let layout = layout(Arc::new(DeadLetterTopic::new(producer, "dead")));
    let options = ScanOptions {
        fail_on_data_loss: true,
        read_committed: false,
        max_bytes: 1 << 20,
        timeout: Duration::from_secs(20),
    };
    layout.typed.resolve(&"t".into()).await.unwrap();
    let range = Range { partition: tp(0), start: 0, end: 2 };
    let mut scan = Scan::start(client, vec![range], options, &layout);
    let batch = within_deadline(scan.next_batch()).await.unwrap().unwrap();
    assert_eq!(rows(&batch), [(1, 0)]);
    assert!(within_deadline(scan.next_batch()).await.unwrap().is_none());
    let reader = Consumer::new(support::client(&cluster, &[("auto.offset.reset", "earliest")]).await);
    reader.assign([("dead".into(), 0)].into()).unwrap();
    let sets = within_deadline(reader.poll(ms(10_000), 10)).await.unwrap();
    let set = sets.first().expect("a dead letter");
    let entry = set.entries.first().expect("a dead letter");
    assert_eq!(set.value(entry), Some(&b"bad\xff"[..]));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers: Vec<(String, String)> =
        set.headers(entry).map(|(key, value)| (text(key), text(value.unwrap_or_default()))).collect();
    assert!(headers[0].1.starts_with("value: "), "{headers:?}");
    let expected = ["__ottla.errors.topic", "__ottla.errors.partition", "__ottla.errors.offset"];
    let found: Vec<_> = headers[1..].iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(found, expected.into_iter().zip(["t", "0", "1"]).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_topic_cannot_have_its_own_dead_letters() {
    let cluster = cluster(1).await;
    cluster.append("t", 0, &[b"bad\xff"]).unwrap();
    let consumer = consumer(&cluster, &[0], &[]).await;
    let producer = Producer::new(consumer.client().clone()).unwrap();
    let layout = layout(Arc::new(DeadLetterTopic::new(producer, "t")));
    let error = poll(&consumer, &layout, 1_000).await.unwrap_err();
    assert_eq!((error.kind(), position(&consumer).await), (Kind::Config, 0));
    assert!(error.to_string().contains("its own dead letters"), "{error}");
    assert_eq!(cluster.partition_log("t", 0).unwrap().high_watermark, 1);
}
