//! Making a division better that is even already: nearer, and closer to what was before.
//!
//! Invariant: nobody's number of partitions changes but by trading places with somebody else's, so
//! that it stays as even as it is.

use std::collections::BTreeSet;

use super::balance::{Board, Slot};

/// How many exchanges are looked at to make a division better that is even already.
const STEPS: usize = 5_000_000;

impl Board<'_> {
    /// Exchanges what is far away, or not where it was, as long as that makes it better and nobody's
    /// number of partitions worse. Every exchange is a gain, so it ends; in large groups it ends
    /// sooner, since the rest is not worth the leader's time.
    pub(super) fn refine(&mut self) {
        let mut steps = STEPS;
        loop {
            let misplaced = |slot: Slot, holder: usize| {
                !self.is_near(holder, slot) || self.before.get(&slot).is_some_and(|owner| *owner != holder)
            };
            let slots = self.holder.iter().filter(|(slot, holder)| misplaced(**slot, **holder));
            let slots: BTreeSet<Slot> = slots.map(|(slot, _)| *slot).collect();
            let mut changed = false;
            for slot in slots {
                changed |= self.place_better(slot, &mut steps);
                if steps == 0 {
                    return;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Looks for somebody who had better have a partition.
    fn place_better(&mut self, slot: Slot, steps: &mut usize) -> bool {
        let Some(from) = self.holder.get(&slot).copied() else { return false };
        // Of two that are exchanged one gains by itself, and it is the one whose turn this is.
        let others = match self.is_near(from, slot) {
            true => self.before.get(&slot).copied().into_iter().collect(),
            false => self.topics[slot.1].readers.clone(),
        };
        for to in others {
            let gain = self.gain(slot, from, to);
            if gain <= (0, 0) {
                continue;
            }
            if self.load(from) == self.load(to) + 1 {
                self.give(slot, to);
                return true;
            }
            let others =
                self.members[to].has.iter().filter(|other| self.members[from].reads.contains(&other.1));
            let mut others = others.inspect(|_| *steps = steps.saturating_sub(1));
            let worth = |other: &&Slot| {
                let (nearer, home) = self.gain(**other, to, from);
                (nearer + gain.0, home + gain.1) > (0, 0)
            };
            if let Some(other) = others.find(worth).copied() {
                self.give(slot, to);
                self.give(other, from);
                return true;
            }
        }
        false
    }

    /// What it gains to have a partition with another member: nearness first, then the place it had.
    fn gain(&self, slot: Slot, from: usize, to: usize) -> (i8, i8) {
        let value = |at| (i8::from(self.is_near(at, slot)), i8::from(self.before.get(&slot) == Some(&at)));
        let (there, here) = (value(to), value(from));
        (there.0 - here.0, there.1 - here.1)
    }
}
