//! Proves: keys and values with a schema become typed columns, of a consumer and of a scan. Rows before one that
//! cannot be decoded are delivered, then the error is raised, and the position stays before the row. What a
//! registry does not answer is an error after which nothing is lost.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field};
use ottla_arrow::Column;
use ottla_client::consumer::{ArrowLayout, Consumer, Range, Scan, ScanOptions};
use ottla_client::environment::BoxFuture;
use ottla_client::schema_registry::{DataContract, NewSchema};
use ottla_client::typed::{
    DecodeMode, ERROR_COLUMN, FieldValue, FoundSchema, ReaderSchemaSource, SchemaLookup, SubjectName,
    SubjectSchema, TypedColumn, TypedColumnOptions, TypedColumns, WriterSchema,
};
use ottla_client::{Error, Kind, Result};
use ottla_mock::MockCluster;
use ottla_schema::{Header, Projection, ReaderOptions, RegisteredSchema, SchemaId, SchemaType, WireFormat};
use parking_lot::Mutex;
use tokio::time::{Duration, sleep};

use crate::support::reader::{consumer, tp};
use crate::support::*;

/// Schemas by id and by subject, with faults.
#[derive(Debug, Default)]
struct Registry {
    schemas: Mutex<HashMap<u32, &'static str>>,
    subjects: HashMap<&'static str, u32>,
    /// The errors of the next lookups.
    failures: Mutex<Vec<Error>>,
    delay: Mutex<Duration>,
    lookups: Mutex<Vec<SchemaId>>,
}

fn avro(text: &str) -> RegisteredSchema {
    RegisteredSchema::new(SchemaType::Avro, text)
}

impl Registry {
    async fn find(&self, id: u32) -> Result<Option<Arc<RegisteredSchema>>> {
        let delay = *self.delay.lock();
        sleep(delay).await;
        if let Some(error) = self.failures.lock().pop() {
            return Err(error);
        }
        self.lookups.lock().push(SchemaId::Id(id));
        Ok(self.schemas.lock().get(&id).map(|text| Arc::new(avro(text))))
    }
}

impl SchemaLookup for Registry {
    fn schema<'a>(&'a self, id: SchemaId, _: Option<&'a str>) -> BoxFuture<'a, Result<FoundSchema>> {
        Box::pin(async move {
            let schema = match id {
                SchemaId::Id(id) => self.find(id).await?,
                _ => None,
            };
            let missing = || FoundSchema::Missing(format!("schema {id} does not exist"));
            Ok(schema.map_or_else(missing, FoundSchema::Schema))
        })
    }

    fn version<'a>(&'a self, subject: &'a str, version: Option<i32>) -> BoxFuture<'a, Result<SubjectSchema>> {
        Box::pin(async move {
            let id = self.subjects.get(subject).filter(|_| version.is_none());
            let missing = || Error::new(Kind::Schema, format!("subject {subject} does not exist"));
            let id = *id.ok_or_else(missing)?;
            let schema = self.find(id).await?.ok_or_else(missing)?;
            Ok(SubjectSchema { version: 1, id: SchemaId::Id(id), schema })
        })
    }

    fn with_references<'a>(&'a self, schema: &'a NewSchema) -> BoxFuture<'a, Result<Arc<RegisteredSchema>>> {
        Box::pin(async move { Ok(Arc::new(avro(&schema.text))) })
    }

    fn writer_schema<'a>(
        &'a self,
        _: &'a str,
        schema: &'a NewSchema,
        _: bool,
    ) -> BoxFuture<'a, Result<WriterSchema>> {
        Box::pin(async move {
            Ok(WriterSchema { id: Some(SchemaId::Id(1)), schema: Arc::new(avro(&schema.text)) })
        })
    }

    fn registered_references<'a>(
        &'a self,
        schema: &'a RegisteredSchema,
        _: bool,
    ) -> BoxFuture<'a, Result<NewSchema>> {
        let RegisteredSchema { schema_type, text, .. } = schema.clone();
        Box::pin(async move {
            Ok(NewSchema { schema_type, text, references: Vec::new(), contract: DataContract::default() })
        })
    }
}

