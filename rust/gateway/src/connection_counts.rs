//! [`ConnectionCounts`]: how many connections clients have, in all and from each address.
//!
//! Invariant: a connection is counted until its [`Counted`] is dropped.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

/// The connections of clients.
#[derive(Debug)]
pub(crate) struct ConnectionCounts {
    max: usize,
    max_per_address: usize,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// Why a connection is one too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    /// There are as many as there may be.
    All(usize),
    /// There are as many from this address as there may be.
    Address(usize),
}

/// A connection that counts.
#[derive(Debug)]
pub(crate) struct Counted {
    counts: Arc<ConnectionCounts>,
    address: IpAddr,
}

impl ConnectionCounts {
    /// Allows `max` connections, and `max_per_address` from one address.
    pub(crate) fn new(max: usize, max_per_address: usize) -> Self {
        Self { max, max_per_address, counts: Mutex::default() }
    }

    /// Counts a connection, unless it is one too many.
    pub(crate) fn add(self: &Arc<Self>, address: IpAddr) -> Result<Counted, Excess> {
        // The same machine, whether it connects to an IPv4 or an IPv6 listener.
        let address = address.to_canonical();
        let mut counts = self.counts.lock();
        if counts.all >= self.max {
            return Err(Excess::All(self.max));
        }
        let of_address = counts.by_address.get(&address).copied().unwrap_or_default();
        if of_address >= self.max_per_address {
            return Err(Excess::Address(self.max_per_address));
        }
        counts.by_address.insert(address, of_address + 1);
        counts.all += 1;
        Ok(Counted { counts: Arc::clone(self), address })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.counts.counts.lock();
        counts.all -= 1;
        if let Some(count) = counts.by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]
    use super::*;

    #[test]
    fn connections_count_until_they_are_dropped() {
        let counts = Arc::new(ConnectionCounts::new(3, 2));
        let [a, b, mapped]: [IpAddr; 3] =
            ["10.0.0.1", "10.0.0.2", "::ffff:10.0.0.1"].map(|text| text.parse().unwrap());
        let first = counts.add(a).unwrap();
        let second = counts.add(mapped).unwrap();
        assert_eq!(counts.add(a).unwrap_err(), Excess::Address(2));
        let third = counts.add(b).unwrap();
        assert_eq!(counts.add(b).unwrap_err(), Excess::All(3));
        drop(first);
        let fourth = counts.add(a).unwrap();
        drop((second, third, fourth));
        assert!(counts.counts.lock().by_address.is_empty());
    }
}
