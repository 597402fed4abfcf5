//! [`Brokers`]: the brokers that the gateway knows, with the address of each in the cluster.
//!
//! Invariant: a connection to a broker's address here goes to that broker, at the address that the cluster has last
//! advertised for its id.

use std::collections::BTreeMap;

use ottla_client::Endpoint;
use parking_lot::Mutex;

/// A change of the known brokers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// A broker is known that was not.
    Added(i32, Endpoint),
    /// A broker has another address in the cluster.
    Moved {
        /// The broker.
        broker: i32,
        /// Where it was.
        from: Endpoint,
        /// Where it is.
        to: Endpoint,
    },
    /// A broker has left the cluster.
    Removed(i32),
}

/// The known brokers.
#[derive(Debug, Default)]
pub(crate) struct Brokers(Mutex<BTreeMap<i32, Endpoint>>);

impl Brokers {
    /// The addresses of all brokers in the cluster.
    pub(crate) fn all(&self) -> BTreeMap<i32, Endpoint> {
        self.0.lock().clone()
    }

    /// Records a broker that a response names.
    pub(crate) fn observe(&self, broker: i32, host: &str, port: u16) -> Option<Change> {
        let mut known = self.0.lock();
        match known.get_mut(&broker) {
            Some(endpoint) if endpoint.port == port && endpoint.host == host => None,
            Some(endpoint) => {
                let to = Endpoint { host: host.to_owned(), port };
                let from = std::mem::replace(endpoint, to.clone());
                Some(Change::Moved { broker, from, to })
            }
            None => {
                let endpoint = Endpoint { host: host.to_owned(), port };
                known.insert(broker, endpoint.clone());
                Some(Change::Added(broker, endpoint))
            }
        }
    }

    /// Records all brokers of the cluster.
    pub(crate) fn replace(&self, brokers: &BTreeMap<i32, Endpoint>) -> Vec<Change> {
        let gone: Vec<i32> = self.0.lock().keys().filter(|id| !brokers.contains_key(id)).copied().collect();
        let mut known = self.0.lock();
        gone.iter().for_each(|id| _ = known.remove(id));
        drop(known);
        let observed = brokers.iter().filter_map(|(id, at)| self.observe(*id, &at.host, at.port));
        gone.iter().map(|id| Change::Removed(*id)).chain(observed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_come_move_and_leave() {
        let brokers = Brokers::default();
        let at = |port| Endpoint { host: "kafka".to_owned(), port };
        assert_eq!(brokers.observe(1, "kafka", 1), Some(Change::Added(1, at(1))));
        assert_eq!(brokers.observe(1, "kafka", 1), None);
        let changes = brokers.replace(&BTreeMap::from([(1, at(2)), (2, at(3))]));
        let moved = Change::Moved { broker: 1, from: at(1), to: at(2) };
        assert_eq!(changes, [moved, Change::Added(2, at(3))]);
        assert_eq!(brokers.replace(&BTreeMap::from([(2, at(3))])), [Change::Removed(1)]);
        assert_eq!(brokers.all(), BTreeMap::from([(2, at(3))]));
    }
}