/// A registry whose subject `t-value` is a long, first written as an int.
fn registry() -> Arc<Registry> {
    let schemas = Mutex::new(HashMap::from([(1, "int"), (2, "long"), (3, "string")]));
    Arc::new(Registry { schemas, subjects: HashMap::from([("t-value", 2)]), ..Registry::default() })
}

fn column(registry: &Arc<Registry>, mode: DecodeMode) -> Arc<TypedColumn> {
    let options = TypedColumnOptions {
        validation: None,
        header: Header::Value,
        reader: ReaderSchemaSource::Version(None),
        part: ReaderOptions::default(),
        subject: SubjectName::Topic,
        wire_format: WireFormat::Confluent,
        mode,
    };
    Arc::new(TypedColumn::new(options, Some(registry.clone())).unwrap())
}

fn layout(registry: &Arc<Registry>, mode: DecodeMode) -> ArrowLayout {
    let typed = TypedColumns { key: None, value: Some(column(registry, mode)) };
    ArrowLayout { columns: vec![Column::Value, Column::Partition], typed, ..ArrowLayout::default() }
}

/// A small number in Avro, with its schema's id.
fn number(id: u8, value: u8) -> Vec<u8> {
    vec![0, 0, 0, 0, id, value << 1]
}

fn append(cluster: &MockCluster, values: &[Vec<u8>]) {
    let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    cluster.append("t", 0, &values).unwrap();
}

fn values(batch: &RecordBatch) -> Vec<Option<i64>> {
    batch.column_by_name("value").expect("a column").as_primitive::<Int64Type>().iter().collect()
}

async fn poll(consumer: &Consumer, layout: &ArrowLayout) -> Result<Option<RecordBatch>> {
    within_deadline(consumer.poll_arrow(ms(1_000), layout)).await
}

async fn position(consumer: &Consumer) -> i64 {
    consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn values_of_several_schemas_become_one_typed_column() {
    let (cluster, registry) = (cluster(1).await, registry());
    append(&cluster, &[number(1, 7), number(2, 8), number(1, 9)]);
    let consumer = consumer(&cluster, &[0], &[]).await;
    let layout = layout(&registry, DecodeMode::FailFast);
    let batch = poll(&consumer, &layout).await.unwrap().unwrap();
    assert_eq!(values(&batch), [Some(7), Some(8), Some(9)]);
    let names: Vec<_> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["value", "partition"]);
    assert_eq!(position(&consumer).await, 3);
    append(&cluster, &[number(1, 10)]);
    assert_eq!(values(&poll(&consumer, &layout).await.unwrap().unwrap()), [Some(10)]);
    let looked_up: Vec<String> = registry.lookups.lock().iter().map(ToString::to_string).collect();
    assert_eq!(looked_up, ["2", "1", "2"], "the reader's schema, then each writer's once");
}

#[tokio::test(start_paused = true)]
async fn rows_before_a_malformed_one_are_delivered_and_the_position_stays_before_it() {
    let (cluster, registry) = (cluster(1).await, registry());
    append(&cluster, &[number(2, 1), number(2, 2), b"no id".to_vec(), number(2, 4)]);
    let consumer = consumer(&cluster, &[0], &[]).await;
    let layout = layout(&registry, DecodeMode::FailFast);
    let batch = poll(&consumer, &layout).await.unwrap().unwrap();
    assert_eq!(values(&batch), [Some(1), Some(2)]);
    assert_eq!(position(&consumer).await, 2);
    for _ in 0..2 {
        let error = poll(&consumer, &layout).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Serialization);
        let context = error.context();
        assert_eq!(
            (context.topic.as_deref(), context.partition, context.offset),
            (Some("t"), Some(0), Some(2))
        );
        assert!(
            error.to_string().contains("the value cannot be decoded: the value begins with byte 0x6e"),
            "{error}"
        );
        assert_eq!(position(&consumer).await, 2);
    }
    consumer.seek(&tp(0), 3, None).unwrap();
    assert_eq!(values(&poll(&consumer, &layout).await.unwrap().unwrap()), [Some(4)]);
    assert_eq!(position(&consumer).await, 4);
}

