//! A batch's buffers are reused once the batch is dropped and not before; the memory of a huge record is
//! freed.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use bytes::Bytes;
use ottla_arrow::{ArrowDecoder, Column, DecoderConfig, OffsetRange, PushOptions};
use ottla_protocol::records::{BatchBuilder, Compression, Compressor, ProducerState, rewrite};

const ROWS: u32 = 20_000;

/// Rows whose keys and values name their batch. All batches have the same size, so buffers fit again.
fn blob(number: i64, rows: u32) -> Bytes {
    let mut builder = BatchBuilder::new(0);
    for row in 0..rows {
        let text = format!("batch {number:>2} row {row:>6}");
        builder.append(number, Some(text.as_bytes()), Some(text.as_bytes()), &[]).unwrap();
    }
    let bytes =
        builder.finish(&ProducerState::default(), &mut Compressor::new(Compression::None).unwrap()).unwrap();
    rewrite::assign_base_offset(bytes, number * i64::from(ROWS), 0).unwrap()
}

fn decode(decoder: &mut ArrowDecoder, number: i64, rows: u32) -> RecordBatch {
    let range = OffsetRange { topic: "orders", partition: 0, start: 0, end: i64::MAX };
    decoder.push(&blob(number, rows), &range, PushOptions::default()).unwrap();
    decoder.flush().unwrap();
    decoder.pop().unwrap().batch
}

fn check(batch: &RecordBatch, number: i64) {
    for column in ["key", "value"] {
        let column = batch.column_by_name(column).unwrap().as_binary::<i32>();
        for (row, value) in column.iter().enumerate() {
            assert_eq!(value.unwrap(), format!("batch {number:>2} row {row:>6}").as_bytes());
        }
    }
    let offsets = batch.column_by_name("offset").unwrap().as_primitive::<Int64Type>();
    assert!(
        offsets
            .values()
            .iter()
            .copied()
            .eq((0..).map(|row| number * i64::from(ROWS) + row).take(batch.num_rows()))
    );
}

/// The addresses of the columns' buffers.
fn addresses(batch: &RecordBatch) -> Vec<usize> {
    let buffers = batch.columns().iter().flat_map(|column| column.to_data().buffers().to_vec());
    buffers.map(|buffer| buffer.as_ptr().addr()).collect()
}

fn columns() -> [Column; 4] {
    [Column::Key, Column::Value, Column::Offset, Column::Timestamp]
}

#[test]
fn buffers_are_reused_only_after_their_batch_is_dropped() {
    let mut decoder = ArrowDecoder::new(&columns(), DecoderConfig::default());
    let mut kept = Vec::new();
    for number in 0..5 {
        kept.push(decode(&mut decoder, number, ROWS));
    }
    for (number, batch) in (0..).zip(&kept) {
        check(batch, number);
    }
    // A slice keeps its whole batch alive.
    let slice = kept.remove(0).slice(ROWS as usize - 1, 1);
    let free = addresses(&kept.remove(0));
    let mut seen = Vec::new();
    for number in 10..14 {
        let batch = decode(&mut decoder, number, ROWS);
        check(&batch, number);
        seen.extend(addresses(&batch));
        kept.push(batch);
    }
    assert!(free.iter().all(|address| seen.contains(address)), "a returned buffer was not reused");
    for (number, batch) in [2, 3, 4, 10, 11, 12, 13].into_iter().zip(&kept) {
        check(batch, number);
    }
    let last = slice.column_by_name("value").unwrap().as_binary::<i32>().value(0);
    assert_eq!(last, format!("batch  0 row {:>6}", ROWS - 1).as_bytes());
}

#[test]
fn batches_outlive_their_decoder() {
    let mut decoder = ArrowDecoder::new(&columns(), DecoderConfig::default());
    let batches = [decode(&mut decoder, 0, ROWS), decode(&mut decoder, 1, ROWS)];
    drop(decoder);
    for (number, batch) in (0..).zip(&batches) {
        check(batch, number);
    }
}

#[test]
fn a_small_batch_after_a_large_one_takes_little_memory() {
    let mut decoder = ArrowDecoder::new(&columns(), DecoderConfig::default());
    let large = decode(&mut decoder, 0, ROWS);
    drop(large);
    drop(decode(&mut decoder, 1, ROWS));
    let small = decode(&mut decoder, 2, 10);
    check(&small, 2);
    assert!(small.get_array_memory_size() < 10_000, "{} bytes", small.get_array_memory_size());
}

/// A record of 24 MiB takes that memory twice: in the decompression buffer and in its column.
#[test]
fn the_memory_of_a_huge_record_is_freed() {
    const SIZE: usize = 24 << 20;
    let mut builder = BatchBuilder::new(0);
    builder.append(0, None, Some(&vec![b'v'; SIZE]), &[]).unwrap();
    let blob =
        builder.finish(&ProducerState::default(), &mut Compressor::new(Compression::Zstd).unwrap()).unwrap();
    let mut decoder = ArrowDecoder::new(&columns(), DecoderConfig::default());
    let used = allocation_counter::measure(|| {
        let range = OffsetRange { topic: "orders", partition: 0, start: 0, end: i64::MAX };
        decoder.push(&blob, &range, PushOptions::default()).unwrap();
        decoder.flush().unwrap();
        let batch = decoder.pop().unwrap().batch;
        assert_eq!(batch.column_by_name("value").unwrap().as_binary::<i32>().value(0).len(), SIZE);
    });
    assert!(used.bytes_max <= (SIZE / 4 * 9) as u64, "{} bytes at most", used.bytes_max);
    assert!(used.bytes_current <= 1 << 20, "{} bytes are kept", used.bytes_current);
}
