//! Decoding in steps: the rows are those of decoding at once, and a batch ends at its target.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use bytes::Bytes;
use ottla_arrow::{ArrowDecoder, Column, DecodedBatch, DecoderConfig, OffsetRange, RecordsCursor};
use ottla_protocol::records::{BatchBuilder, Compression, Compressor, Header, ProducerState, rewrite};

const MIB: usize = 1 << 20;
const RANGE: OffsetRange<'static> = OffsetRange { topic: "orders", partition: 3, start: 0, end: i64::MAX };

fn batch(base_offset: i64, codec: Compression, values: &[Vec<u8>], headers: &[Header<'_>]) -> Bytes {
    let mut builder = BatchBuilder::new(0);
    for value in values {
        builder.append(1, None, Some(value), headers).unwrap();
    }
    let bytes = builder.finish(&ProducerState::default(), &mut Compressor::new(codec).unwrap()).unwrap();
    rewrite::assign_base_offset(bytes, base_offset, 0).unwrap()
}

fn zeros(sizes: impl IntoIterator<Item = usize>) -> Vec<Vec<u8>> {
    sizes.into_iter().map(|size| vec![0; size]).collect()
}

fn offsets(batch: &RecordBatch) -> Vec<i64> {
    batch.column_by_name("offset").unwrap().as_primitive::<Int64Type>().values().to_vec()
}

/// Decodes in steps. After each, the cursor is taken apart, as when the rest of a fetch is put back.
fn steps(bytes: Bytes, config: DecoderConfig, range: &OffsetRange<'_>) -> Vec<DecodedBatch> {
    let mut decoder = ArrowDecoder::new(&Column::ALL, config);
    let mut cursor = RecordsCursor::new(bytes, range.start);
    let mut batches = Vec::new();
    while !decoder.decode(&mut cursor, range, None).unwrap() {
        batches.push(decoder.pop().expect("a finished batch"));
        assert_eq!((decoder.ready_count(), decoder.pending_rows()), (0, 0));
        let next_offset = cursor.next_offset();
        let (records, open) = cursor.into_parts();
        cursor = RecordsCursor::resume(records, open, next_offset);
    }
    decoder.flush().unwrap();
    batches.extend(decoder.pop());
    batches
}

#[test]
fn steps_have_the_rows_of_one_call() {
    for codec in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let values: Vec<_> = (0..30u8).map(|number| vec![number; usize::from(number) * 9]).collect();
        let bytes: Bytes = [
            batch(0, codec, &values, &[]),
            batch(40, codec, &values[..1], &[Header { key: b"name", value: None }]),
            batch(50, codec, &values, &[]),
        ]
        .concat()
        .into();
        for (start, end) in [(0, i64::MAX), (7, 62), (45, 55)] {
            let range = OffsetRange { start, end, ..RANGE };
            let mut whole = ArrowDecoder::new(&Column::ALL, DecoderConfig::default());
            assert!(whole.decode(&mut RecordsCursor::new(bytes.clone(), start), &range, None).unwrap());
            whole.flush().unwrap();
            let whole = whole.pop().expect("a batch").batch;
            for max_rows in [1, 2, 7, 29, 30, 31, 100] {
                let config = DecoderConfig { max_rows, ..DecoderConfig::default() };
                let batches = steps(bytes.clone(), config, &range);
                let mut row = 0;
                for DecodedBatch { batch, spans } in &batches {
                    assert_eq!(*batch, whole.slice(row, batch.num_rows()), "{codec} {start} {max_rows}");
                    assert!(batch.num_rows() == max_rows || row + batch.num_rows() == whole.num_rows());
                    // The position follows the rows, and gaps at the end.
                    assert!(spans[0].next_offset > *offsets(batch).last().unwrap());
                    row += batch.num_rows();
                }
                assert_eq!(row, whole.num_rows());
            }
        }
    }
}

/// Regression: the rows of a batch were estimated by the mean size of its records, so that several large ones among
/// small ones made one result.
#[test]
fn a_result_exceeds_its_target_by_one_record() {
    let config = DecoderConfig { target_bytes: MIB, ..DecoderConfig::default() };
    let sizes = (0..2_000).map(|record| if record % 400 == 0 { 2 * MIB } else { 100 });
    for codec in [Compression::None, Compression::Zstd] {
        let batches = steps(batch(0, codec, &zeros(sizes.clone()), &[]), config, &RANGE);
        let rows: usize = batches.iter().map(|batch| batch.batch.num_rows()).sum();
        assert_eq!(rows, 2_000);
        for batch in &batches {
            let values = batch.batch.column_by_name("value").unwrap().as_binary::<i32>();
            let large = values.iter().flatten().filter(|value| value.len() > MIB).count();
            assert!(large <= 1, "{large} records above the target in one result");
        }
    }
}

