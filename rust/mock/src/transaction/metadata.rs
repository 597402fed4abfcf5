//! The transaction of one transactional id, as its coordinator keeps it (`TransactionMetadata` in Kafka).
//!
//! Invariants: the epoch of a producer id only grows; after the last one the producer gets a new id. An older
//! epoch changes nothing. A repeated end has the effect and the result of the first one.

use std::collections::BTreeSet;
use std::time::Duration;

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

/// The last epoch that a coordinator assigns; the one after it fences only.
const LAST_EPOCH: i16 = i16::MAX - 1;

/// The names of Kafka's states.
pub(crate) const STATES: &[&str] = &[
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
];

/// A producer id and its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProducerIdAndEpoch {
    pub(crate) id: i64,
    pub(crate) epoch: i16,
}

/// The state of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Empty,
    Ongoing { since: Instant },
    Complete { committed: bool },
}

/// A transaction that ended: its markers have to be written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EndedTransaction {
    /// The producer id and epoch of the markers.
    pub(crate) marker: ProducerIdAndEpoch,
    pub(crate) committed: bool,
    pub(crate) partitions: BTreeSet<(String, i32)>,
    pub(crate) groups: BTreeSet<String>,
}

/// The result of InitProducerId.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Initialized {
    Producer(ProducerIdAndEpoch),
    /// An open transaction is aborted first; the producer has to ask again.
    Aborting(EndedTransaction),
}

/// The transaction of one transactional id.
#[derive(Debug)]
pub(crate) struct TransactionMetadata {
    producer: ProducerIdAndEpoch,
    /// The producer id and epoch before the last change, which a retry may still have.
    previous: Option<ProducerIdAndEpoch>,
    timeout: Duration,
    state: State,
    partitions: BTreeSet<(String, i32)>,
    groups: BTreeSet<String>,
    /// Its markers are written then.
    completing_until: Option<Instant>,
}

impl TransactionMetadata {
    /// A new id; its first initialization gets epoch 0.
    pub(super) fn new(producer_id: i64) -> Self {
        Self {
            producer: ProducerIdAndEpoch { id: producer_id, epoch: -1 },
            previous: None,
            timeout: Duration::ZERO,
            state: State::Empty,
            partitions: BTreeSet::new(),
            groups: BTreeSet::new(),
            completing_until: None,
        }
    }

    pub(crate) fn producer(&self) -> ProducerIdAndEpoch {
        self.producer
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) fn partitions(&self) -> &BTreeSet<(String, i32)> {
        &self.partitions
    }

    pub(crate) fn groups(&self) -> &BTreeSet<String> {
        &self.groups
    }