#[tokio::test(start_paused = true)]
async fn permissive_rows_are_null_with_the_reason() {
    let (cluster, registry) = (cluster(1).await, registry());
    append(&cluster, &[number(2, 1), number(9, 1), number(3, 0), number(2, 4)]);
    let consumer = consumer(&cluster, &[0], &[]).await;
    let layout = layout(&registry, DecodeMode::Permissive);
    let batch = poll(&consumer, &layout).await.unwrap().unwrap();
    assert_eq!(values(&batch), [Some(1), None, None, Some(4)]);
    let errors = batch.column_by_name(ERROR_COLUMN).expect("a column").as_string::<i32>().clone();
    assert!(errors.is_null(0) && errors.is_null(3));
    assert_eq!(errors.value(1), "value: schema 9: schema 9 does not exist");
    assert!(errors.value(2).starts_with("value: schema 3: "), "{}", errors.value(2));
    assert_eq!(position(&consumer).await, 4);
    // A schema that is registered later is found.
    registry.schemas.lock().insert(9, "int");
    append(&cluster, &[number(9, 5)]);
    assert_eq!(values(&poll(&consumer, &layout).await.unwrap().unwrap()), [Some(5)]);
}

#[tokio::test(start_paused = true)]
async fn a_failing_registry_is_an_error_and_loses_nothing() {
    let (cluster, registry) = (cluster(1).await, registry());
    append(&cluster, &[number(1, 1), number(1, 2)]);
    let consumer = consumer(&cluster, &[0], &[]).await;
    let layout = layout(&registry, DecodeMode::FailFast);
    for _ in 0..2 {
        registry.failures.lock().push(Error::new(Kind::Connection, "the registry is down"));
        let error = poll(&consumer, &layout).await.unwrap_err();
        assert_eq!((error.kind(), position(&consumer).await), (Kind::Connection, 0));
    }
    // One that is slow delays the records, and a poll ends in time.
    *registry.delay.lock() = Duration::from_millis(1_500);
    assert!(poll(&consumer, &layout).await.unwrap().is_none());
    *registry.delay.lock() = Duration::from_millis(400);
    assert_eq!(values(&poll(&consumer, &layout).await.unwrap().unwrap()), [Some(1), Some(2)]);
    // wakeup() ends the wait for it.
    append(&cluster, &[number(3, 1)]);
    *registry.delay.lock() = Duration::from_secs(60);
    let woken = async {
        sleep(ms(50)).await;
        consumer.wakeup();
    };
    let (polled, ()) = tokio::join!(poll(&consumer, &layout), woken);
    assert_eq!(polled.unwrap_err().kind(), Kind::Wakeup);
}

#[tokio::test(start_paused = true)]
async fn a_missing_subject_and_two_topics_are_errors() {
    let (cluster, registry) = (cluster(1).await, registry());
    let typed = column(&registry, DecodeMode::FailFast);
    let error = typed.resolve(&"other".into()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Schema);
    assert!(error.to_string().contains("subject other-value does not exist"), "{error}");
    typed.resolve(&"t".into()).await.unwrap();
    let error = typed.resolve(&"other".into()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Config);
    assert!(error.to_string().contains("is the one of topic t"), "{error}");
    // Without its column, a value cannot be decoded.
    append(&cluster, &[number(1, 1)]);
    let consumer = consumer(&cluster, &[0], &[]).await;
    let layout = ArrowLayout { columns: vec![Column::Offset], ..layout(&registry, DecodeMode::FailFast) };
    assert_eq!(poll(&consumer, &layout).await.unwrap_err().kind(), Kind::Config);
}

