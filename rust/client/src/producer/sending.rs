//! What the sender's task and the threads that send share: the requests that are in flight, that wait, and that have
//! ended.
//!
//! Invariant: each batch that was taken from the accumulator is in exactly one of them.

use std::collections::HashMap;

use ottla_protocol::messages::produce::ProduceResponse;
use ottla_protocol::wire::Uuid;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::time::Instant;

use super::batch::Batch;
use super::idempotence::ProducerIdAndEpoch;
use super::partitioner::{BrokerAvailability, WeightAge};
use crate::error::{Error, Result};
use crate::topic_partition::TopicPartition;

/// The requests in flight, and what decides about the next ones.
#[derive(Debug, Default)]
pub(super) struct Sending {
    /// The number of requests in flight, by broker.
    pub(super) in_flight: HashMap<i32, usize>,
    /// Resolves once the last request to a broker was written, or never will be.
    pub(super) written: HashMap<i32, oneshot::Receiver<()>>,
    /// Requests in flight that no task waits for, by number.
    immediate: HashMap<u64, ImmediateRequest>,
    last_number: u64,
    /// Requests that have to wait for something: the task sends them.
    pub(super) waiting: Vec<WaitingRequest>,
    /// Requests that ended before they were sent.
    pub(super) ended: Vec<ProduceOutcome>,
    pub(super) availability: BrokerAvailability,
    pub(super) weight_age: WeightAge,
    /// The producer id without transactions, and the last error while there is none.
    pub(super) producer_id: Option<ProducerIdAndEpoch>,
    pub(super) producer_id_error: Option<Error>,
    /// The producer was closed or dropped: nothing is sent any more.
    pub(super) has_stopped: bool,
    /// When the task looks next.
    pub(super) task_wakes_at: Option<Instant>,
}

/// The outcome of one request.
#[derive(Debug)]
pub(super) struct ProduceOutcome {
    pub(super) broker: i32,
    pub(super) batches: Vec<Batch>,
    /// Batches that were not sent, and why.
    pub(super) unsendable: Vec<(Batch, Error)>,
    pub(super) response: Result<ProduceResponse>,
}

impl ProduceOutcome {
    /// Whether the broker has responded, with an error or without.
    pub(super) fn got_response(&self) -> bool {
        self.response.is_ok()
    }
}

/// Orders the requests to one broker: each is written after the previous one, so that a partition's
/// batches arrive in sequence.
#[derive(Debug)]
pub(super) struct WriteOrder {
    pub(super) previous: Option<oneshot::Receiver<()>>,
    /// Dropped to let the next request be written.
    pub(super) written: oneshot::Sender<()>,
}

/// A request in flight that no task waits for.
#[derive(Debug)]
pub(super) struct ImmediateRequest {
    pub(super) broker: i32,
    pub(super) batches: Vec<Batch>,
    pub(super) unsendable: Vec<(Batch, Error)>,
    pub(super) topic_ids: Vec<(Uuid, String)>,
    pub(super) began: Instant,
}

/// A request that has to wait for something.
#[derive(Debug)]
pub(super) struct WaitingRequest {
    pub(super) broker: i32,
    pub(super) batches: Vec<Batch>,
    pub(super) order: WriteOrder,
}

/// What remains to be done after sending.
#[derive(Debug, Default)]
pub(super) struct PendingWork {
    /// A partition whose batches need a leader.
    pub(super) leaderless: Option<TopicPartition>,
    /// A producer id is needed, to write to this broker if it is known.
    pub(super) needs_producer_id: Option<Option<i32>>,
    /// Batches wait for a request about the transaction.
    pub(super) needs_transaction_request: bool,
    pub(super) next_wakeup: Option<Instant>,
}

impl Sending {
    /// Whether no request is in flight or waits.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.in_flight.values().all(|count| *count == 0)
    }

    /// Whether an earlier request to a broker may not be written yet.
    pub(super) fn has_unwritten(&mut self, broker: i32) -> bool {
        let Some(written) = self.written.get_mut(&broker) else { return false };
        if matches!(written.try_recv(), Err(TryRecvError::Empty)) {
            return true;
        }
        self.written.remove(&broker);
        false
    }

    /// Adds a request that is in flight from now on; returns its number.
    pub(super) fn add(&mut self, request: ImmediateRequest) -> u64 {
        self.last_number += 1;
        self.immediate.insert(self.last_number, request);
        self.last_number
    }

    /// Takes a request out, unless the producer has stopped.
    pub(super) fn take(&mut self, number: u64) -> Option<ImmediateRequest> {
        self.immediate.remove(&number)
    }

    /// Sends nothing any more, and takes out all requests that no task waits for: dropping them fails their records.
    pub(super) fn stop(&mut self) -> (Vec<ImmediateRequest>, Vec<WaitingRequest>) {
        self.has_stopped = true;
        (self.immediate.drain().map(|(_, request)| request).collect(), std::mem::take(&mut self.waiting))
    }

    /// A request to a broker has ended.
    pub(super) fn request_ended(&mut self, outcome: &ProduceOutcome) {
        if let Some(count) = self.in_flight.get_mut(&outcome.broker) {
            *count = count.saturating_sub(1);
        }
        if outcome.got_response() {
            self.availability.mark_progress(outcome.broker);
        }
    }

    /// Whether the task must act on what remains, or look earlier than it has planned.
    pub(super) fn needs_task(&self, work: &PendingWork) -> bool {
        work.leaderless.is_some()
            || work.needs_producer_id.is_some()
            || work.needs_transaction_request
            || !self.waiting.is_empty()
            || work.next_wakeup.is_some_and(|at| self.task_wakes_at.is_none_or(|planned| at < planned))
    }
}
