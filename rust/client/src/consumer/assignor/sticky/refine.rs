//! Improves a balanced assignment: nearer partitions, and closer to the previous assignment.
//!
//! Invariant: members exchange partitions or differ by one, so the assignment stays balanced.

use std::collections::BTreeSet;

use super::assignment_builder::{AssignmentBuilder, PartitionKey};

/// How many exchanges are tried at most.
const MAX_STEPS: usize = 5_000_000;

impl AssignmentBuilder<'_> {
    /// Exchanges partitions that are far away or not with their previous owner. Every exchange is an
    /// improvement, so it terminates; in large groups it stops early, because the rest is not worth the
    /// leader's time.
    pub(super) fn refine(&mut self) {
        let mut steps = MAX_STEPS;
        loop {
            let misplaced = |key: PartitionKey, owner: usize| {
                !self.is_near(owner, key)
                    || self.previous_owner.get(&key).is_some_and(|previous| *previous != owner)
            };
            let partitions = self.owner.iter().filter(|(key, owner)| misplaced(**key, **owner));
            let partitions: BTreeSet<PartitionKey> = partitions.map(|(key, _)| *key).collect();
            let mut changed = false;
            for key in partitions {
                changed |= self.improve(key, &mut steps);
                if steps == 0 {
                    return;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Looks for a better owner of a partition.
    fn improve(&mut self, key: PartitionKey, steps: &mut usize) -> bool {
        let Some(from) = self.owner.get(&key).copied() else { return false };
        // One of two exchanged partitions gains on its own; this is that one.
        let others = match self.is_near(from, key) {
            true => self.previous_owner.get(&key).copied().into_iter().collect(),
            false => self.topics[key.1].subscribers.clone(),
        };
        for to in others {
            let gain = self.gain(key, from, to);
            if gain <= (0, 0) {
                continue;
            }
            if self.load(from) == self.load(to) + 1 {
                self.assign(key, to);
                return true;
            }
            let others = self.members[to]
                .assigned
                .iter()
                .filter(|other| self.members[from].subscribed.contains(&other.1));
            let mut others = others.inspect(|_| *steps = steps.saturating_sub(1));
            let is_gain = |other: &&PartitionKey| {
                let (nearer, home) = self.gain(**other, to, from);
                (nearer + gain.0, home + gain.1) > (0, 0)
            };
            if let Some(other) = others.find(is_gain).copied() {
                self.assign(key, to);
                self.assign(other, from);
                return true;
            }
        }
        false
    }

    /// The gain of a move: nearness first, then the previous owner.
    fn gain(&self, key: PartitionKey, from: usize, to: usize) -> (i8, i8) {
        let value =
            |at| (i8::from(self.is_near(at, key)), i8::from(self.previous_owner.get(&key) == Some(&at)));
        let (there, here) = (value(to), value(from));
        (there.0 - here.0, there.1 - here.1)
    }
}