/// Regression: names and values of headers were counted, but not that there were millions of empty ones.
#[test]
fn empty_headers_count() {
    let headers = vec![Header { key: b"", value: None }; 50_000];
    let config = DecoderConfig { target_bytes: MIB, ..DecoderConfig::default() };
    let batches = steps(batch(0, Compression::Zstd, &zeros([1; 40]), &headers), config, &RANGE);
    assert_eq!(batches.iter().map(|batch| batch.batch.num_rows()).sum::<usize>(), 40);
    assert!(batches.len() >= 10, "{} results of 2 million headers", batches.len());
}

#[test]
fn a_batch_is_decompressed_once_however_many_results_it_has() {
    let bytes = batch(0, Compression::Zstd, &zeros([100_000; 50]), &[]);
    let config = DecoderConfig { max_rows: 1, ..DecoderConfig::default() };
    let mut results = 0;
    let used = allocation_counter::measure(|| results = steps(bytes, config, &RANGE).len());
    assert_eq!(results, 50);
    // 5 MB of rows and as much decompressed, where each decompression would take as much again.
    assert!(used.bytes_total < 30 * MIB as u64, "{} MiB", used.bytes_total / MIB as u64);
}

/// Regression: decoding filled all results that a fetch had, whatever it decompressed to.
#[test]
fn one_decompressed_batch_and_one_result_are_in_memory() {
    let large = batch(0, Compression::Zstd, &zeros([8 * MIB]), &[]);
    let bytes: Bytes = std::iter::repeat_n(large, 8).collect::<Vec<_>>().concat().into();
    let mut decoder = ArrowDecoder::new(&Column::ALL, DecoderConfig::default());
    let mut cursor = RecordsCursor::new(bytes, 0);
    let used = allocation_counter::measure(|| {
        assert!(!decoder.decode(&mut cursor, &RANGE, None).unwrap());
    });
    assert_eq!(decoder.pop().expect("a batch").batch.num_rows(), 1);
    assert!(used.bytes_max <= 18 * MIB as u64, "{} MiB", used.bytes_max / MIB as u64);
}

/// A value that fills a result is not copied: its column is the decompressed batch.
#[test]
fn a_large_value_is_not_copied() {
    let mut builder = BatchBuilder::new(0);
    builder
        .append(7, Some(b"key"), Some(&vec![b'v'; 20 * MIB]), &[Header { key: b"h", value: None }])
        .unwrap();
    let large =
        builder.finish(&ProducerState::default(), &mut Compressor::new(Compression::Zstd).unwrap()).unwrap();
    let bytes: Bytes = [
        large.clone(),
        batch(1, Compression::Zstd, &zeros([3]), &[]),
        rewrite::assign_base_offset(large, 2, 0).unwrap(),
    ]
    .concat()
    .into();
    let mut batches = Vec::new();
    let used = allocation_counter::measure(|| batches = steps(bytes, DecoderConfig::default(), &RANGE));
    let expected = [(vec![0], 20 * MIB), (vec![1, 2], 3 + 20 * MIB)];
    for (DecodedBatch { batch, .. }, (rows, size)) in batches.iter().zip(expected) {
        assert_eq!(offsets(batch), rows);
        for column in batch.columns() {
            column.to_data().validate_full().unwrap();
        }
        let values = batch.column_by_name("value").unwrap().as_binary::<i32>();
        assert_eq!(values.iter().flatten().map(<[u8]>::len).sum::<usize>(), size);
        let last = values.value(values.len() - 1);
        assert!(last.iter().all(|byte| *byte == b'v') && values.null_count() == 0);
        let keys = batch.column_by_name("key").unwrap().as_binary::<i32>();
        assert_eq!(keys.value(keys.len() - 1), b"key");
    }
    // The first result, and the second with the batch that its last value is copied from.
    assert!(used.bytes_max <= 64 * MIB as u64, "{} MiB", used.bytes_max / MIB as u64);
}
