//! Tests appenders: many records arrive as if sent one by one, however their partitions are chosen;
//! unused memory is released; threads that send at the same time neither deadlock nor lose a record;
//! pooled buffers never mix the bytes of two batches.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::*;
use ottla_client::Kind;
use ottla_client::producer::{AppendResult, Delivery, Producer, Record, partition_for_key};
use ottla_mock::{Fault, Match, Reaction, When};
use ottla_protocol::ApiKey;

/// Sends records through one appender, which must accept them all.
fn append(producer: &Producer, records: &[(Option<i32>, Record<'_>)]) -> Vec<Delivery> {
    let writer = producer.cached_topic_writer("t").unwrap();
    let mut appender = producer.appender(&writer, None);
    let mut sent = Vec::new();
    for (partition, record) in records {
        match appender.send(*partition, record).expect("accepted") {
            AppendResult::Accepted(produce_result, index) => {
                sent.push(Delivery { produce_result: Arc::clone(produce_result), index });
            }
            AppendResult::BufferFull(bytes) => panic!("no memory for {bytes} bytes"),
        }
    }
    sent
}

#[tokio::test(start_paused = true)]
async fn appended_records_go_where_single_ones_would() {
    let cluster = cluster(3).await;
    // Small batches, so that the records span many.
    let producer = producer(&cluster, &[("batch.size", "600"), ("linger.ms", "1")]).await;
    within_deadline(producer.topic_writer("t", producer.max_block_deadline())).await.unwrap();
    let values: Vec<String> = (0..3000).map(|n| n.to_string()).collect();
    let keys: Vec<String> = (0..3000).map(|n| format!("key-{n}")).collect();
    let records: Vec<_> = (0..3000)
        .map(|n| {
            let key = (n % 3 == 0).then(|| keys[n].as_bytes());
            // By turns: by key, to a given partition, and to the sticky one.
            ((n % 3 == 1).then_some(n as i32 / 3 % 3), Record { key, ..record(values[n].as_bytes()) })
        })
        .collect();
    let sent = append(&producer, &records);
    within_deadline(producer.flush(ms(20_000))).await.expect("written");
    let logs: Vec<BTreeMap<i64, String>> =
        (0..3).map(|partition| log(&cluster, "t", partition).into_iter().collect()).collect();
    assert_eq!(logs.iter().map(BTreeMap::len).sum::<usize>(), 3000);
    let mut before = [-1; 3];
    for (n, (delivery, (partition, record))) in sent.iter().zip(&records).enumerate() {
        let (_, chosen) = *delivery.produce_result.partition();
        let expected = partition.or(record.key.map(|key| partition_for_key(key, 3)));
        assert_eq!(chosen, expected.unwrap_or(chosen), "record {n}");
        let offset = delivery.result().unwrap().expect("written").offset;
        assert_eq!(logs[chosen as usize][&offset], values[n]);
        assert!(offset > before[chosen as usize], "record {n} overtook another");
        before[chosen as usize] = offset;
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_record_fails_alone_and_releases_its_memory() {
    let cluster = cluster(1).await;
    let pairs = [
        ("buffer.memory", "40000"),
        ("max.request.size", "5000"),
        ("linger.ms", "60000"),
        ("delivery.timeout.ms", "120000"),
        ("batch.size", "30000"),
    ];
    let producer = producer(&cluster, &pairs).await;
    let writer = within_deadline(producer.topic_writer("t", producer.max_block_deadline())).await.unwrap();
    let (small, large) = ([b's'; 100], [b'l'; 6000]);
    append(&producer, &[(None, record(&small))]);
    let one = producer.buffered_bytes();
    assert!((100..200).contains(&one), "{one} bytes for one record: unused memory is released");
    let mut appender = producer.appender(&writer, None);
    let error = appender.send(None, &record(&large)).expect_err("too large");
    assert_eq!(error.kind(), Kind::RecordTooLarge);
    let error = appender.send(Some(7), &record(&small)).expect_err("no such partition");
    assert_eq!(error.kind(), Kind::UnknownTopic);
    let mut accepted = 1;
    let missing = loop {
        match appender.send(None, &record(&small)).expect("accepted or full") {
            AppendResult::Accepted(..) => accepted += 1,
            AppendResult::BufferFull(bytes) => break bytes,
        }
    };
    assert_eq!(missing, one, "all records need the same");
    assert_eq!(producer.buffered_bytes(), accepted * one, "nothing stays reserved for other records");
    assert!(producer.buffered_bytes() + one > 40_000, "all memory can be used");
    drop(appender);
    within_deadline(producer.flush(ms(20_000))).await.expect("written");
    assert_eq!(producer.buffered_bytes(), 0);
    assert_eq!(log(&cluster, "t", 0).len(), accepted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_that_send_at_once_lose_nothing() {
    let cluster = cluster(2).await;
    let producer = Arc::new(producer(&cluster, &[("batch.size", "4000"), ("linger.ms", "0")]).await);
    let writer = within_deadline(producer.topic_writer("t", producer.max_block_deadline())).await.unwrap();
    let threads: Vec<_> = (0..4_usize)
        .map(|thread| {
            let (producer, writer) = (Arc::clone(&producer), Arc::clone(&writer));
            tokio::task::spawn_blocking(move || {
                for round in 0..50_usize {
                    let mut appender = producer.appender(&writer, None);
                    for n in 0..100_usize {
                        // All kinds of records, so that threads hold locks that others want.
                        let partition = ((n + thread) % 3 == 0).then_some((n % 2) as i32);
                        let value = format!("{thread}-{}", round * 100 + n);
                        let key = (n % 5 == 0).then_some(value.as_bytes());
                        let record = Record { key, ..record(value.as_bytes()) };
                        let sent = appender.send(partition, &record).expect("accepted");
                        assert!(matches!(sent, AppendResult::Accepted(..)), "32 MB are enough");
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        within_deadline(thread).await.expect("no deadlock");
    }
    within_deadline(producer.flush(ms(20_000))).await.expect("written");
    let mut values: Vec<String> =
        (0..2).flat_map(|partition| log(&cluster, "t", partition)).map(|(_, value)| value).collect();
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), 4 * 5000);
    assert_eq!(producer.buffered_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn pooled_buffers_never_mix_two_batches() {
    for codec in ["none", "lz4"] {
        let cluster = cluster(1).await;
        let pairs = [("batch.size", "200000"), ("linger.ms", "0"), ("compression.type", codec)];
        let producer = producer(&cluster, &pairs).await;
        within_deadline(producer.topic_writer("t", producer.max_block_deadline())).await.unwrap();
        // Lost responses make batches be sent again from the same bytes, while others come and go.
        for skipped in [0, 2, 3, 7] {
            let lost = Match::api(ApiKey::Produce).skip(skipped);
            cluster.inject(Fault::once(lost, Reaction::Disconnect(When::AfterHandling)));
        }
        let values: Vec<String> = (0..300).map(|n| format!("{n}-").repeat(3000)).collect();
        for some in values.chunks(30) {
            let records: Vec<_> = some.iter().map(|value| (Some(0), record(value.as_bytes()))).collect();
            let sent = append(&producer, &records);
            within_deadline(sent.last().unwrap().wait()).await.expect("written");
        }
        within_deadline(producer.flush(ms(20_000))).await.expect("written");
        let log: Vec<String> = log(&cluster, "t", 0).into_iter().map(|(_, value)| value).collect();
        assert_eq!(log.len(), values.len());
        assert!(log == values, "{codec}: records are mixed up");
    }
}
