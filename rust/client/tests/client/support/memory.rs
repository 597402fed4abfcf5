//! Clusters in memory: with tokio's clock paused (`start_paused = true`) a test on one takes no time, sees
//! exact durations, and does the same on any machine.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use ottla_client::environment::{BoxFuture, Environment, Network, SocketOptions, Stream, System};
use ottla_mock::{MemoryNetwork, MockConfig, Transport};

thread_local! {
    // A test runs on a thread of its own, and so does its runtime.
    static MEMORY_NETWORK: MemoryNetwork = MemoryNetwork::default();
    static ENVIRONMENTS: Cell<u64> = const { Cell::new(0) };
}

/// The network in memory of this test.
pub(crate) fn memory_network() -> MemoryNetwork {
    MEMORY_NETWORK.with(Clone::clone)
}

/// A cluster of the usual shape, in memory.
pub(crate) fn in_memory() -> MockConfig {
    MockConfig { transport: Transport::Memory(memory_network()), ..MockConfig::default() }
}

/// The world with the clusters of this test in it.
pub(crate) fn memory_environment() -> Environment {
    // Each client draws other numbers, its member's id among them, and the same in each run.
    let seed = ENVIRONMENTS.replace(ENVIRONMENTS.get() + 1);
    Environment::new(Arc::new(Memory::default()), fastrand::Rng::with_seed(seed))
}

/// Has the clients that come draw the same numbers as the first of this test did.
pub(crate) fn forget_environments() {
    ENVIRONMENTS.set(0);
}

/// An environment that reaches in-memory clusters by the memory network, everything else by TCP.
#[derive(Debug)]
pub(crate) struct Memory(MemoryNetwork, System);

impl Default for Memory {
    fn default() -> Self {
        Self(memory_network(), System::default())
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
