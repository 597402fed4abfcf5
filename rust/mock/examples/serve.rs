//! Runs a mock cluster for any client: prints its bootstrap servers and serves until standard input ends.
//!
//! `cargo run -p ottla-mock --example serve -- 3`, where 3 is the number of brokers.

use std::io::{self, Read};

use ottla_mock::{MockCluster, MockConfig};

fn main() -> io::Result<()> {
    let brokers = std::env::args().nth(1).map_or(Ok(3), |text| text.parse());
    let brokers = brokers.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let cluster = MockCluster::start_on(MockConfig { brokers, ..MockConfig::default() }, runtime.handle())?;
    println!("{}", cluster.bootstrap());
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
