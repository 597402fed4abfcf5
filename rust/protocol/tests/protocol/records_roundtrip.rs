//! Written records are read back: all codecs; null, empty and repeated values; invalid UTF-8.

use bytes::Bytes;
use ottla_protocol::records::control::{ControlType, Marker, build_marker, read_control_type};
use ottla_protocol::records::{
    AbortedTransaction, AbortedTransactions, BATCH_OVERHEAD, Batch, BatchBuilder, Batches, Compression,
    Compressor, Decompressor, Header, ProducerState, RecordError, TimestampType, rewrite,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

type HeaderOwned = (Vec<u8>, Option<Vec<u8>>);

#[derive(Debug, Clone)]
struct Record {
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<HeaderOwned>,
}

fn record() -> impl Strategy<Value = Record> {
    let timestamp = prop_oneof![Just(-1i64), 1_700_000_000_000i64..1_700_000_100_000, any::<i64>()];
    // Few distinct header keys, so that they repeat; some are not UTF-8.
    let key = prop_oneof![Just(b"trace".to_vec()), Just(vec![0xff, 0xfe]), vec(any::<u8>(), 0..3)];
    let value = prop_oneof![
        Just(Some(b"the same line again ".repeat(20))),
        option::of(vec(any::<u8>(), 0..300)),
        option::weighted(0.9, vec(any::<u8>(), 8000..9000)),
    ];
    (
        timestamp,
        option::of(vec(any::<u8>(), 0..200)),
        value,
        vec((key, option::of(vec(any::<u8>(), 0..70))), 0..5),
    )
        .prop_map(|(timestamp, key, value, headers)| Record { timestamp, key, value, headers })
}

fn append(builder: &mut BatchBuilder, record: &Record) -> usize {
    let headers: Vec<_> =
        record.headers.iter().map(|(key, value)| Header { key, value: value.as_deref() }).collect();
    let bound = BatchBuilder::upper_bound(record.key.as_deref(), record.value.as_deref(), &headers);
    let before = builder.size_in_bytes();
    let size =
        builder.append(record.timestamp, record.key.as_deref(), record.value.as_deref(), &headers).unwrap();
    assert_eq!(builder.size_in_bytes() - before, size);
    assert!(size <= bound);
    size
}

fn single_batch(bytes: Bytes) -> Batch {
    let mut batches = Batches::new(bytes);
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none() && batches.rest().is_empty());
    batch
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn all_codecs_round_trip(batches in vec(vec(record(), 1..40), 1..3), codec in 0usize..5) {
        let codec = Compression::ALL[codec];
        let mut compressor = Compressor::new(codec).unwrap();
        let mut builder = BatchBuilder::new(1024);
        let mut decompressor = Decompressor::new();
        for records in &batches {
            let size: usize = records.iter().map(|record| append(&mut builder, record)).sum();
            prop_assert_eq!(builder.size_in_bytes(), BATCH_OVERHEAD + size);
            prop_assert_eq!(builder.len(), records.len());
            let batch = single_batch(builder.finish(&ProducerState::default(), &mut compressor).unwrap());
            prop_assert!(builder.is_empty());
            prop_assert_eq!(batch.count().map(|count| count as usize), Some(records.len()));
            prop_assert_eq!(batch.compression(), codec);
            let read: Result<Vec<_>, _> = batch.records(&mut decompressor).unwrap().collect();
            let read = read.unwrap();
            prop_assert_eq!(read.len(), records.len());
            for (index, (read, record)) in read.iter().zip(records).enumerate() {
                prop_assert_eq!(read.offset, index as i64);
                prop_assert_eq!(read.timestamp, record.timestamp);
                prop_assert_eq!(read.key, record.key.as_deref());
                prop_assert_eq!(read.value, record.value.as_deref());
                let headers: Vec<HeaderOwned> =
                    read.headers.iter().map(|h| (h.key.to_vec(), h.value.map(<[u8]>::to_vec))).collect();
                prop_assert_eq!(&headers, &record.headers);
            }
        }
    }
}

#[test]
fn large_batches_and_all_levels() {
    let levels = [
        (Compression::Gzip, vec![-1, 1, 9]),
        (Compression::Lz4, vec![1, 9, 17]),
        (Compression::Zstd, vec![-131_072, -5, 1, 3, 19]),
        (Compression::Snappy, vec![0]),
    ];
    let noise: Vec<u8> = (0u32..300_000).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let text = b"{\"level\":\"info\",\"message\":\"a line like all others\"}".repeat(8000);
    let mut decompressor = Decompressor::new();
    for (codec, levels) in levels {
        for level in levels {
            let mut compressor = Compressor::with_level(codec, level).unwrap();
            let mut builder = BatchBuilder::new(0);
            for value in [&noise, &text, &noise] {
                builder.append(0, None, Some(value), &[]).unwrap();
            }
            let batch = single_batch(builder.finish(&ProducerState::default(), &mut compressor).unwrap());
            let values: Vec<_> = batch
                .records(&mut decompressor)
                .unwrap()
                .map(|record| record.unwrap().value.unwrap())
                .collect();
            assert!(values == [&noise[..], &text[..], &noise[..]], "{codec} {level}");
        }
    }
}

