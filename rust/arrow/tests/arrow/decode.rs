//! Decoding fetched bytes to Arrow: schema, values, ranges, limits, markers, errors.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use bytes::Bytes;
use ottla_arrow::{
    ArrowDecoder, Column, DecodeCause, DecoderConfig, OffsetRange, PartitionSpan, PushOptions,
};
use ottla_protocol::records::control::{ControlType, Marker, build_marker};
use ottla_protocol::records::{
    AbortedTransaction, AbortedTransactions, BatchBuilder, Compression, Compressor, Header, ProducerState,
    rewrite,
};

fn batch(base_offset: i64, rows: u32, codec: Compression, producer_id: i64) -> Bytes {
    let mut builder = BatchBuilder::new(0);
    for row in 0..rows {
        let value = format!("value {}", base_offset + i64::from(row));
        let headers = [Header { key: b"a\xff", value: None }, Header { key: b"b", value: Some(b"x") }];
        let key = (row % 2 == 0).then_some(b"key".as_slice());
        let value = (row % 3 != 2).then_some(value.as_bytes());
        builder.append(1000 + i64::from(row), key, value, if row == 1 { &headers } else { &[] }).unwrap();
    }
    let stamp = ProducerState { producer_id, transactional: producer_id >= 0, ..ProducerState::default() };
    let bytes = builder.finish(&stamp, &mut Compressor::new(codec).unwrap()).unwrap();
    rewrite::assign_base_offset(bytes, base_offset, 0).unwrap()
}

fn gap(base_offset: i64, offsets: u32) -> Bytes {
    let mut builder = BatchBuilder::new(0);
    builder.skip_offsets(offsets);
    let bytes =
        builder.finish(&ProducerState::default(), &mut Compressor::new(Compression::None).unwrap()).unwrap();
    rewrite::assign_base_offset(bytes, base_offset, 0).unwrap()
}

fn marker(offset: i64, producer_id: i64, control: ControlType) -> Bytes {
    let marker = Marker { control, producer_id, producer_epoch: 0, coordinator_epoch: 0, timestamp: 1 };
    rewrite::assign_base_offset(build_marker(&marker).unwrap(), offset, 0).unwrap()
}

fn blob(parts: &[Bytes]) -> Bytes {
    parts.concat().into()
}

fn range(start: i64, end: i64) -> OffsetRange<'static> {
    OffsetRange { topic: "orders", partition: 3, start, end }
}

fn offsets(batch: &RecordBatch) -> Vec<i64> {
    batch.column_by_name("offset").unwrap().as_primitive::<Int64Type>().values().to_vec()
}

fn drain(decoder: &mut ArrowDecoder) -> Vec<i64> {
    decoder.flush().unwrap();
    std::iter::from_fn(|| decoder.pop()).flat_map(|done| offsets(&done.batch)).collect()
}

