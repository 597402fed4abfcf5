//! Arrow columns of any compatible type become records; others give typed errors.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema};
use ottla_arrow::{
    ArrowDecoder, Column, ColumnsError, DecoderConfig, OffsetRange, PushOptions, RecordColumns,
};
use ottla_protocol::records::{
    BatchBuilder, Batches, Compression, Compressor, Decompressor, Header, ProducerState,
};

fn rows(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<_> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

type Entry<'a> = (Option<&'a str>, Option<&'a [u8]>);

fn headers(rows: &[Option<&[Entry<'_>]>]) -> ArrayRef {
    let fields = vec![Field::new("key", DataType::Utf8, true), Field::new("value", DataType::Binary, true)];
    let entry =
        StructBuilder::new(fields, vec![Box::new(StringBuilder::new()), Box::new(BinaryBuilder::new())]);
    let mut lists = ListBuilder::new(entry);
    for row in rows {
        for (key, value) in row.unwrap_or_default() {
            let entry = lists.values();
            entry.field_builder::<StringBuilder>(0).unwrap().append_option(*key);
            entry.field_builder::<BinaryBuilder>(1).unwrap().append_option(*value);
            entry.append(true);
        }
        lists.append(row.is_some());
    }
    Arc::new(lists.finish())
}

#[test]
fn all_layouts_of_bytes_are_read() {
    let bytes: Vec<Option<&[u8]>> = vec![Some(b"ab"), None, Some(b"cd")];
    let text = vec![Some("ab"), None, Some("cd")];
    let arrays: [ArrayRef; 7] = [
        Arc::new(BinaryArray::from(bytes.clone())),
        Arc::new(LargeBinaryArray::from(bytes.clone())),
        Arc::new(BinaryViewArray::from(bytes.clone())),
        Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes.iter().copied(), 2).unwrap()),
        Arc::new(StringArray::from(text.clone())),
        Arc::new(LargeStringArray::from(text.clone())),
        Arc::new(StringViewArray::from(text)),
    ];
    for array in arrays {
        let batch = rows(vec![("key", Arc::new(NullArray::new(3))), ("value", Arc::clone(&array))]);
        let columns = RecordColumns::try_new(&batch).unwrap();
        let values: Vec<_> = (0..3).map(|row| columns.row(row).unwrap().value).collect();
        assert_eq!(values, bytes, "{}", array.data_type());
        assert_eq!(columns.row(0).unwrap().key, None);
        assert!(columns.row(3).is_none());
        let sliced = array.slice(2, 1);
        assert_eq!(
            RecordColumns::from_arrays(Some(&sliced), &sliced).unwrap().row(0).unwrap().key,
            Some(&b"cd"[..])
        );
    }
}

#[test]
fn timestamps_of_all_units_are_read() {
    let value: ArrayRef = Arc::new(StringArray::from(vec!["v", "v"]));
    let last = i64::MAX / 1000;
    let arrays: [(ArrayRef, i64); 6] = [
        (Arc::new(TimestampSecondArray::from(vec![Some(5), None])), 5000),
        (Arc::new(TimestampMillisecondArray::from(vec![Some(5), None])), 5),
        (Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), None]).with_timezone("Europe/Prague")), -1),
        (Arc::new(TimestampNanosecondArray::from(vec![Some(5_999_999), None])), 5),
        (Arc::new(Int64Array::from(vec![Some(5), None])), 5),
        (Arc::new(TimestampSecondArray::from(vec![Some(last), None])), last * 1000),
    ];
    for (array, expected) in arrays {
        let batch = rows(vec![("timestamp", array), ("value", Arc::clone(&value))]);
        let columns = RecordColumns::try_new(&batch).unwrap();
        let times: Vec<_> = (0..2).map(|row| columns.row(row).unwrap().timestamp).collect();
        assert_eq!(times, [Some(expected), None]);
    }
    let beyond = Arc::new(TimestampSecondArray::from(vec![None, Some(last + 1)]));
    let batch = rows(vec![("timestamp", beyond), ("value", Arc::clone(&value))]);
    assert_eq!(RecordColumns::try_new(&batch).unwrap_err(), ColumnsError::TimestampRange { row: 1 });
}

