//! Reads a whole topic as Arrow batches, each partition from its leader, without a group.
//!
//! Run it with `cargo run -p ottla-client --example scan_to_arrow -- localhost:9092 orders`.

use std::sync::Arc;
use std::time::Duration;

use ottla_client::config::Value;
use ottla_client::consumer::{ArrowLayout, Range, Scan, ScanOptions};
use ottla_client::environment::Environment;
use ottla_client::{Client, Config, IfMissing, OffsetSpec, Result, TopicPartition};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Reads what the topic has now; returns the number of rows and batches.
pub(crate) async fn run(bootstrap: &str, topic: &str) -> Result<(usize, usize)> {
    let config = Config::from_pairs([("bootstrap.servers", Value::Str(bootstrap.to_owned()))])?;
    let client = Client::connect(config, Environment::default(), TIMEOUT).await?;
    let topic: Arc<str> = topic.into();
    let found = client.topics(&[Arc::clone(&topic)], IfMissing::Fail, TIMEOUT).await?;
    let partitions: Vec<TopicPartition> = found
        .iter()
        .flat_map(|found| &found.partitions)
        .map(|partition| (Arc::clone(&topic), partition.index))
        .collect();

    let at =
        |spec: OffsetSpec| partitions.iter().map(|partition| (partition.clone(), spec)).collect::<Vec<_>>();
    let starts = client.list_offsets(at(OffsetSpec::Earliest), false, TIMEOUT).await?;
    let ends = client.list_offsets(at(OffsetSpec::Latest), false, TIMEOUT).await?;
    let ranges = starts.into_iter().map(|(partition, start)| {
        let end = ends.get(&partition).map_or(start.offset, |end| end.offset);
        Range { partition, start: start.offset, end }
    });

    let options =
        ScanOptions { fail_on_data_loss: true, read_committed: true, max_bytes: 8 << 20, timeout: TIMEOUT };
    let layout = ArrowLayout { max_rows: 10_000, ..ArrowLayout::default() };
    let mut scan = Scan::start(client.clone(), ranges.collect(), options, &layout);
    let (mut rows, mut batches) = (0, 0);
    while let Some(batch) = scan.next_batch().await? {
        rows += batch.num_rows();
        batches += 1;
    }
    Ok((rows, batches))
}

#[tokio::main]
#[allow(dead_code, reason = "a test runs `run` against a cluster in its process")]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let bootstrap = arguments.next().unwrap_or_else(|| "localhost:9092".to_owned());
    let topic = arguments.next().unwrap_or_else(|| "orders".to_owned());
    let (rows, batches) = run(&bootstrap, &topic).await?;
    println!("{rows} rows in {batches} batches");
    Ok(())
}
