//! Writes invoices, reads them as a member of a group, and commits what was processed.
//!
//! Run it with `cargo run -p ottla-client --example produce_and_consume -- localhost:9092`.

use std::time::Duration;

use ottla_client::config::Value;
use ottla_client::consumer::Consumer;
use ottla_client::consumer::group::Subscription;
use ottla_client::environment::Environment;
use ottla_client::producer::{Producer, Record, now_millis};
use ottla_client::{Client, Config, Result};

const TIMEOUT: Duration = Duration::from_secs(30);
const INVOICES: usize = 1_000;

async fn connect(bootstrap: &str, keys: &[(&str, &str)]) -> Result<Client> {
    let keys = keys.iter().map(|(key, value)| (*key, Value::Str((*value).to_owned())));
    let bootstrap = ("bootstrap.servers", Value::Str(bootstrap.to_owned()));
    let config = Config::from_pairs(keys.chain([bootstrap]))?;
    Client::connect(config, Environment::default(), TIMEOUT).await
}

/// Writes the invoices; each is acknowledged by all in-sync replicas.
async fn produce(bootstrap: &str) -> Result<()> {
    let producer =
        Producer::new(connect(bootstrap, &[("linger.ms", "5"), ("compression.type", "zstd")]).await?)?;
    let mut deliveries = Vec::with_capacity(INVOICES);
    for number in 0..INVOICES {
        let (key, value) = (format!("customer-{}", number % 7), format!("invoice {number}"));
        let record = Record {
            timestamp: now_millis(),
            key: Some(key.as_bytes()),
            value: Some(value.as_bytes()),
            headers: &[],
        };
        deliveries.push(producer.send("invoices", None, &record).await?);
    }
    for delivery in deliveries {
        delivery.wait().await?;
    }
    producer.close(TIMEOUT).await
}

/// Reads the invoices; returns how many there were.
async fn consume(bootstrap: &str) -> Result<usize> {
    let keys = [("group.id", "billing"), ("auto.offset.reset", "earliest"), ("enable.auto.commit", "false")];
    let consumer = Consumer::new(connect(bootstrap, &keys).await?);
    consumer.subscribe(Subscription::Topics(vec!["invoices".into()]))?;
    let mut processed = 0;
    while processed < INVOICES {
        for set in consumer.poll(TIMEOUT, 500).await? {
            for record in &set.entries {
                let value = set.value(record).unwrap_or_default();
                assert!(value.starts_with(b"invoice "), "offset {} of {:?}", record.offset, set.partition);
                processed += 1;
            }
        }
        // The positions after the records above.
        consumer.commit(None, TIMEOUT).await?;
    }
    consumer.close(TIMEOUT).await?;
    Ok(processed)
}

/// Writes and reads the invoices; returns how many were read.
pub(crate) async fn run(bootstrap: &str) -> Result<usize> {
    produce(bootstrap).await?;
    consume(bootstrap).await
}

#[tokio::main]
#[allow(dead_code, reason = "a test runs `run` against a cluster in its process")]
async fn main() -> Result<()> {
    let bootstrap = std::env::args().nth(1).unwrap_or_else(|| "localhost:9092".to_owned());
    println!("{} invoices processed", run(&bootstrap).await?);
    Ok(())
}