#[tokio::test(start_paused = true)]
async fn a_scan_has_typed_columns_and_keeps_a_batch_whose_schema_is_not_known() {
    let (cluster, registry) = (cluster(1).await, registry());
    append(&cluster, &[number(1, 1), number(2, 2), b"x".to_vec()]);
    let client = client(&cluster, &[]).await;
    let layout = layout(&registry, DecodeMode::FailFast);
    layout.typed.resolve(&"t".into()).await.unwrap();
    let options = ScanOptions {
        fail_on_data_loss: true,
        read_committed: false,
        max_bytes: 1 << 20,
        timeout: Duration::from_secs(20),
    };
    let range = Range { partition: tp(0), start: 0, end: 3 };
    let mut scan = Scan::start(client, vec![range], options, &layout);
    registry.failures.lock().push(Error::new(Kind::Timeout, "no response"));
    assert_eq!(within_deadline(scan.next_batch()).await.unwrap_err().kind(), Kind::Timeout);
    let batch = within_deadline(scan.next_batch()).await.unwrap().unwrap();
    assert_eq!((values(&batch), batch.schema()), (vec![Some(1), Some(2)], scan.schema()));
    for _ in 0..2 {
        let error = within_deadline(scan.next_batch()).await.unwrap_err();
        assert_eq!((error.kind(), error.context().offset), (Kind::Serialization, Some(2)));
    }
}

#[tokio::test(start_paused = true)]
async fn records_have_typed_values_and_one_that_cannot_be_decoded_is_an_error_of_its_own() {
    let (cluster, registry) = (cluster(1).await, registry());
    append(&cluster, &[number(1, 1), number(2, 2), b"x".to_vec(), number(9, 0), number(1, 5)]);
    let typed = TypedColumns { key: None, value: Some(column(&registry, DecodeMode::FailFast)) };
    let consumer = consumer(&cluster, &[0], &[]).await.with_typed_records(typed);
    registry.failures.lock().push(Error::new(Kind::Connection, "the registry is down"));
    let error = within_deadline(consumer.poll(ms(1_000), 2)).await.unwrap_err();
    assert_eq!((error.kind(), position(&consumer).await), (Kind::Connection, 0));
    let mut decoded = Vec::new();
    // Also across the parts of a batch.
    for max_records in [1, 2, 3] {
        for set in within_deadline(consumer.poll(ms(1_000), max_records)).await.unwrap() {
            let values = set.typed.as_ref().and_then(|typed| typed.value.clone()).unwrap();
            for entry in &set.entries {
                let value = values.value(entry.row).map_err(|error| error.kind());
                decoded.push(value.map(|value| match value {
                    FieldValue::Converted(array, row) => array.as_primitive::<Int64Type>().value(row),
                    other => panic!("{other:?}"),
                }));
            }
        }
    }
    let bad = Err(Kind::Serialization);
    assert_eq!(decoded, [Ok(1), Ok(2), bad, bad, Ok(5)]);
}

