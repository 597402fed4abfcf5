//! What a poll found, on its way to the application: taken, handed out, or given back.
//!
//! Invariant: a position moves only here, by what was handed out; between taking and handing out
//! nothing is lost, since what is void by then is fetched again.

use std::sync::atomic::Ordering;

use super::Consumer;
use super::records::{RecordSet, Rest, decode};
use crate::consumer::completed_fetch::Prefetched;
use crate::consumer::partition_state::Standing;
use crate::error::Error;
use crate::topic_partition::TopicPartition;

impl Consumer {
    /// Grows when what was taken and not handed out is void.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.shared.versions.load(Ordering::Acquire)
    }

    /// Takes prefetched pieces of at most `bytes`, but one at least if there is one. Their positions
    /// stay until [`Consumer::handed_out`].
    #[must_use]
    pub fn take_pieces(&self, bytes: usize) -> Vec<Prefetched> {
        let mut pieces = Vec::new();
        let mut sum = 0;
        let mut assignment = self.shared.assignment.lock();
        while sum < bytes
            && let Some(piece) = assignment.take()
        {
            sum += piece.records.len();
            pieces.push(piece);
        }
        drop(assignment);
        if !pieces.is_empty() {
            self.shared.news.notify_one();
        }
        pieces
    }

    /// Takes `most` records at most. Their positions stay until [`Consumer::handed_out`].
    #[must_use]
    pub fn take_records(&self, most: usize) -> Vec<RecordSet> {
        let mut sets: Vec<RecordSet> = Vec::new();
        let (mut left, mut emptied) = (most, false);
        let mut decompressor = self.decompressor.lock();
        while left > 0 {
            let Some(piece) = self.shared.assignment.lock().take() else { break };
            let (partition, version, from) = (piece.partition.clone(), piece.version(), piece.start);
            let had = sets.len();
            let (rest, standing) = decode(piece, left, &mut decompressor, &mut sets);
            let got: usize = sets.iter().skip(had).map(|set| set.entries.len()).sum();
            left -= got;
            let mut assignment = self.shared.assignment.lock();
            if got == 0
                && let Some(slot) = assignment.current(&partition, version)
            {
                slot.pass(from, standing);
            }
            match rest {
                Rest::None => emptied = true,
                Rest::Piece(piece) => assignment.put_back(piece),
                Rest::Flawed(piece, error) => {
                    assignment.put_back(piece);
                    assignment.fail(&partition, error);
                    break;
                }
            }
        }
        decompressor.trim();
        drop(decompressor);
        // Only then is there room for more.
        if emptied {
            self.shared.news.notify_one();
        }
        sets
    }

    /// Moves a partition's position: all before `next` was handed out.
    pub fn handed_out(&self, partition: &TopicPartition, version: u64, next: i64, leader_epoch: i32) {
        let to = Standing { offset: next, epoch: leader_epoch };
        self.shared.assignment.lock().handed_out(partition, version, to);
    }

    /// Notes that a piece that was taken holds nothing for the application up to `next`.
    pub fn passed(&self, partition: &TopicPartition, version: u64, from: i64, next: i64, leader_epoch: i32) {
        if let Some(slot) = self.shared.assignment.lock().current(partition, version) {
            slot.pass(from, Standing { offset: next, epoch: leader_epoch });
        }
    }

    /// Fetches again what was taken of a partition and not handed out; the next poll raises the error.
    pub fn flawed(&self, partition: &TopicPartition, version: u64, error: Error) {
        let mut assignment = self.shared.assignment.lock();
        if assignment.current(partition, version).is_some() {
            assignment.give_back(partition);
            assignment.fail(partition, error);
        }
    }

    /// Gives back what was taken of all partitions and not handed out: it is fetched again.
    pub fn give_back(&self) {
        let mut assignment = self.shared.assignment.lock();
        let held: Vec<_> = assignment.held().cloned().collect();
        for partition in held {
            assignment.give_back(&partition);
        }
        self.shared.news.notify_one();
    }
}