    /// The name of its state in Kafka.
    pub(crate) fn state_name(&self, now: Instant) -> &'static str {
        match self.state {
            State::Empty => "Empty",
            State::Ongoing { .. } => "Ongoing",
            State::Complete { committed: true } if self.is_completing(now) => "PrepareCommit",
            State::Complete { committed: true } => "CompleteCommit",
            State::Complete { committed: false } if self.is_completing(now) => "PrepareAbort",
            State::Complete { committed: false } => "CompleteAbort",
        }
    }

    /// When the transaction was opened.
    pub(crate) fn open_since(&self) -> Option<Instant> {
        match self.state {
            State::Ongoing { since } => Some(since),
            _ => None,
        }
    }

    /// How long the transaction has been open.
    pub(crate) fn open_for(&self, now: Instant) -> Option<Duration> {
        self.open_since().map(|since| now.saturating_duration_since(since))
    }

    /// Sets the epoch, as if the producer had been initialized that often.
    pub(crate) fn set_epoch(&mut self, epoch: i16) {
        self.producer.epoch = epoch;
    }

    pub(super) fn complete_at(&mut self, at: Instant) {
        self.completing_until = Some(at);
    }

    pub(super) fn is_completing(&self, now: Instant) -> bool {
        self.completing_until.is_some_and(|until| now < until)
    }

    pub(super) fn is_expired(&self, now: Instant) -> bool {
        self.open_for(now).is_some_and(|open| open >= self.timeout)
    }

    /// Fails unless the producer id and epoch are the current ones.
    pub(crate) fn check_producer(&self, producer: ProducerIdAndEpoch) -> Result<(), ErrorCode> {
        if producer.id != self.producer.id {
            return Err(ErrorCode::InvalidProducerIdMapping);
        }
        if producer.epoch == self.producer.epoch { Ok(()) } else { Err(ErrorCode::ProducerFenced) }
    }

    /// Initializes a producer. `expected`: the id and epoch that it has, if it wants the next epoch.
    pub(crate) fn init(
        &mut self,
        expected: Option<ProducerIdAndEpoch>,
        timeout: Duration,
        now: Instant,
        mut new_producer_id: impl FnMut() -> i64,
    ) -> Result<Initialized, ErrorCode> {
        if let Some(expected) = expected
            && expected != self.producer
        {
            // A retry of a request whose response was lost.
            let is_retry = self.previous == Some(expected) && self.state == State::Empty;
            return if is_retry {
                Ok(Initialized::Producer(self.producer))
            } else {
                Err(ErrorCode::ProducerFenced)
            };
        }
        if self.is_completing(now) {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        if let State::Ongoing { .. } = self.state {
            return Ok(Initialized::Aborting(self.fence_and_abort(&mut new_producer_id)));
        }
        self.bump(&mut new_producer_id);
        self.previous = expected;
        (self.state, self.timeout) = (State::Empty, timeout);
        Ok(Initialized::Producer(self.producer))
    }

    /// Adds partitions to the transaction, and opens it.
    pub(crate) fn add_partitions(
        &mut self,
        partitions: impl IntoIterator<Item = (String, i32)>,
        now: Instant,
    ) {
        self.open(now);
        self.partitions.extend(partitions);
    }

    /// Adds a group's offsets to the transaction, and opens it.
    pub(crate) fn add_group(&mut self, group: &str, now: Instant) {
        self.open(now);
        self.groups.insert(group.to_owned());
    }

    fn open(&mut self, now: Instant) {
        if !matches!(self.state, State::Ongoing { .. }) {
            self.state = State::Ongoing { since: now };
        }
    }

    /// Ends the transaction under protocol 1; `None` if it has ended like this before.
    pub(crate) fn end(&mut self, committed: bool) -> Result<Option<EndedTransaction>, ErrorCode> {
        match self.state {
            State::Ongoing { .. } => Ok(Some(self.close(committed, self.producer))),
            State::Complete { committed: before } if before == committed => Ok(None),
            State::Complete { .. } | State::Empty => Err(ErrorCode::InvalidTxnState),
        }
    }

    /// Ends the transaction under protocol 2: bumps the epoch, which the markers carry. `None` if a retry
    /// finds it ended, or if there was nothing to abort.
    pub(crate) fn end_and_bump(
        &mut self,
        producer: ProducerIdAndEpoch,
        committed: bool,
        now: Instant,
        mut new_producer_id: impl FnMut() -> i64,
    ) -> Result<Option<EndedTransaction>, ErrorCode> {
        if self.previous == Some(producer) {
            return match self.state {
                State::Complete { committed: before } if before == committed => Ok(None),
                State::Complete { .. } => Err(ErrorCode::InvalidTxnState),
                _ => Err(ErrorCode::ProducerFenced),
            };
        }
        self.check_producer(producer)?;
        if self.is_completing(now) {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        match self.state {
            State::Ongoing { .. } => {
                let marker = self.producer;
                self.bump(&mut new_producer_id);
                let marker = if self.producer.id == marker.id { self.producer } else { fence(marker) };
                self.previous = Some(producer);
                Ok(Some(self.close(committed, marker)))
            }
            _ if committed => Err(ErrorCode::InvalidTxnState),
            _ => {
                self.bump(&mut new_producer_id);
                self.previous = Some(producer);
                self.state = State::Complete { committed };
                Ok(None)
            }
        }
    }

    /// Aborts the transaction with an epoch that fences the producer.
    pub(super) fn fence_and_abort(&mut self, new_producer_id: &mut impl FnMut() -> i64) -> EndedTransaction {
        // As in Kafka, an abort with the epoch before counts as a repetition until the next producer begins.
        self.previous = Some(self.producer);
        let marker = fence(self.producer);
        self.bump(new_producer_id);
        self.close(false, marker)
    }

    fn close(&mut self, committed: bool, marker: ProducerIdAndEpoch) -> EndedTransaction {
        self.state = State::Complete { committed };
        EndedTransaction {
            marker,
            committed,
            partitions: std::mem::take(&mut self.partitions),
            groups: std::mem::take(&mut self.groups),
        }
    }

    fn bump(&mut self, new_producer_id: &mut impl FnMut() -> i64) {
        self.producer = match self.producer.epoch {
            ..LAST_EPOCH => fence(self.producer),
            _ => ProducerIdAndEpoch { id: new_producer_id(), epoch: 0 },
        };
    }
}

/// The next epoch of the same id.
fn fence(producer: ProducerIdAndEpoch) -> ProducerIdAndEpoch {
    ProducerIdAndEpoch { epoch: producer.epoch.saturating_add(1), ..producer }
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test may fail")]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn initialized(metadata: &mut TransactionMetadata) -> ProducerIdAndEpoch {
        match metadata.init(None, TIMEOUT, Instant::now(), || 8).expect("initialized") {
            Initialized::Producer(producer) => producer,
            Initialized::Aborting(_) => initialized(metadata),
        }
    }

    fn open(metadata: &mut TransactionMetadata) -> ProducerIdAndEpoch {
        let producer = initialized(metadata);
        metadata.add_partitions([("t".to_owned(), 0)], Instant::now());
        producer
    }

    #[test]
    fn each_initialization_fences_the_producer_before() {
        let mut metadata = TransactionMetadata::new(7);
        let first = initialized(&mut metadata);
        let second = initialized(&mut metadata);
        assert_eq!((first.epoch, second.epoch), (0, 1));
        assert_eq!(metadata.check_producer(first), Err(ErrorCode::ProducerFenced));
        assert_eq!(metadata.check_producer(second), Ok(()));
    }

    #[test]
    fn an_open_transaction_is_aborted_with_a_fencing_epoch_before_the_next_producer() {
        let mut metadata = TransactionMetadata::new(7);
        let first = open(&mut metadata);
        let aborting = metadata.init(None, TIMEOUT, Instant::now(), || 8).expect("allowed");
        let Initialized::Aborting(ended) = aborting else { unreachable!("a transaction was open") };
        assert_eq!((ended.committed, ended.marker), (false, fence(first)));
        assert_eq!(initialized(&mut metadata).epoch, 2);
    }

    #[test]
    fn a_repeated_end_has_the_result_of_the_first() {
        let mut metadata = TransactionMetadata::new(7);
        let producer = open(&mut metadata);
        assert!(metadata.end(true).expect("open").is_some());
        assert_eq!(metadata.end(true), Ok(None));
        assert_eq!(metadata.end(false), Err(ErrorCode::InvalidTxnState));
        assert_eq!(metadata.check_producer(producer), Ok(()), "protocol 1 keeps the epoch");
    }

    #[test]
    fn an_end_under_protocol_2_bumps_the_epoch_once_however_often_it_is_sent() {
        let mut metadata = TransactionMetadata::new(7);
        let (producer, now) = (open(&mut metadata), Instant::now());
        let ended = metadata.end_and_bump(producer, true, now, || 8).expect("open").expect("markers");
        assert_eq!((ended.marker, metadata.producer()), (fence(producer), fence(producer)));
        assert_eq!(metadata.end_and_bump(producer, true, now, || 8), Ok(None));
        assert_eq!(metadata.end_and_bump(producer, false, now, || 8), Err(ErrorCode::InvalidTxnState));
        assert_eq!(metadata.producer(), fence(producer));
        metadata.add_partitions([("t".to_owned(), 0)], now);
        let late = metadata.end_and_bump(producer, true, now, || 8);
        assert_eq!(late, Err(ErrorCode::ProducerFenced), "the next transaction is open");
    }

    #[test]
    fn the_last_epoch_is_followed_by_a_new_producer_id() {
        let mut metadata = TransactionMetadata::new(7);
        open(&mut metadata);
        metadata.set_epoch(LAST_EPOCH);
        let last = metadata.producer();
        let ended = metadata.end_and_bump(last, true, Instant::now(), || 8).expect("open").expect("markers");
        assert_eq!(ended.marker, ProducerIdAndEpoch { id: 7, epoch: i16::MAX });
        assert_eq!(metadata.producer(), ProducerIdAndEpoch { id: 8, epoch: 0 });
    }

    #[test]
    fn a_transaction_expires_after_its_timeout() {
        let mut metadata = TransactionMetadata::new(7);
        open(&mut metadata);
        let now = Instant::now();
        assert!(!metadata.is_expired(now) && metadata.is_expired(now + TIMEOUT));
    }
}