#[tokio::test(start_paused = true)]
async fn a_given_type_of_json_needs_no_registry_and_fields_are_selected() {
    let cluster = cluster(1).await;
    append(&cluster, &[br#"{"a": "x", "b": {"c": 1}}"#.to_vec(), b"{}".to_vec(), b"{".to_vec()]);
    let inner = DataType::Struct(vec![Field::new("c", DataType::Int64, true)].into());
    let whole = vec![Field::new("a", DataType::Int64, true), Field::new("b", inner.clone(), true)];
    let whole = Arc::new(Field::new("", DataType::Struct(whole.into()), true));
    let options = |fields: &[&str], wire_format| TypedColumnOptions {
        validation: None,
        header: Header::Value,
        reader: ReaderSchemaSource::JsonType(whole.clone()),
        part: ReaderOptions {
            projection: Some(Projection::new(fields.iter().copied()).unwrap().into()),
            ..ReaderOptions::default()
        },
        subject: SubjectName::Topic,
        wire_format,
        mode: DecodeMode::Permissive,
    };
    let typed = Arc::new(TypedColumn::new(options(&["b.c"], WireFormat::None), None).unwrap());
    let layout = ArrowLayout {
        columns: vec![Column::Value],
        typed: TypedColumns { key: None, value: Some(typed.clone()) },
        ..ArrowLayout::default()
    };
    let consumer = consumer(&cluster, &[0], &[]).await;
    let batch = poll(&consumer, &layout).await.unwrap().unwrap();
    let selected = DataType::Struct(vec![Field::new("b", inner, true)].into());
    assert_eq!(typed.data_type(), Some(selected.clone()));
    let values = batch.column(0);
    assert_eq!((values.data_type(), values.null_count()), (&selected, 1));
    let inner = values.as_struct().column(0).as_struct();
    assert_eq!(inner.column(0).as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(1), None, None]);
    let error = TypedColumn::new(options(&["b"], WireFormat::Confluent), None).unwrap_err();
    assert_eq!(error.kind(), Kind::Config);
    let unknown = TypedColumn::new(options(&["b.d"], WireFormat::None), None).unwrap();
    let error = unknown.resolve(&"t".into()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Schema);
    assert!(error.to_string().contains("there is no field \"d\" in b; it has c"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn records_of_aws_glue_are_read_with_the_given_schema_and_no_registry() {
    let cluster = cluster(1).await;
    let framed = |guid: u8, payload: &[u8]| [&[3, 0][..], &[guid; 16], payload].concat();
    let options = |reader| TypedColumnOptions {
        validation: None,
        header: Header::Value,
        reader,
        part: ReaderOptions::default(),
        subject: SubjectName::Topic,
        wire_format: WireFormat::Glue,
        mode: DecodeMode::FailFast,
    };
    let long = ReaderSchemaSource::JsonType(Arc::new(Field::new("", DataType::Int64, true)));
    append(&cluster, &[framed(1, &[14]), framed(2, &[16]), framed(1, b"7"), framed(3, b"8")]);
    let consumer = consumer(&cluster, &[0], &[]).await;
    for (offset, reader) in [(0, ReaderSchemaSource::Given(avro("\"long\""))), (2, long)] {
        let typed = Arc::new(TypedColumn::new(options(reader), None).unwrap());
        let layout = ArrowLayout {
            columns: vec![Column::Value],
            typed: TypedColumns { key: None, value: Some(typed) },
            max_rows: 2,
            ..ArrowLayout::default()
        };
        consumer.seek(&tp(0), offset, None).unwrap();
        let batch = poll(&consumer, &layout).await.unwrap().unwrap();
        assert_eq!(batch.column(0).as_primitive::<Int64Type>().values().to_vec(), [7, 8]);
    }
    let given = ReaderSchemaSource::Given(avro("\"long\""));
    let with_registry = TypedColumn::new(options(given), Some(registry())).unwrap_err();
    let without_schema = TypedColumn::new(options(ReaderSchemaSource::Version(None)), None).unwrap_err();
    for error in [with_registry, without_schema] {
        assert_eq!(error.kind(), Kind::Config);
        assert!(error.to_string().contains("the ids of AWS Glue cannot be looked up"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn fields_are_selected_of_each_writers_schema() {
    let (cluster, registry) = (cluster(1).await, registry());
    let record = |fields: &str| format!(r#"{{"type": "record", "name": "R", "fields": [{fields}]}}"#);
    let (a, b) = (r#"{"name": "a", "type": "string"}"#, r#"{"name": "b", "type": "long"}"#);
    let both: &'static str = record(&format!("{a}, {b}")).leak();
    registry.schemas.lock().extend([(1, record(b).leak() as &'static str), (2, both)]);
    append(&cluster, &[vec![0, 0, 0, 0, 1, 14], vec![0, 0, 0, 0, 2, 2, b'x', 16]]);
    let options = TypedColumnOptions {
        validation: None,
        header: Header::Value,
        reader: ReaderSchemaSource::Id(SchemaId::Id(2)),
        part: ReaderOptions {
            projection: Some(Projection::new(["b"]).unwrap().into()),
            ..ReaderOptions::default()
        },
        subject: SubjectName::Topic,
        wire_format: WireFormat::Confluent,
        mode: DecodeMode::FailFast,
    };
    // The first record has no field a, which the reader's schema requires, but which is not selected.
    let typed = Arc::new(TypedColumn::new(options, Some(registry)).unwrap());
    let layout = ArrowLayout {
        columns: vec![Column::Value],
        typed: TypedColumns { key: None, value: Some(typed) },
        ..ArrowLayout::default()
    };
    let consumer = consumer(&cluster, &[0], &[]).await;
    let batch = poll(&consumer, &layout).await.unwrap().unwrap();
    let values = batch.column(0).as_struct();
    assert_eq!(
        (values.num_columns(), values.column(0).as_primitive::<Int64Type>().values().to_vec()),
        (1, vec![7, 8])
    );
}
