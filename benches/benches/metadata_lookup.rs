//! Looks up the leader of a partition, one atomic load and two hash look-ups, in a cluster of 20,000 topics.
#![allow(missing_docs, reason = "a benchmark's macros document nothing")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use ottla_benches::metadata;
use ottla_client::metadata::{Cache, TopicSelector};

fn metadata_lookup(criterion: &mut Criterion) {
    let cache = Cache::default();
    cache.process_response(metadata(20_000, 10), true, TopicSelector::All);
    criterion.bench_function("metadata_lookup/leader", |bencher| {
        bencher.iter(|| {
            cache.peek().partition(black_box("topic-10500"), black_box(7)).map(|partition| partition.leader)
        });
    });
    criterion.bench_function("metadata_lookup/snapshot", |bencher| {
        bencher.iter(|| black_box(cache.snapshot()).generation);
    });
}

criterion_group!(benches, metadata_lookup);
criterion_main!(benches);
