//! The keys of an object that have been read so far, for detecting missing and duplicate keys.
//!
//! Invariant: the cost of checking a key does not grow with the number of keys.

use std::borrow::Cow;
use std::collections::HashSet;

/// The largest number of map keys to search linearly.
const MAX_COMPARED: usize = 16;

/// The members of an object that have been read.
pub(super) enum Seen {
    Few(u64),
    Many(Vec<bool>),
}

impl Seen {
    #[inline]
    pub(super) fn new(members: usize) -> Self {
        if members <= 64 { Self::Few(0) } else { Self::Many(vec![false; members]) }
    }

    #[inline]
    pub(super) fn contains(&self, at: usize) -> bool {
        match self {
            Self::Few(bits) => bits >> at & 1 == 1,
            Self::Many(seen) => seen.get(at).is_some_and(|seen| *seen),
        }
    }

    /// Returns whether all members have been read, as far as one comparison shows it.
    #[inline]
    pub(super) fn is_complete(&self, members: usize) -> bool {
        match self {
            Self::Few(bits) => bits.count_ones() as usize == members,
            Self::Many(_) => false,
        }
    }

    /// Adds a member. Returns whether it is new.
    #[inline]
    pub(super) fn insert(&mut self, at: usize) -> bool {
        let is_new = !self.contains(at);
        match self {
            Self::Few(bits) => *bits |= 1 << at,
            Self::Many(seen) => {
                if let Some(seen) = seen.get_mut(at) {
                    *seen = true;
                }
            }
        }
        is_new
    }
}

/// The keys of a map.
#[derive(Default)]
pub(super) struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    many: HashSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    pub(super) fn contains(&self, key: &str) -> bool {
        self.few.iter().any(|known| known == key) || self.many.contains(key)
    }

    pub(super) fn insert(&mut self, key: Cow<'a, str>) {
        if self.few.len() < MAX_COMPARED {
            self.few.push(key);
        } else {
            self.many.insert(key);
        }
    }
}
