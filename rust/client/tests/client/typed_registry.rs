//! Proves: typed columns read with the schemas of a registry; a reader whose polls are shorter than a look-up
//! gets its records, with one request; what the registry denies is an error of the record, with the registry's
//! reason; while the registry does not respond, the position stays.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use ottla_arrow::Column;
use ottla_client::consumer::{ArrowLayout, Consumer};
use ottla_client::schema_registry::RegistryLookup;
use ottla_client::typed::{
    DecodeMode, ERROR_COLUMN, ReaderSchemaSource, SubjectName, TypedColumn, TypedColumnOptions, TypedColumns,
};
use ottla_client::{Kind, Result};
use ottla_mock::schema_registry::{MockRegistry, RegistryFault, RegistryReaction};
use ottla_schema::{Header, ReaderOptions, WireFormat};

use crate::support::reader::{consumer, tp};
use crate::support::registry::*;
use crate::support::*;

fn layout(registry: &MockRegistry, mode: DecodeMode, pairs: &[(&str, &str)]) -> ArrowLayout {
    let options = TypedColumnOptions {
        validation: None,
        header: Header::Value,
        reader: ReaderSchemaSource::Version(None),
        part: ReaderOptions::default(),
        subject: SubjectName::Topic,
        wire_format: WireFormat::Confluent,
        mode,
    };
    let lookup = RegistryLookup::new(Arc::new(registry_client(registry, pairs)));
    let value = Arc::new(TypedColumn::new(options, Some(Arc::new(lookup))).unwrap());
    let typed = TypedColumns { key: None, value: Some(value) };
    ArrowLayout { columns: vec![Column::Value], typed, ..ArrowLayout::default() }
}

/// The numbers of a poll, and its errors.
async fn poll(consumer: &Consumer, layout: &ArrowLayout, timeout: u64) -> Result<Option<Vec<Option<i64>>>> {
    let batch = within_deadline(consumer.poll_arrow(ms(timeout), layout)).await?;
    Ok(batch.map(|batch| batch.column(0).as_primitive::<Int64Type>().iter().collect()))
}

#[tokio::test(start_paused = true)]
async fn polls_shorter_than_a_look_up_get_their_records_with_one_request() {
    let (cluster, mock) = (cluster(1).await, registry().await);
    mock.register("t-value", "AVRO", "\"int\"", &[]).unwrap();
    mock.register("t-value", "AVRO", "\"long\"", &[]).unwrap();
    mock.inject(RegistryFault::always(RegistryReaction::Delay(ms(1_000))));
    cluster.append("t", 0, &[&[0, 0, 0, 0, 1, 14], &[0, 0, 0, 0, 2, 16]]).unwrap();
    let consumer = consumer(&cluster, &[0], &[]).await;
    let layout = layout(&mock, DecodeMode::FailFast, &[]);
    let mut polls = 0;
    let values = loop {
        polls += 1;
        if let Some(values) = poll(&consumer, &layout, 100).await.unwrap() {
            break values;
        }
        assert!(polls < 100, "no look-up came to an end");
    };
    assert_eq!(values, [Some(7), Some(8)]);
    assert!(polls > 10, "{polls} polls");
    let paths: Vec<String> = mock.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/subjects/t-value/versions/latest", "/schemas/ids/1", "/schemas/ids/2"]);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_id_is_an_error_of_its_record_with_the_registrys_reason() {
    let (cluster, mock) = (cluster(1).await, registry().await);
    mock.register("t-value", "AVRO", "\"long\"", &[]).unwrap();
    cluster.append("t", 0, &[&[0, 0, 0, 0, 1, 14], &[0, 0, 0, 0, 9, 16]]).unwrap();
    let consumer = consumer(&cluster, &[0], &[]).await;
    let permissive = layout(&mock, DecodeMode::Permissive, &[]);
    let batch = within_deadline(consumer.poll_arrow(ms(1_000), &permissive)).await.unwrap().unwrap();
    let reason = batch.column_by_name(ERROR_COLUMN).expect("a column").as_string::<i32>().value(1).to_owned();
    assert!(reason.starts_with("value: schema 9: it does not exist in "), "{reason}");
    assert!(reason.contains(&mock.url()) && reason.contains("40403"), "{reason}");
    consumer.seek(&tp(0), 1, None).unwrap();
    let failfast = layout(&mock, DecodeMode::FailFast, &[]);
    let error = poll(&consumer, &failfast, 1_000).await.unwrap_err();
    assert_eq!((error.kind(), error.context().offset), (Kind::Serialization, Some(1)));
    assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn while_the_registry_is_down_polls_fail_with_the_cause_and_nothing_is_passed_over() {
    let (cluster, mock) = (cluster(1).await, registry().await);
    mock.register("t-value", "AVRO", "\"long\"", &[]).unwrap();
    cluster.append("t", 0, &[&[0, 0, 0, 0, 1, 14]]).unwrap();
    let consumer = consumer(&cluster, &[0], &[]).await;
    let layout = layout(&mock, DecodeMode::Permissive, &[("default.api.timeout.ms", "2000")]);
    mock.stop().await.unwrap();
    let error = poll(&consumer, &layout, 60_000).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Timeout);
    let message = error.to_string();
    assert!(message.contains("t-value") && message.contains("refused"), "{message}");
    assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), 0);
    mock.restart().await.unwrap();
    assert_eq!(poll(&consumer, &layout, 10_000).await.unwrap(), Some(vec![Some(7)]));
    // A response that is not a registry's is no statement about the record.
    cluster.append("t", 0, &[&[0, 0, 0, 0, 2, 16]]).unwrap();
    let body = RegistryReaction::Body { content_type: "text/html".into(), body: "<html>".into() };
    mock.inject(RegistryFault::once(body));
    let error = poll(&consumer, &layout, 10_000).await.unwrap_err();
    assert_eq!((error.kind(), error.context().schema_id.as_deref()), (Kind::Schema, Some("2")));
    assert_eq!(consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn polls_shorter_than_a_failing_look_up_get_its_error() {
    let (cluster, mock) = (cluster(1).await, registry().await);
    mock.inject(RegistryFault::always(RegistryReaction::Silence));
    cluster.append("t", 0, &[&[0, 0, 0, 0, 1, 14]]).unwrap();
    let consumer = consumer(&cluster, &[0], &[]).await;
    let layout = layout(&mock, DecodeMode::FailFast, &[("default.api.timeout.ms", "2000")]);
    let mut polls = 0;
    let error = loop {
        polls += 1;
        assert!(polls < 100, "the look-up never failed");
        match poll(&consumer, &layout, 100).await {
            Ok(polled) => assert_eq!(polled, None),
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind(), consumer.position(&tp(0), CALL_TIMEOUT).await.unwrap()), (Kind::Timeout, 0));
    assert!(poll(&consumer, &layout, 100).await.unwrap().is_none(), "the next poll looks it up again");
}
