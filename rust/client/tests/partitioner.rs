//! Proves: keys go where the Java client sends them, by its own answers; records without a key are
//! spread over the partitions that have a leader, a batch at a time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod support;

use std::collections::HashMap;

use ottla_client::producer::{murmur2, partition_for_key};
use support::*;

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn murmur2_is_javas() {
    let Ok(dir) = std::env::var("OTTLA_ORACLE_DIR") else {
        panic!("OTTLA_ORACLE_DIR is not set: run `make test`, which asks Kafka's Java classes");
    };
    let path = std::path::Path::new(&dir).join("murmur2.jsonl");
    let lines = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut checked = 0;
    for line in lines.lines() {
        let answer: serde_json::Value = serde_json::from_str(line).unwrap();
        let key = from_hex(answer["key"].as_str().unwrap());
        let hash = i32::try_from(answer["murmur2"].as_i64().unwrap()).unwrap();
        let positive = u32::try_from(answer["positive"].as_i64().unwrap()).unwrap();
        assert_eq!(murmur2(&key).cast_signed(), hash, "{line}");
        for count in [1, 2, 3, 12, 1000] {
            let expected = positive % u32::try_from(count).unwrap();
            assert_eq!(u32::try_from(partition_for_key(&key, count)).unwrap(), expected, "{line}");
        }
        checked += 1;
    }
    assert!(checked >= 100, "only {checked} answers in {}", path.display());
    assert_eq!(partition_for_key(b"k", 0), 0);
}

#[tokio::test]
async fn records_without_a_key_fill_batches_and_spread_over_partitions_with_a_leader() {
    let cluster = cluster(4).await;
    let pairs = [("batch.size", "200"), ("linger.ms", "5")];
    let producer = producer(&cluster, &pairs).await;
    let mut partitions: Vec<i32> = Vec::new();
    for _ in 0..2000 {
        let sent = soon(producer.send("t", None, &record(b"0123456789"))).await.unwrap();
        partitions.push(sent.completion.partition().1);
    }
    let switches = partitions.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!((100..700).contains(&switches), "{switches}: stays for a batch, then moves on");
    let mut counts: HashMap<i32, usize> = HashMap::new();
    partitions.iter().for_each(|partition| *counts.entry(*partition).or_default() += 1);
    assert!(counts.len() == 4 && counts.values().all(|count| (300..700).contains(count)), "{counts:?}");
    soon(producer.flush(SOON)).await.unwrap();
    assert_eq!((0..4).map(|partition| log(&cluster, "t", partition).len()).sum::<usize>(), 2000);
}
