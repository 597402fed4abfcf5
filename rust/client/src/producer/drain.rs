//! What leaves the accumulator and when: batches that are due, by leader, and those whose time is
//! over. No I/O; the time, the leaders and the room are arguments.
//!
//! Invariant: a partition has at most one batch on its way, and partitions take turns at the front.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::accumulator::{Accumulator, Busy, State};
use super::batch::{Batch, Completion};
use crate::error::Error;
use crate::list_offsets::TopicPartition;

/// What came out of the accumulator.
#[derive(Debug, Default)]
pub(super) struct Drained {
    /// Requests by broker: each a list of batches, one a partition.
    pub(super) requests: BTreeMap<i32, Vec<Vec<Batch>>>,
    /// Batches whose time is over.
    pub(super) expired: Vec<Batch>,
    /// Batches on their way whose time is over: their senders are to be told.
    pub(super) late: Vec<Late>,
    /// A ready partition has no leader.
    pub(super) leaderless: bool,
    /// When something will be due.
    pub(super) next: Option<Instant>,
}

/// A batch on its way that is overdue: to whom it goes, and why it did not arrive before.
#[derive(Debug)]
pub(super) struct Late {
    pub(super) completion: Arc<Completion>,
    pub(super) broker: i32,
    pub(super) last_error: Option<Error>,
}

impl Drained {
    fn wake_at(&mut self, at: Option<Instant>) {
        self.next = [self.next, at].into_iter().flatten().min();
    }
}

impl Accumulator {
    /// Whether a batch has waited long enough, or is not to wait.
    fn is_due(&self, batch: &Batch, now: Instant) -> bool {
        self.flushing.load(Ordering::Acquire) > 0
            || self.closed.load(Ordering::Acquire)
            || self.memory.is_short()
            || batch.size() >= self.batch_size
            || now >= batch.created + self.linger
    }

    /// Takes the next batch of each partition that is ready, by leader. A request holds at most
    /// `max_bytes` of records, and a broker gets at most `room(broker)` requests.
    pub(super) fn drain(
        &self,
        now: Instant,
        max_bytes: usize,
        leader: impl Fn(&TopicPartition) -> Option<i32>,
        room: impl Fn(i32) -> usize,
    ) -> Drained {
        let mut drained = Drained::default();
        let mut sizes: HashMap<i32, usize> = HashMap::new();
        let queues = self.queues.read();
        let start = self.turn.fetch_add(1, Ordering::Relaxed) % queues.order.len().max(1);
        let (before, after) = queues.order.split_at(start.min(queues.order.len()));
        for queue in after.iter().chain(before) {
            let mut state = queue.state.lock();
            self.expire(&mut state, now, &mut drained.expired);
            if let Some(busy) = &mut state.busy {
                if now < busy.deadline {
                    drained.wake_at(Some(busy.deadline));
                } else if !busy.completion.is_done() {
                    // Its memory stays taken until the connection has let go of its bytes.
                    self.incomplete.lock().remove(&busy.id);
                    drained.late.push(Late {
                        completion: Arc::clone(&busy.completion),
                        broker: busy.broker,
                        last_error: busy.last_error.take(),
                    });
                }
                continue;
            }
            let due = state.open.as_ref().is_some_and(|open| self.is_due(open, now));
            if due
                && state.ready.is_empty()
                && let Some(open) = state.open.take()
            {
                state.ready.push_back(open);
            }
            let Some(front) = state.ready.front() else {
                drained.wake_at(state.open.as_ref().map(|open| open.created + self.linger));
                continue;
            };
            if let Some(not_before) = front.not_before.filter(|not_before| *not_before > now) {
                drained.wake_at(Some(not_before));
                continue;
            }
            let Some(broker) = leader(&queue.partition) else {
                drained.leaderless = true;
                drained.wake_at(Some(front.created + self.delivery_timeout));
                continue;
            };
            let requests = drained.requests.entry(broker).or_default();
            let size = sizes.entry(broker).or_default();
            if requests.is_empty() || *size + front.size() > max_bytes {
                if requests.len() >= room(broker) {
                    continue;
                }
                requests.push(Vec::new());
                *size = 0;
            }
            if let Some(batch) = state.ready.pop_front() {
                *size += batch.size();
                let deadline = batch.created + self.delivery_timeout;
                drained.next = [drained.next, Some(deadline)].into_iter().flatten().min();
                state.busy = Some(Busy {
                    id: batch.id,
                    deadline,
                    completion: Arc::clone(&batch.completion),
                    broker,
                    last_error: batch.last_error.clone(),
                });
                if let Some(request) = requests.last_mut() {
                    request.push(batch);
                }
            }
        }
        drained.requests.retain(|_, requests| !requests.is_empty());
        drained
    }

    /// Takes out what has been waiting longer than `delivery.timeout.ms`.
    fn expire(&self, state: &mut State, now: Instant, expired: &mut Vec<Batch>) {
        let late = |batch: &Batch| now >= batch.created + self.delivery_timeout;
        while state.ready.front().is_some_and(late) {
            expired.extend(state.ready.pop_front());
        }
        if state.ready.is_empty() && state.open.as_ref().is_some_and(late) {
            expired.extend(state.open.take());
        }
    }
}