#[test]
fn names_numbers_and_levels() {
    for codec in Compression::ALL {
        assert_eq!(codec.name().parse(), Ok(codec));
        assert_eq!(Compression::from_id(codec.id()), Some(codec));
        Compressor::new(codec).unwrap();
    }
    assert_eq!(Compression::from_id(5), None);
    let error = "brotli".parse::<Compression>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown compression type \"brotli\": expected none, gzip, snappy, lz4 or zstd"
    );
    for (codec, level) in
        [(Compression::Gzip, 0), (Compression::Gzip, 10), (Compression::Lz4, 18), (Compression::Zstd, 23)]
    {
        assert!(matches!(Compressor::with_level(codec, level), Err(RecordError::Level { .. })));
    }
}

fn finished(producer: &ProducerState) -> Bytes {
    let mut builder = BatchBuilder::new(100);
    builder.append(10, Some(b"k"), Some(b"v"), &[]).unwrap();
    builder.append(30, None, None, &[]).unwrap();
    builder.finish(producer, &mut Compressor::new(Compression::Zstd).unwrap()).unwrap()
}

#[test]
fn rewriting_sets_producer_state_offset_and_time() {
    let first = ProducerState {
        producer_id: 9,
        producer_epoch: 1,
        base_sequence: 5,
        transactional: true,
        control: false,
    };
    let bytes = finished(&first);
    let shared = bytes.clone();
    let second = ProducerState {
        producer_id: 11,
        producer_epoch: 0,
        base_sequence: 0,
        transactional: false,
        control: false,
    };
    let rewritten = rewrite::set_producer_state(bytes, &second).unwrap();
    assert_eq!(single_batch(shared).producer_id(), 9);
    assert_eq!(rewritten, finished(&second));
    let placed = rewrite::assign_base_offset(rewritten, 1 << 40, 8).unwrap();
    let timed = rewrite::set_log_append_time(placed, 77).unwrap();
    let batch = single_batch(timed);
    assert_eq!((batch.base_offset(), batch.last_offset()), (1 << 40, (1 << 40) + 1));
    assert_eq!((batch.partition_leader_epoch(), batch.timestamp_type()), (8, TimestampType::LogAppendTime));
    let mut decompressor = Decompressor::new();
    let times: Vec<_> =
        batch.records(&mut decompressor).unwrap().map(|record| record.unwrap().timestamp).collect();
    assert_eq!(times, [77, 77]);
    assert!(rewrite::set_producer_state(Bytes::from_static(b"short"), &first).is_err());
    let mut two = finished(&first).to_vec();
    two.extend_from_slice(&finished(&first));
    assert!(matches!(
        rewrite::assign_base_offset(Bytes::from(two), 0, 0),
        Err(RecordError::NotABatch { .. })
    ));
}

#[test]
fn an_empty_builder_cannot_finish_but_a_batch_of_gaps_can() {
    let mut compressor = Compressor::new(Compression::None).unwrap();
    let mut builder = BatchBuilder::new(0);
    assert!(matches!(
        builder.finish(&ProducerState::default(), &mut compressor),
        Err(RecordError::NotABatch { .. })
    ));
    builder.skip_offsets(4);
    let batch = single_batch(builder.finish(&ProducerState::default(), &mut compressor).unwrap());
    assert_eq!((batch.last_offset(), batch.count()), (3, Some(0)));
    assert_eq!(batch.records(&mut Decompressor::new()).unwrap().count(), 0);
    builder.skip_offsets(2);
    builder.append(1, None, None, &[]).unwrap();
    builder.skip_offsets(1);
    let batch = single_batch(builder.finish(&ProducerState::default(), &mut compressor).unwrap());
    let offsets: Vec<_> =
        batch.records(&mut Decompressor::new()).unwrap().map(|record| record.unwrap().offset).collect();
    assert_eq!((offsets, batch.last_offset()), (vec![2], 3));
}

/// C1: aborted records and markers are filtered, whatever the list's order and duplicates.
#[test]
fn aborted_transactions_are_filtered_in_any_order() {
    let data = |offset, producer_id| {
        let producer = ProducerState {
            producer_id,
            producer_epoch: 0,
            base_sequence: 0,
            transactional: true,
            control: false,
        };
        single_batch(rewrite::assign_base_offset(finished(&producer), offset, 0).unwrap())
    };
    let marker = |offset, producer_id, control| {
        let marker = Marker { control, producer_id, producer_epoch: 0, coordinator_epoch: 1, timestamp: 5 };
        let batch =
            single_batch(rewrite::assign_base_offset(build_marker(&marker).unwrap(), offset, 0).unwrap());
        assert_eq!(read_control_type(&batch, &mut Decompressor::new()), Ok(Some(control)));
        batch
    };
    let log = [
        (data(0, 1), false),
        (data(2, 2), true),
        (marker(4, 1, ControlType::Abort), false),
        (data(5, 1), true),
        (marker(7, 2, ControlType::Commit), false),
        (data(8, 2), false),
        (marker(10, 1, ControlType::Commit), false),
        (marker(11, 2, ControlType::Abort), false),
        (data(12, 2), true),
        (
            single_batch(rewrite::assign_base_offset(finished(&ProducerState::default()), 14, 0).unwrap()),
            true,
        ),
    ];
    let entry = |first_offset, producer_id| AbortedTransaction { first_offset, producer_id };
    for list in [vec![entry(8, 2), entry(0, 1), entry(8, 2), entry(0, 1)], vec![entry(0, 1), entry(8, 2)]] {
        let mut aborted = AbortedTransactions::new(list);
        let mut decompressor = Decompressor::new();
        for (batch, seen) in &log {
            assert_eq!(aborted.admits(batch, &mut decompressor), Ok(*seen), "offset {}", batch.base_offset());
        }
    }
}
