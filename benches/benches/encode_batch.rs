//! Encodes records into batches (append, compress, CRC): from slices as a producer's `send`, and from
//! Arrow columns as `send_batch`.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a benchmark's macros document nothing; a failure may panic"
)]

use std::hint::black_box;

use arrow_array::{BinaryArray, RecordBatch};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ottla_arrow::RecordColumns;
use ottla_benches::{SIZES, values};
use ottla_protocol::records::{BatchBuilder, Compression, Compressor, ProducerState};

/// The batch size of these scenarios.
const BATCH: usize = 64 << 10;

fn encode_batch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("encode_batch");
    for codec in Compression::ALL {
        for size in SIZES {
            let values = values(size, 1 << 20);
            let mut builder = BatchBuilder::new(BATCH);
            let mut compressor = Compressor::new(codec).unwrap();
            group.throughput(Throughput::Elements(values.len() as u64));
            group.bench_function(BenchmarkId::new(codec.name(), size), |bencher| {
                bencher.iter(|| {
                    for value in &values {
                        builder
                            .append(1_700_000_000_000, Some(b"some-key"), Some(black_box(value)), &[])
                            .unwrap();
                        if builder.size_in_bytes() >= BATCH - size {
                            black_box(builder.finish(&ProducerState::default(), &mut compressor).unwrap());
                        }
                    }
                    builder.reset();
                });
            });
        }
    }
    for size in SIZES {
        let values = values(size, 1 << 20);
        let keys: BinaryArray = values.iter().map(|_| Some(b"some-key")).collect();
        let array: BinaryArray = values.iter().map(Some).collect();
        let batch = RecordBatch::try_from_iter([
            ("key", std::sync::Arc::new(keys) as _),
            ("value", std::sync::Arc::new(array) as _),
        ])
        .unwrap();
        let mut builder = BatchBuilder::new(BATCH);
        let mut compressor = Compressor::new(Compression::None).unwrap();
        group.throughput(Throughput::Elements(values.len() as u64));
        group.bench_function(BenchmarkId::new("from_columns", size), |bencher| {
            bencher.iter(|| {
                let columns = RecordColumns::try_new(black_box(&batch)).unwrap();
                let mut at = 0;
                while at < columns.len() {
                    at = columns.append(&mut builder, at, BATCH, 1_700_000_000_000).unwrap();
                    black_box(builder.finish(&ProducerState::default(), &mut compressor).unwrap());
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, encode_batch);
criterion_main!(benches);
