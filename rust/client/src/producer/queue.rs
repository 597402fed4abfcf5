//! The batches of one partition: the open one, those that wait, those on their way, and which of
//! them may leave next. No I/O; the time is an argument.
//!
//! Invariants: batches wait in the order in which they were opened, those with numbers first. After
//! a failure they go one at a time, the oldest first, until one is acknowledged; so with idempotence
//! on nothing overtakes.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::batch::{Batch, Place};
use super::compression_ratio::CompressionRatio;
use super::idempotence::{May, Numbers, ProducerId};
use crate::error::Error;
use crate::producer::produce_result::Part;
use crate::topic_partition::TopicPartition;

/// The batches of one partition.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) partition: TopicPartition,
    /// Of its topic.
    pub(super) compression: Arc<CompressionRatio>,
    /// Its place among all queues.
    pub(super) number: usize,
    pub(super) state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) open: Option<Batch>,
    pub(super) ready: VecDeque<Batch>,
    /// The batches of this partition that are on their way.
    pub(super) busy: Vec<Busy>,
    /// How large the batch before the open one became: the next one will hardly be larger.
    pub(super) last_size: usize,
    /// To how many bytes before compression a batch grows.
    pub(super) max_size: usize,
    /// Whether the queue is among the active ones, which the sender looks at.
    pub(super) is_active: bool,
    /// With idempotence.
    numbers: Option<Numbers>,
}

/// A batch on its way: it is with the sender, its promise and its time are not.
#[derive(Debug)]
pub(super) struct Busy {
    pub(super) place: Place,
    pub(super) deadline: Instant,
    /// Weak, so that a batch that is dropped is settled.
    pub(super) part: Weak<Part>,
    /// How many records it has.
    pub(super) count: usize,
    /// Whom it is on its way to.
    pub(super) broker: i32,
    /// Why the attempt before this one failed.
    pub(super) last_error: Option<Error>,
}

/// What may leave a queue next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The batch at this place of those that wait.
    Send(usize),
    /// Nothing before this time.
    At(Instant),
    /// Nothing before one on its way is back, or another is added.
    Wait,
    /// Nothing before there is a producer id.
    Identify,
}

impl Queue {
    pub(super) fn new(
        partition: TopicPartition,
        (number, compression): (usize, Arc<CompressionRatio>),
        max_size: usize,
        idempotent: bool,
    ) -> Self {
        let state = State {
            open: None,
            ready: VecDeque::new(),
            busy: Vec::new(),
            last_size: 0,
            max_size,
            is_active: false,
            numbers: idempotent.then(Numbers::default),
        };
        Self { partition, compression, number, state: Mutex::new(state) }
    }

    /// How many batches of `batch_size` wait, the open one among them, however large they have grown.
    pub(super) fn waiting(&self, batch_size: usize) -> usize {
        let state = self.state.lock();
        let batches = state.ready.iter().chain(&state.open);
        batches.map(|batch| (batch.size() / batch_size.max(1)).max(1)).sum()
    }
}

impl State {
    /// The batch that was open is ready.
    pub(super) fn close(&mut self, open: Batch) {
        self.last_size = open.size();
        self.ready.push_back(open);
    }

