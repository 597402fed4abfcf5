//! Decodes fetched bytes to Arrow columns, CRC checked: the hot path of the consumer and of Spark.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a benchmark's macros document nothing; a failure may panic"
)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ottla_arrow::{ArrowDecoder, Column, DecoderConfig, OffsetRange, PushOptions};
use ottla_benches::{KEY, SIZES, fetched};
use ottla_protocol::records::Compression;

fn decode_to_arrow(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode_to_arrow");
    // The columns of Spark's source without headers, and a selection of two.
    let all = &Column::ALL[..7];
    let few = &[Column::Value, Column::Offset][..];
    let none = Compression::None;
    for (codec, key, columns, name) in
        Compression::ALL.map(|codec| (codec, Some(KEY), all, codec.name())).into_iter().chain([
            (none, Some(KEY), few, "value+offset"),
            (none, None, all, "no key"),
            (none, None, few, "value+offset, no key"),
            (none, None, &few[..1], "value, no key"),
        ])
    {
        for size in SIZES {
            let (blob, records) = fetched(codec, key, size, 1 << 20);
            let mut decoder = ArrowDecoder::new(columns, DecoderConfig::default());
            let range = OffsetRange { topic: "orders", partition: 0, start: 0, end: i64::MAX };
            group.throughput(Throughput::Elements(records));
            group.bench_function(BenchmarkId::new(name, size), |bencher| {
                bencher.iter(|| {
                    decoder.push(black_box(&blob), &range, PushOptions::default()).unwrap();
                    decoder.flush().unwrap();
                    while let Some(done) = decoder.pop() {
                        black_box(done);
                    }
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, decode_to_arrow);
criterion_main!(benches);
