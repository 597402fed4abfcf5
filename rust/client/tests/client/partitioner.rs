//! Tests partitioners: keys go where the Java client sends them, according to Kafka's own classes;
//! with librdkafka's partitioners they go where librdkafka sends them. Unknown names are errors.

use crate::support::*;
use ottla_client::Config;
use ottla_client::config::{Partitioner, Value};
use ottla_client::producer::partitioner::consistent;
use ottla_client::producer::{Record, murmur2, partition_for_key};

fn from_hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn murmur2_matches_java() {
    let Ok(dir) = std::env::var("OTTLA_ORACLE_DIR") else {
        panic!("OTTLA_ORACLE_DIR is not set: run `make test`, which asks Kafka's Java classes");
    };
    let path = std::path::Path::new(&dir).join("murmur2.jsonl");
    let lines = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut checked = 0;
    for line in lines.lines() {
        let expected: serde_json::Value = serde_json::from_str(line).unwrap();
        let key = from_hex(expected["key"].as_str().unwrap());
        let hash = i32::try_from(expected["murmur2"].as_i64().unwrap()).unwrap();
        let positive = u32::try_from(expected["positive"].as_i64().unwrap()).unwrap();
        assert_eq!(murmur2(&key).cast_signed(), hash, "{line}");
        for count in [1, 2, 3, 12, 1000] {
            let expected = positive % u32::try_from(count).unwrap();
            assert_eq!(u32::try_from(partition_for_key(&key, count)).unwrap(), expected, "{line}");
        }
        let count = usize::try_from(expected["count"].as_u64().unwrap()).unwrap();
        assert_eq!(
            i64::from(partition_for_key(&key, count)),
            expected["partition"].as_i64().unwrap(),
            "{line}"
        );
        checked += 1;
    }
    assert!(checked >= 100_000, "only {checked} cases in {}", path.display());
    assert_eq!(partition_for_key(b"k", 0), 0);
}

/// CRC-32 by its definition, one bit at a time.
fn crc32(data: &[u8]) -> u32 {
    let step = |sum: u32, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
    !data.iter().fold(!0_u32, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

/// Compared with librdkafka itself: `tests/mock/test_partitioners.py`.
#[test]
fn consistent_is_zlibs_crc_modulo_the_partition_count() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926, "the check value of CRC-32/ISO-HDLC");
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..10_000 {
        let key: Vec<u8> = (0..random.usize(..100)).map(|_| random.u8(..)).collect();
        let count = random.usize(1..2000);
        let expected = crc32(&key) as usize % count;
        assert_eq!(usize::try_from(consistent(&key, count)).unwrap(), expected, "{key:?} {count}");
    }
    assert_eq!(consistent(b"k", 0), 0);
}

fn keyed<'a>(key: Option<&'a [u8]>) -> Record<'a> {
    Record { key, ..record(b"v") }
}

#[tokio::test(start_paused = true)]
async fn each_partitioner_sends_keys_to_their_partition() {
    let cluster = cluster(7).await;
    for name in ["default", "murmur2_random", "murmur2", "consistent", "consistent_random"] {
        let producer = producer(&cluster, &[("partitioner", name), ("batch.size", "1")]).await;
        for n in 0..50 {
            let key = n.to_string();
            let sent = within_deadline(producer.send("t", None, &keyed(Some(key.as_bytes())))).await.unwrap();
            let expected = match name {
                "consistent" | "consistent_random" => consistent(key.as_bytes(), 7),
                _ => partition_for_key(key.as_bytes(), 7),
            };
            assert_eq!(sent.produce_result.partition().1, expected, "{name} {key}");
        }
        let mut keyless = Vec::new();
        let mut empty = Vec::new();
        for _ in 0..60 {
            let sent = within_deadline(producer.send("t", None, &keyed(None))).await.unwrap();
            keyless.push(sent.produce_result.partition().1);
            let sent = within_deadline(producer.send("t", None, &keyed(Some(b"")))).await.unwrap();
            empty.push(sent.produce_result.partition().1);
        }
        let one = |partitions: &[i32]| partitions.iter().all(|partition| *partition == partitions[0]);
        assert_eq!(one(&keyless), matches!(name, "murmur2" | "consistent"), "{name} {keyless:?}");
        assert_eq!(one(&empty), name != "consistent_random", "{name} {empty:?}");
        within_deadline(producer.close(CALL_TIMEOUT)).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn partitioners_that_ignore_keys_spread_them() {
    let cluster = cluster(4).await;
    let round_robin = ("partitioner.class", "org.apache.kafka.clients.producer.RoundRobinPartitioner");
    let sticky = ("partitioner.class", "org.apache.kafka.clients.producer.UniformStickyPartitioner");
    for pair in [round_robin, sticky, ("partitioner.class", "random"), ("partitioner.ignore.keys", "true")] {
        let producer = producer(&cluster, &[pair, ("batch.size", "1")]).await;
        let mut partitions = Vec::new();
        for _ in 0..80 {
            let sent = within_deadline(producer.send("t", None, &keyed(Some(b"k")))).await.unwrap();
            partitions.push(sent.produce_result.partition().1);
        }
        for partition in 0..4 {
            assert!(partitions.contains(&partition), "{pair:?} {partitions:?}");
        }
        if pair == round_robin {
            assert!(partitions.windows(4).all(|four| (0..4).all(|p| four.contains(&p))), "{partitions:?}");
        }
        within_deadline(producer.close(CALL_TIMEOUT)).await.unwrap();
    }
}

#[test]
fn a_partitioner_is_a_name_and_never_code() {
    let set = |key: &str, value: &str| {
        Config::from_pairs([(key, Value::from(value))]).map(|config| config.partitioner)
    };
    for key in ["partitioner", "partitioner.class", "partitioner_class"] {
        assert_eq!(set(key, "consistent_random").unwrap(), Partitioner::ConsistentRandom);
    }
    for (wrong, near) in [
        ("consistent_randm", "did you mean consistent_random?"),
        ("murmur", "did you mean murmur2?"),
        ("RoundRobinPartitioner", "did you mean org.apache.kafka.clients.producer.RoundRobinPartitioner?"),
        ("com.acme.OurOwn", "no class is loaded"),
    ] {
        let error = set("partitioner.class", wrong).unwrap_err().to_string();
        assert!(error.contains(near) && error.contains(wrong), "{error}");
    }
    let both = [("partitioner", "consistent"), ("partitioner.ignore.keys", "true")];
    let error = Config::from_pairs(both.map(|(key, value)| (key, Value::from(value)))).unwrap_err();
    assert!(error.to_string().contains("partitioner.ignore.keys=true works with the default"), "{error}");
}