    /// Whether there is no batch, not even one on its way.
    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.open.is_none() && self.busy.is_empty()
    }

    /// Whether so many bytes more would go into the batch that is open.
    pub(super) fn has_room_for(&self, bytes: usize, batch_size: usize) -> bool {
        self.open.as_ref().is_some_and(|open| open.size() + bytes <= batch_size)
    }

    /// Whether another batch may be on its way, with at most `most` of them.
    pub(super) fn has_room(&self, most: usize) -> bool {
        let steady = self.numbers.as_ref().is_none_or(Numbers::is_steady);
        self.busy.is_empty() || steady && self.busy.len() < most
    }

    /// What may leave next, with at most `most` on their way.
    pub(super) fn next(&mut self, current: Option<ProducerId>, most: usize, now: Instant) -> Next {
        if self.busy.len() >= most {
            return Next::Wait;
        }
        let Some(numbers) = &mut self.numbers else { return self.timed(0, now) };
        let numbered = self.ready.iter().take_while(|batch| batch.sequence.is_some()).count();
        if numbered > 0 {
            let mut with_numbers = self.ready.iter().take(numbered);
            if let Some(at) = with_numbers.position(|batch| !batch.denied) {
                let place = self.ready.get(at).map(Batch::place);
                let overtakes = self.busy.iter().any(|busy| Some(busy.place) < place);
                return if overtakes { Next::Wait } else { self.timed(at, now) };
            }
            if !self.busy.is_empty() {
                return Next::Wait;
            }
            // None of them is in the log, and none can get there under its numbers.
            numbers.start_over();
            self.ready.iter_mut().take(numbered).for_each(Batch::renumber);
        }
        if self.ready.is_empty() {
            return Next::Wait;
        }
        match numbers.may_number(current, self.busy.len()) {
            May::Number => self.timed(0, now),
            May::Wait => Next::Wait,
            May::Identify => Next::Identify,
        }
    }

    fn timed(&self, at: usize, now: Instant) -> Next {
        match self.ready.get(at).map(|batch| batch.not_before) {
            None => Next::Wait,
            Some(Some(not_before)) if not_before > now => Next::At(not_before),
            Some(_) => Next::Send(at),
        }
    }

    /// Takes a batch out, to send it to a broker; it has numbers then, with idempotence.
    pub(super) fn take(&mut self, at: usize, deadline: Instant, broker: i32) -> Option<Batch> {
        let mut batch = self.ready.remove(at)?;
        if batch.sequence.is_none()
            && let Some(numbers) = &mut self.numbers
        {
            batch.sequence = numbers.number(batch.count());
        }
        batch.part.set_count(batch.count());
        self.busy.push(Busy {
            place: batch.place(),
            deadline,
            part: Arc::downgrade(&batch.part),
            count: batch.count(),
            broker,
            last_error: batch.last_error.clone(),
        });
        Some(batch)
    }

    /// Notes that a batch is back.
    pub(super) fn back(&mut self, batch: &Batch) {
        self.busy.retain(|busy| busy.place != batch.place());
    }

    /// Puts a batch back to where it was among those that wait.
    pub(super) fn put_back(&mut self, batch: Batch) {
        if let Some(numbers) = &mut self.numbers {
            numbers.failed();
        }
        let at = self.ready.partition_point(|other| other.place() < batch.place());
        self.ready.insert(at, batch);
    }

    /// Takes out all that has no numbers yet, if it can't have any without another producer id.
    pub(super) fn take_unnumbered(&mut self, current: Option<ProducerId>) -> Vec<Batch> {
        if !self.needs_id(current) {
            return Vec::new();
        }
        let numbered = self.ready.iter().take_while(|batch| batch.sequence.is_some()).count();
        self.ready.drain(numbered..).chain(self.open.take()).collect()
    }

    /// A batch is in the log. Returns those before it of which that was unknown: they are, too, or
    /// it would have been refused.
    pub(super) fn written(&mut self, batch: &Batch) -> Vec<Batch> {
        let (Some(numbers), Some(sequence)) = (&mut self.numbers, batch.sequence) else { return Vec::new() };
        numbers.written(sequence, batch.count());
        let place = batch.place();
        let known = |other: &Batch| other.denied && other.sequence.is_some_and(|s| numbers.is_proven(s));
        let mut written = Vec::new();
        while let Some(at) = self.ready.iter().position(known) {
            written.extend(self.ready.remove(at));
        }
        // Those after it may have been refused only since it was missing.
        self.ready.iter_mut().for_each(|other| other.denied &= other.place() < place);
        written
    }

    /// Whether a batch is in the log although a broker refuses it, since one after it is.
    pub(super) fn is_proven(&self, batch: &Batch) -> bool {
        let (Some(numbers), Some(sequence)) = (&self.numbers, batch.sequence) else { return false };
        numbers.is_proven(sequence)
    }

    /// A batch will not be sent again although it is not known to be in the log.
    pub(super) fn given_up(&mut self, batch: &Batch) {
        let (Some(numbers), Some(sequence)) = (&mut self.numbers, batch.sequence) else { return };
        let place = batch.place();
        let later = self.ready.iter().any(|other| other.sequence.is_some() && other.place() > place)
            || self.busy.iter().any(|busy| busy.place > place);
        numbers.given_up(sequence, batch.count(), !later, batch.maybe_written());
    }

    /// A broker refuses the producer's epoch: it needs another id.
    pub(super) fn spend(&mut self, batch: &Batch) {
        if let (Some(numbers), Some(sequence)) = (&mut self.numbers, batch.sequence) {
            numbers.spend(sequence);
        }
    }

    /// Whether the next batch would have to wait for a producer id.
    pub(super) fn needs_id(&self, current: Option<ProducerId>) -> bool {
        self.numbers.as_ref().is_some_and(|numbers| numbers.needs_id(current))
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod tests;
