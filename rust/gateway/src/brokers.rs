//! [`Brokers`]: the brokers that the gateway knows, with the address of each in the cluster.
//!
//! Invariants: a connection to a broker's address here goes to that broker, at the address that the cluster has last
//! advertised for its id. A session at an earlier cluster replaces nothing that the present one has named.

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

/// The bootstrap servers that the gateway was told, counted from the first: a reload that names others begins the next
/// era, perhaps that of another cluster.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Era(u64);

impl Era {
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A known broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broker {
    /// Its address in the cluster.
    pub(crate) at: Endpoint,
    /// When it was last named.
    pub(crate) era: Era,
}

/// The known brokers.
#[derive(Debug, Default)]
pub(crate) struct Brokers(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    brokers: BTreeMap<i32, Broker>,
    era: Era,
    /// Whether the gateway itself could ask for all brokers in this era.
    is_complete: bool,
}

impl Brokers {
    /// The ids of all brokers. Those of an earlier era may be gone, or in another cluster.
    pub(crate) fn ids(&self) -> Vec<i32> {
        self.0.lock().brokers.keys().copied().collect()
    }

    pub(crate) fn has(&self, id: i32) -> bool {
        self.0.lock().brokers.contains_key(&id)
    }

    pub(crate) fn of(&self, id: i32) -> Option<Broker> {
        self.0.lock().brokers.get(&id).cloned()
    }

    /// The brokers that were named in this era.
    pub(crate) fn current(&self) -> BTreeMap<i32, Broker> {
        let known = self.0.lock();
        let current = known.brokers.iter().filter(|(_, broker)| broker.era == known.era);
        current.map(|(id, broker)| (*id, broker.clone())).collect()
    }

    /// Begins this era, unless it has begun.
    pub(crate) fn begin(&self, era: Era) {
        let mut known = self.0.lock();
        if known.era != era {
            known.era = era;
            known.is_complete = false;
        }
    }

    /// Records a broker that a response names, in a session whose broker was named in this era.
    pub(crate) fn observe(&self, era: Era, id: i32, host: &str, port: u16) -> Option<Change> {
        self.0.lock().observe(era, id, host, port)
    }

    /// Records all brokers of the cluster.
    pub(crate) fn replace(&self, era: Era, brokers: &BTreeMap<i32, Endpoint>) -> Vec<Change> {
        let mut known = self.0.lock();
        if era != known.era {
            return Vec::new();
        }
        known.is_complete = true;
        let gone: Vec<i32> = known.brokers.keys().filter(|id| !brokers.contains_key(id)).copied().collect();
        gone.iter().for_each(|id| _ = known.brokers.remove(id));
        let observed = brokers.iter().filter_map(|(id, at)| known.observe(era, *id, &at.host, at.port));
        gone.iter().map(|id| Change::Removed(*id)).chain(observed).collect()
    }
}

impl Known {
    fn observe(&mut self, era: Era, id: i32, host: &str, port: u16) -> Option<Change> {
        match self.brokers.get_mut(&id) {
            Some(broker) if broker.era > era => None,
            // An earlier cluster may have this broker in place of the present one.
            None if era < self.era && self.is_complete => None,
            Some(broker) => {
                broker.era = era;
                if broker.at.port == port && broker.at.host == host {
                    return None;
                }
                let to = Endpoint { host: host.to_owned(), port };
                let from = std::mem::replace(&mut broker.at, to.clone());
                Some(Change::Moved { broker: id, from, to })
            }
            None => {
                let at = Endpoint { host: host.to_owned(), port };
                self.brokers.insert(id, Broker { at: at.clone(), era });
                Some(Change::Added(id, at))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_come_move_and_leave() {
        let brokers = Brokers::default();
        let era = Era::default();
        assert_eq!(brokers.observe(era, 1, "kafka", 1), Some(Change::Added(1, at(1))));
        assert_eq!(brokers.observe(era, 1, "kafka", 1), None);
        let changes = brokers.replace(era, &BTreeMap::from([(1, at(2)), (2, at(3))]));
        let moved = Change::Moved { broker: 1, from: at(1), to: at(2) };
        assert_eq!(changes, [moved, Change::Added(2, at(3))]);
        assert_eq!(brokers.replace(era, &BTreeMap::from([(2, at(3))])), [Change::Removed(1)]);
        assert_eq!(brokers.current(), BTreeMap::from([(2, Broker { at: at(3), era })]));
    }

    #[test]
    fn an_earlier_cluster_replaces_nothing_of_the_present_one() {
        let brokers = Brokers::default();
        let first = Era::default();
        let second = first.next();
        _ = brokers.replace(first, &BTreeMap::from([(1, at(1)), (2, at(2))]));
        brokers.begin(second);
        assert_eq!(brokers.current(), BTreeMap::new());
        assert_eq!(brokers.ids().len(), 2, "connections to them go on");

        // Until the cluster could be asked, what was opened before knows best about the rest.
        assert_eq!(brokers.observe(first, 3, "kafka", 3), Some(Change::Added(3, at(3))));
        let moved = Change::Moved { broker: 1, from: at(1), to: at(11) };
        assert_eq!(brokers.observe(second, 1, "kafka", 11), Some(moved));
        assert_eq!(brokers.observe(first, 1, "kafka", 1), None);
        assert_eq!(brokers.current(), BTreeMap::from([(1, Broker { at: at(11), era: second })]));

        let changes = brokers.replace(second, &BTreeMap::from([(1, at(11))]));
        assert_eq!(changes, [Change::Removed(2), Change::Removed(3)]);
        assert_eq!(brokers.observe(first, 2, "kafka", 2), None);
        assert_eq!(brokers.replace(first, &BTreeMap::from([(2, at(2))])), [], "asked before the reload");
        assert_eq!(brokers.ids(), brokers.current().into_keys().collect::<Vec<i32>>());
    }

    fn at(port: u16) -> Endpoint {
        Endpoint { host: "kafka".to_owned(), port }
    }
}