#[test]
fn schema_matches_spark() {
    let entry = DataType::Struct(
        vec![Field::new("key", DataType::Utf8, true), Field::new("value", DataType::Binary, true)].into(),
    );
    let expected = Schema::new(vec![
        Field::new("key", DataType::Binary, true),
        Field::new("value", DataType::Binary, true),
        Field::new("topic", DataType::Utf8, true),
        Field::new("partition", DataType::Int32, true),
        Field::new("offset", DataType::Int64, true),
        Field::new("timestamp", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
        Field::new("timestampType", DataType::Int32, true),
        Field::new("headers", DataType::List(Arc::new(Field::new("element", entry, true))), true),
    ]);
    let decoder = ArrowDecoder::new(&Column::ALL, DecoderConfig::default());
    assert_eq!(*decoder.schema(), expected);
    assert_eq!("timestampType".parse(), Ok(Column::TimestampType));
    assert!("offsets".parse::<Column>().is_err());
}

#[test]
fn all_columns_are_decoded_from_all_codecs() {
    for codec in Compression::ALL {
        let mut decoder = ArrowDecoder::new(&Column::ALL, DecoderConfig::default());
        let appended = rewrite::set_log_append_time(batch(103, 1, codec, -1), -1).unwrap();
        let bytes = blob(&[batch(100, 3, codec, -1), appended]);
        let summary = decoder.push(&bytes, &range(100, i64::MAX), PushOptions::default()).unwrap();
        assert_eq!(
            (summary.next_offset, summary.rows, summary.batches, summary.partial_batch_size),
            (104, 4, 2, None)
        );
        decoder.flush().unwrap();
        let done = decoder.pop().unwrap();
        assert_eq!(
            done.spans,
            [PartitionSpan { topic: "orders".into(), partition: 3, rows: 4, next_offset: 104 }]
        );
        let batch = done.batch;
        assert_eq!(offsets(&batch), [100, 101, 102, 103]);
        let keys: Vec<_> = batch["key"].as_binary::<i32>().iter().collect();
        assert_eq!(keys, [Some(&b"key"[..]), None, Some(b"key"), Some(b"key")]);
        let values: Vec<_> = batch["value"].as_binary::<i32>().iter().collect();
        assert_eq!(values, [Some(&b"value 100"[..]), Some(b"value 101"), None, Some(b"value 103")]);
        let topics: Vec<_> = batch["topic"].as_string::<i32>().iter().flatten().collect();
        assert_eq!(topics, ["orders"; 4]);
        assert_eq!(batch["partition"].as_primitive::<Int32Type>().values(), &[3; 4]);
        let times = batch["timestamp"].as_primitive::<TimestampMicrosecondType>();
        assert_eq!(times.values(), &[1_000_000, 1_001_000, 1_002_000, -1000]);
        assert_eq!(batch["timestampType"].as_primitive::<Int32Type>().values(), &[0, 0, 0, 1]);
        let headers = batch["headers"].as_list::<i32>();
        assert_eq!((0..4).map(|row| headers.is_null(row)).collect::<Vec<_>>(), [true, false, true, true]);
        let row = headers.value(1);
        let (keys, values) = (row.as_struct().column(0).clone(), row.as_struct().column(1).clone());
        assert_eq!(keys.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["a\u{fffd}", "b"]);
        assert_eq!(values.as_binary::<i32>().iter().collect::<Vec<_>>(), [None, Some(&b"x"[..])]);
    }
}

#[test]
fn any_subset_of_columns_can_be_selected() {
    for columns in [&[][..], &[Column::Offset, Column::Value], &[Column::Value, Column::Topic, Column::Value]]
    {
        let mut decoder = ArrowDecoder::new(columns, DecoderConfig::default());
        decoder.push(&batch(0, 5, Compression::None, -1), &range(0, 9), PushOptions::default()).unwrap();
        decoder.flush().unwrap();
        let done = decoder.pop().unwrap().batch;
        assert_eq!((done.num_rows(), done.num_columns()), (5, columns.len()));
        let names: Vec<_> = done.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(names, columns.iter().map(|column| column.name()).collect::<Vec<_>>());
    }
}

#[test]
fn a_range_takes_what_lies_in_it() {
    let bytes = blob(&[batch(0, 10, Compression::None, -1), batch(10, 10, Compression::Lz4, -1)]);
    for (start, end, rows, next) in [
        (4, 13, 9, 13),
        (0, 20, 20, 20),
        (10, 11, 1, 11),
        (15, i64::MAX, 5, 20),
        (3, 3, 0, 3),
        (0, 10, 10, 10),
    ] {
        let mut decoder = ArrowDecoder::new(&Column::ALL, DecoderConfig::default());
        let summary = decoder.push(&bytes, &range(start, end), PushOptions::default()).unwrap();
        assert_eq!((summary.rows, summary.next_offset), (rows, next), "{start}..{end}");
        assert_eq!(drain(&mut decoder), (start..next).collect::<Vec<_>>());
    }
}

/// C6: a compacted log with gaps and an empty batch at its end.
#[test]
fn position_moves_past_gaps_and_empty_batches() {
    let bytes = blob(&[gap(0, 5), batch(5, 2, Compression::None, -1), gap(7, 1000)]);
    let mut decoder = ArrowDecoder::new(&[Column::Offset], DecoderConfig::default());
    let summary = decoder.push(&bytes, &range(2, i64::MAX), PushOptions::default()).unwrap();
    assert_eq!((summary.rows, summary.next_offset), (2, 1007));
    let summary = decoder.push(&gap(1007, 3), &range(1007, i64::MAX), PushOptions::default()).unwrap();
    assert_eq!((summary.rows, summary.next_offset), (0, 1010));
    decoder.flush().unwrap();
    // These rows carry the position past the gap after them.
    let spans = decoder.pop().unwrap().spans;
    assert_eq!(spans, [PartitionSpan { topic: "orders".into(), partition: 3, rows: 2, next_offset: 1010 }]);
}

/// C1: aborted records are skipped with `read_committed`, markers always; the position moves past both.
#[test]
fn read_committed_and_read_uncommitted() {
    let bytes = blob(&[
        batch(0, 2, Compression::None, 7),
        batch(2, 2, Compression::None, 8),
        marker(4, 7, ControlType::Abort),
        marker(5, 8, ControlType::Commit),
    ]);
    let entry = |first_offset, producer_id| AbortedTransaction { first_offset, producer_id };
    let mut aborted = AbortedTransactions::new([entry(90, 8), entry(0, 7), entry(0, 7)]);
    for (aborted, seen) in [(Some(&mut aborted), vec![2, 3]), (None, vec![0, 1, 2, 3])] {
        let mut decoder = ArrowDecoder::new(&[Column::Offset], DecoderConfig::default());
        let options = PushOptions { aborted, ..PushOptions::default() };
        let summary = decoder.push(&bytes, &range(0, i64::MAX), options).unwrap();
        assert_eq!(summary.next_offset, 6);
        assert_eq!(drain(&mut decoder), seen);
    }
}

#[test]
fn limits_split_batches_and_spans() {
    let config = DecoderConfig { max_rows: 4, ..DecoderConfig::default() };
    let mut decoder = ArrowDecoder::new(&Column::ALL, config);
    decoder.push(&batch(0, 3, Compression::None, -1), &range(0, 99), PushOptions::default()).unwrap();
    let other = OffsetRange { topic: "payments", partition: 0, start: 20, end: 99 };
    decoder.push(&batch(20, 6, Compression::Zstd, -1), &other, PushOptions::default()).unwrap();
    decoder.flush().unwrap();
    let span = |topic: &str, partition, rows, next_offset| PartitionSpan {
        topic: topic.into(),
        partition,
        rows,
        next_offset,
    };
    let expected = [
        vec![span("orders", 3, 3, 3), span("payments", 0, 1, 21)],
        vec![span("payments", 0, 4, 25)],
        vec![span("payments", 0, 1, 26)],
    ];
    for spans in expected {
        let done = decoder.pop().unwrap();
        let topics: Vec<_> =
            done.batch["topic"].as_string::<i32>().iter().flatten().map(str::to_owned).collect();
        let of_spans: Vec<_> =
            spans.iter().flat_map(|s| std::iter::repeat_n(s.topic.to_string(), s.rows)).collect();
        assert_eq!((done.spans, topics), (spans, of_spans));
    }
    assert!(decoder.pop().is_none());

    let config = DecoderConfig { target_bytes: 25, ..DecoderConfig::default() };
    let mut decoder = ArrowDecoder::new(&[Column::Key, Column::Value, Column::Offset], config);
    decoder.push(&batch(0, 50, Compression::None, -1), &range(0, 99), PushOptions::default()).unwrap();
    assert!(decoder.ready_count() > 10);
    assert_eq!(drain(&mut decoder), (0..50).collect::<Vec<_>>());
}

#[test]
fn an_error_keeps_the_rows_before_it_and_contains_their_end() {
    let mut bytes = blob(&[batch(0, 2, Compression::None, -1), batch(2, 3, Compression::None, -1)]).to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let bytes = Bytes::from(bytes);
    let mut decoder = ArrowDecoder::new(&[Column::Offset], DecoderConfig::default());
    let error = decoder.push(&bytes, &range(0, 99), PushOptions::default()).unwrap_err();
    assert!(
        error.to_string().starts_with("orders-3, read up to offset 2: batch at offset 2: CRC"),
        "{error}"
    );
    assert_eq!(error.next_offset, 2);
    // Without the CRC check, the last record's header count is wrong.
    let unchecked = PushOptions { check_crcs: false, ..PushOptions::default() };
    let error = decoder.push(&bytes, &range(2, 99), unchecked).unwrap_err();
    assert!(matches!(error.cause, DecodeCause::Records(_)));
    assert_eq!(error.next_offset, 4);
    assert_eq!(drain(&mut decoder), [0, 1, 2, 3]);
}

#[test]
fn a_truncated_batch_is_reported() {
    let whole = batch(0, 3, Compression::None, -1);
    let mut decoder = ArrowDecoder::new(&[], DecoderConfig::default());
    let summary = decoder.push(&whole.slice(..50), &range(0, 99), PushOptions::default()).unwrap();
    assert_eq!((summary.batches, summary.partial_batch_size, summary.next_offset), (0, Some(whole.len()), 0));
}

#[test]
fn a_timestamp_beyond_the_column_is_null_and_not_another_one() {
    let last = i64::MAX / 1000;
    let millis = [5, last, last + 1, i64::MAX, 7, -1];
    let of_column = [Some(5_000), Some(last * 1000), None, None, Some(7_000), Some(-1_000)];
    for headers in [&[][..], &[Header { key: b"h", value: None }]] {
        let mut decoder = ArrowDecoder::new(&[Column::Timestamp, Column::Offset], DecoderConfig::default());
        // The next batch has nulls of its own only.
        for (millis, of_column) in [(&millis[..], &of_column[..]), (&millis[..2], &of_column[..2])] {
            let mut builder = BatchBuilder::new(0);
            for millis in millis {
                builder.append(*millis, None, Some(b"x"), headers).unwrap();
            }
            let mut compressor = Compressor::new(Compression::None).unwrap();
            let bytes = builder.finish(&ProducerState::default(), &mut compressor).unwrap();
            decoder.push(&bytes, &range(0, i64::MAX), PushOptions::default()).unwrap();
            decoder.flush().unwrap();
            let found = decoder.pop().unwrap().batch;
            let found: Vec<_> = found.column(0).as_primitive::<TimestampMicrosecondType>().iter().collect();
            assert_eq!(found, of_column);
        }
    }
}
