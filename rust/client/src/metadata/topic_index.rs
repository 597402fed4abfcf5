//! Topics by name and by id, in shards that snapshots share: a change copies one shard and not 20,000
//! entries.
//!
//! Invariant: both indexes hold the same topics, each under its current id. The hash has a random seed,
//! because names come from the network.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};
use ottla_protocol::wire::Uuid;

use super::Topic;

/// Enough to keep the shards of a large cluster small; few enough to copy all of them cheaply.
const SHARDS: usize = 64;

type Shard = HashTable<Arc<Topic>>;

#[derive(Debug, Clone)]
pub(super) struct TopicIndex {
    hasher: DefaultHashBuilder,
    by_name: Box<[Arc<Shard>]>,
    by_id: Box<[Arc<Shard>]>,
    len: usize,
}

impl Default for TopicIndex {
    fn default() -> Self {
        Self::empty(DefaultHashBuilder::default())
    }
}

/// Uses bits of the hash that the hash tables hardly use.
fn shard_of(hash: u64) -> usize {
    (hash >> 32) as usize % SHARDS
}

impl TopicIndex {
    fn empty(hasher: DefaultHashBuilder) -> Self {
        let shards = || vec![Arc::<Shard>::default(); SHARDS].into_boxed_slice();
        Self { hasher, by_name: shards(), by_id: shards(), len: 0 }
    }

    /// An empty index with the same seed.
    pub(super) fn new_empty(&self) -> Self {
        Self::empty(self.hasher.clone())
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<Topic>> {
        let hash = self.hasher.hash_one(name);
        self.by_name.get(shard_of(hash))?.find(hash, |topic| *topic.name == *name)
    }

    pub(super) fn get_by_id(&self, id: Uuid) -> Option<&Arc<Topic>> {
        let hash = self.hasher.hash_one(id);
        self.by_id.get(shard_of(hash))?.find(hash, |topic| topic.id == id)
    }

    /// All topics, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.by_name.iter().flat_map(|shard| shard.iter())
    }

    /// Inserts a topic, replacing one of the same name.
    pub(super) fn insert(&mut self, topic: Arc<Topic>) {
        self.remove(&topic.name);
        self.len += 1;
        let (by_name, by_id) = (self.hasher.hash_one(&*topic.name), self.hasher.hash_one(topic.id));
        let hasher = &self.hasher;
        if !topic.id.is_zero()
            && let Some(shard) = self.by_id.get_mut(shard_of(by_id))
        {
            let rehash = |topic: &Arc<Topic>| hasher.hash_one(topic.id);
            Arc::make_mut(shard).insert_unique(by_id, Arc::clone(&topic), rehash);
        }
        if let Some(shard) = self.by_name.get_mut(shard_of(by_name)) {
            Arc::make_mut(shard).insert_unique(by_name, topic, |topic| hasher.hash_one(&*topic.name));
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        let hash = self.hasher.hash_one(name);
        let Some(topic) = self.get(name).cloned() else { return };
        self.len -= 1;
        remove_from(&mut self.by_name, hash, &topic);
        if !topic.id.is_zero() {
            let hash = self.hasher.hash_one(topic.id);
            remove_from(&mut self.by_id, hash, &topic);
        }
    }
}

fn remove_from(shards: &mut [Arc<Shard>], hash: u64, topic: &Arc<Topic>) {
    if let Some(shard) = shards.get_mut(shard_of(hash))
        && let Ok(found) = Arc::make_mut(shard).find_entry(hash, |known| Arc::ptr_eq(known, topic))
    {
        found.remove();
    }
}
