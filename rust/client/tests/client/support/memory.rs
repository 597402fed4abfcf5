//! In-memory clusters. With tokio's clock paused (`start_paused = true`), a test on one takes no time,
//! sees exact durations, and behaves the same on any machine.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use ottla_client::environment::{BoxFuture, Environment, Network, SocketOptions, Stream, SystemNetwork};
use ottla_mock::{MemoryNetwork, MockConfig, Transport};

thread_local! {
    // Each test runs in a thread of its own, and so does its runtime.
    static PIPES: MemoryNetwork = MemoryNetwork::default();
    static ENVIRONMENTS: Cell<u64> = const { Cell::new(0) };
}

/// The in-memory network of this test.
pub(crate) fn memory_network() -> MemoryNetwork {
    PIPES.with(Clone::clone)
}

/// A cluster of the default shape, in memory.
pub(crate) fn in_memory() -> MockConfig {
    MockConfig { transport: Transport::Memory(memory_network()), ..MockConfig::default() }
}

/// An environment that reaches the clusters of this test.
pub(crate) fn memory_environment() -> Environment {
    // Each client draws other random numbers, such as its member id, but the same ones in each run.
    let seed = ENVIRONMENTS.replace(ENVIRONMENTS.get() + 1);
    Environment::new(Arc::new(Memory::default()), fastrand::Rng::with_seed(seed))
}

/// Makes the next clients draw the same random numbers as the first ones of this test.
pub(crate) fn forget_environments() {
    ENVIRONMENTS.set(0);
}

/// MemoryNetwork to in-memory clusters, and TCP to everything else.
#[derive(Debug)]
pub(crate) struct Memory(MemoryNetwork, SystemNetwork);

impl Default for Memory {
    fn default() -> Self {
        Self(memory_network(), SystemNetwork::default())
    }
}

impl Network for Memory {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move {
            match host.parse() {
                Ok(ip) => Ok(vec![SocketAddr::new(ip, port)]),
                Err(_) => self.1.resolve(host, port).await,
            }
        })
    }

    fn connect(
        &self,
        address: SocketAddr,
        options: SocketOptions,
    ) -> BoxFuture<'_, io::Result<Box<dyn Stream>>> {
        Box::pin(async move {
            if self.0.contains(address) {
                return Ok(Box::new(self.0.connect(address)?) as Box<dyn Stream>);
            }
            self.1.connect(address, options).await
        })
    }
}
