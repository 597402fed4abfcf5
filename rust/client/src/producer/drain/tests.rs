//! Tests that a drain visits exactly the partitions that have batches, however many partitions there
//! are.

use tokio::time::Duration;

use super::*;
use crate::config::{Config, Value};
use crate::producer::Record;
use crate::producer::produce_result::AppendInfo;

const PARTITIONS: i32 = 1_000;

fn accumulator() -> Accumulator {
    let pairs = [("bootstrap.servers", "a:1"), ("enable.idempotence", "false"), ("linger.ms", "0")];
    let pairs = pairs.map(|(key, value)| (key, Value::from(value)));
    Accumulator::new(&Config::from_pairs(pairs).expect("a configuration"), None)
}

fn append(accumulator: &Accumulator, partition: i32) {
    let record = Record { timestamp: 0, key: None, value: Some(b"v"), headers: &[] };
    let bytes = record.size();
    assert!(accumulator.memory.try_reserve(bytes));
    let queue = accumulator.queue(&"t".into(), partition);
    let mut state = queue.state.lock();
    accumulator.append(&queue, &mut state, &record, bytes).expect("appended");
}

fn active(accumulator: &Accumulator) -> Vec<usize> {
    accumulator.active.lock().clone()
}

/// Drains and returns all batches that can be sent.
fn drain(accumulator: &Accumulator) -> Vec<Batch> {
    let now = Instant::now() + Duration::from_millis(1);
    let drained = accumulator.drain(now, 1 << 20, None, |_| Some(1), |_| 5);
    drained.requests.into_values().flatten().flatten().collect()
}

#[test]
fn only_partitions_with_batches_are_visited() {
    let accumulator = accumulator();
    (0..PARTITIONS).for_each(|partition| append(&accumulator, partition));
    let batches = drain(&accumulator);
    assert_eq!(batches.len(), 1_000);
    assert_eq!(active(&accumulator).len(), 1_000, "batches in flight may expire");
    for batch in batches {
        accumulator.complete(batch, Ok(AppendInfo::UNKNOWN));
    }
    assert!(drain(&accumulator).is_empty() && active(&accumulator).is_empty());

    // Batches that come back stay in the list, and new ones appear once.
    [7, 3, 7].iter().for_each(|partition| append(&accumulator, *partition));
    assert_eq!(active(&accumulator), [7, 3]);
    let batches = drain(&accumulator);
    for batch in batches {
        accumulator.retry(batch, Instant::now(), Error::new(crate::error::Kind::Connection, "lost"));
    }
    assert_eq!(drain(&accumulator).len(), 2);
    assert_eq!(active(&accumulator), [7, 3]);
}