#[test]
fn headers_partitions_and_topics_are_read() {
    let batch = rows(vec![
        ("value", Arc::new(StringArray::from(vec!["a", "b", "c"]))),
        ("headers", headers(&[None, Some(&[(Some("h"), None), (Some("h"), Some(b"1"))]), Some(&[])])),
        ("partition", Arc::new(Int32Array::from(vec![Some(1), None, Some(2)]))),
        ("topic", Arc::new(StringArray::from(vec![Some("t"), None, None]))),
        // A column of decoded batches, which is ignored.
        ("timestampType", Arc::new(BooleanArray::from(vec![true, false, true]))),
    ]);
    for from in 0..3 {
        let part = batch.slice(from, 3 - from);
        let columns = RecordColumns::try_new(&part).unwrap();
        let mut out = Vec::new();
        let all: Vec<_> = (0..columns.len())
            .map(|row| {
                columns.headers(row, &mut out);
                out.len()
            })
            .collect();
        assert_eq!(all, [0, 2, 0][from..]);
        let partitions: Vec<_> = (0..columns.len()).map(|row| columns.row(row).unwrap().partition).collect();
        assert_eq!(partitions, [Some(1), None, Some(2)][from..]);
        let topics: Vec<_> = (0..columns.len()).map(|row| columns.topic(row)).collect();
        assert_eq!(topics, [Some("t"), None, None][from..]);
    }
    let columns = RecordColumns::try_new(&batch).unwrap();
    let mut out = Vec::new();
    columns.headers(1, &mut out);
    assert_eq!(out, [Header { key: b"h", value: None }, Header { key: b"h", value: Some(b"1") }]);
}

#[test]
fn errors_name_the_column_and_the_accepted_types() {
    let value: ArrayRef = Arc::new(StringArray::from(vec!["v"]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    for name in ["key", "value", "headers", "partition", "topic"] {
        let mut columns = vec![(name, Arc::clone(&numbers))];
        if name != "value" {
            columns.push(("value", Arc::clone(&value)));
        }
        let error = RecordColumns::try_new(&rows(columns)).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(&format!("column \"{name}\" has type Int64; accepted: ")), "{text}");
    }
    let batch = rows(vec![("timestamp", Arc::clone(&value)), ("value", Arc::clone(&value))]);
    let error = RecordColumns::try_new(&batch);
    assert!(matches!(error, Err(ColumnsError::Type { column: "timestamp", .. })));
    let batch = rows(vec![("values", Arc::clone(&value)), ("k", Arc::clone(&value))]);
    let error = RecordColumns::try_new(&batch);
    assert_eq!(error.unwrap_err().to_string(), "there is no column \"value\"; there are: values, k");
    let batch = rows(vec![("value", Arc::clone(&value)), ("kye", Arc::clone(&value))]);
    let error = RecordColumns::try_new(&batch).unwrap_err();
    assert_eq!(error, ColumnsError::Unknown { column: "kye".to_owned() });
    assert!(error.to_string().starts_with("column \"kye\" is not part of a record: expected value, key, "));
    let batch = rows(vec![("value", Arc::clone(&value)), ("value", Arc::clone(&value))]);
    let error = RecordColumns::try_new(&batch);
    assert_eq!(error.unwrap_err(), ColumnsError::Duplicate { column: "value" });
    let batch = rows(vec![("value", Arc::clone(&value)), ("headers", headers(&[Some(&[(None, None)])]))]);
    assert_eq!(RecordColumns::try_new(&batch).unwrap_err(), ColumnsError::NullHeaderKey { row: 0 });
}

/// Decoded batches can be sent unchanged and are equal when read again.
#[test]
fn decoded_batches_can_be_sent() {
    let mut compressor = Compressor::new(Compression::None).unwrap();
    let mut builder = BatchBuilder::new(0);
    for row in 0..100u8 {
        let headers = [Header { key: b"h", value: Some(&[row]) }];
        let key = [row; 5];
        let key = (row % 3 == 0).then_some(&key[..]);
        builder.append(1000 + i64::from(row), key, Some(&vec![row; usize::from(row)]), &headers).unwrap();
    }
    let sent = builder.finish(&ProducerState::default(), &mut compressor).unwrap();
    let mut decoder = ArrowDecoder::new(&Column::ALL, DecoderConfig::default());
    let range = OffsetRange { topic: "t", partition: 0, start: 0, end: i64::MAX };
    decoder.push(&sent, &range, PushOptions::default()).unwrap();
    decoder.flush().unwrap();
    let done = decoder.pop().unwrap();
    let columns = RecordColumns::try_new(&done.batch).unwrap();
    assert_eq!(columns.append(&mut builder, 0, usize::MAX, 0), Ok(100));
    assert_eq!(builder.finish(&ProducerState::default(), &mut compressor).unwrap(), sent);

    // In several batches, each of at most the requested size, or one row.
    let (mut at, mut rows) = (0, 0);
    while at < columns.len() {
        at = columns.append(&mut builder, at, 300, 0).unwrap();
        assert!(builder.size_in_bytes() <= 300);
        let bytes = builder.finish(&ProducerState::default(), &mut compressor).unwrap();
        let batch = Batches::new(bytes).next().unwrap().unwrap();
        rows += batch.records(&mut Decompressor::new()).unwrap().count();
    }
    assert_eq!(rows, 100);
    let struct_array = StructArray::from(done.batch.clone());
    assert_eq!(RecordColumns::from_struct(&struct_array).unwrap().len(), 100);
}
