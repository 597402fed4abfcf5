//! One assigned partition: where it is, what it waits for, and what of it is prefetched.
//!
//! Invariant: the pieces are in the order of the log, the first goes on where what was taken ended,
//! and the next fetch goes on where the last piece ends.

use std::collections::VecDeque;

use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use crate::consumer::completed_fetch::Prefetched;
use crate::error::Error;
use crate::requests::OffsetSpec;

/// Where a reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    /// The offset of the next record.
    pub(super) offset: i64,
    /// The leader epoch of the record before it; -1 if unknown.
    pub(super) epoch: i32,
}

impl Standing {
    pub(super) const NOWHERE: Self = Self { offset: -1, epoch: -1 };
}

/// What is to be done about a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its group's committed offset is to be looked up.
    Committed,
    /// Its position is to be set as `auto.offset.reset` says.
    Policy,
    /// This offset is to be looked up.
    LookUp(OffsetSpec),
    /// Whether the log was cut below the position is to be asked (KIP-320).
    Validate,
    /// It is fetched.
    Fetch,
    /// What comes next is not in the log; what was fetched before is handed out first.
    OutOfRange,
    /// Only the application can say where to go on.
    Stuck,
}

/// An assigned partition.
#[derive(Debug)]
pub(super) struct Slot {
    /// The version under which it was assigned; it stays, whatever happens in the assignment.
    pub(super) since: u64,
    pub(super) version: u64,
    pub(super) phase: Phase,
    /// Behind what was handed out.
    pub(super) position: Standing,
    /// The topic that the position is of, once something was asked of it; zero if it has no id.
    pub(super) topic_id: Uuid,
    /// Behind what was taken for being handed out.
    pub(super) taken: i64,
    /// Offsets that hold nothing for the application, behind what was taken and not handed out yet:
    /// from where to where.
    passed: VecDeque<(i64, Standing)>,
    /// The position that was committed last by itself; -1 for none.
    pub(super) committed: i64,
    /// Behind what was fetched.
    pub(super) fetched: Standing,
    pieces: VecDeque<Prefetched>,
    bytes: usize,
    /// Whether an answer is under way.
    pub(super) busy: bool,
    pub(super) paused: bool,
    /// It rests until then.
    pub(super) not_before: Option<Instant>,
    /// An error for the application.
    pub(super) failed: Option<Error>,
    /// How often in a row what was fetched was damaged.
    pub(super) damaged: u32,
    /// Failures in a row.
    pub(super) failures: u32,
    /// When the first of them happened.
    pub(super) failing_since: Option<Instant>,
    /// The end of what is replicated; -1 if unknown.
    pub(super) high_watermark: i64,
    /// The end of what no open transaction holds back; -1 if unknown.
    pub(super) last_stable: i64,
    /// The leader epoch under which the position is known to be in the log; -1 for none.
    pub(super) validated: i32,
    /// A replica that is nearer than the leader, and until when to use it (KIP-392).
    pub(super) nearer: Option<(i32, Instant)>,
    pub(super) turn: u64,
}

impl Slot {
    pub(super) fn new(version: u64, phase: Phase) -> Self {
        Self {
            since: version,
            version,
            phase,
            position: Standing::NOWHERE,
            topic_id: Uuid::ZERO,
            taken: -1,
            passed: VecDeque::new(),
            committed: -1,
            fetched: Standing::NOWHERE,
            pieces: VecDeque::new(),
            bytes: 0,
            busy: false,
            paused: false,
            not_before: None,
            failed: None,
            damaged: 0,
            failures: 0,
            failing_since: None,
            high_watermark: -1,
            last_stable: -1,
            validated: -1,
            nearer: None,
            turn: 0,
        }
    }

    /// Starts over. Pausing is the application's own and stays.
    pub(super) fn restart(&mut self, version: u64, phase: Phase, at: Standing) {
        self.version = version;
        self.phase = phase;
        self.busy = false;
        self.not_before = None;
        self.failed = None;
        self.damaged = 0;
        self.succeeded();
        self.stand_at(at);
    }

    /// Notes that the failures are over.
    pub(super) fn succeeded(&mut self) {
        (self.failures, self.failing_since) = (0, None);
    }

    /// Sets the position; nothing is prefetched.
    pub(super) fn stand_at(&mut self, at: Standing) {
        self.position = at;
        self.taken = at.offset;
        self.passed.clear();
        self.fetched = at;
        self.validated = -1;
        self.topic_id = Uuid::ZERO;
    }

    /// Moves the position to where all was handed out, and on over what holds nothing.
    pub(super) fn handed_out(&mut self, to: Standing) {
        self.position = to;
        while let Some((_, behind)) = self.passed.front().filter(|(from, _)| *from <= self.position.offset) {
            self.position = *behind;
            self.passed.pop_front();
        }
    }

    /// Notes that the offsets between hold nothing for the application.
    pub(super) fn pass(&mut self, from: i64, to: Standing) {
        if self.position.offset >= from {
            self.position = to;
        } else {
            self.passed.push_back((from, to));
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        !self.busy && self.not_before.is_none_or(|due| due <= now)
    }

    /// Whether its next records are wanted from a broker, now or once it has rested or has room.
    pub(super) fn wants_records(&self) -> bool {
        self.phase == Phase::Fetch && !self.paused && self.failed.is_none() && !self.busy
    }

    /// Whether it has `most` bytes of records buffered, or more.
    pub(super) fn is_full(&self, most: usize) -> bool {
        self.bytes >= most && !self.pieces.is_empty()
    }

    /// Whether the log is known, or may be expected, to hold records behind those that were fetched.
    pub(super) fn may_have_more(&self, read_committed: bool) -> bool {
        let end = if read_committed { self.last_stable } else { self.high_watermark };
        end < 0 || self.fetched.offset < end
    }

    /// Whether all that was fetched was handed out.
    pub(super) fn is_handed_out(&self) -> bool {
        self.pieces.is_empty() && self.taken == self.position.offset
    }

    /// Whether what is prefetched may be handed out.
    pub(super) fn is_readable(&self) -> bool {
        !self.paused && matches!(self.phase, Phase::Fetch | Phase::Validate | Phase::OutOfRange)
    }

    /// The replica to read from instead of the leader.
    pub(super) fn nearer(&self, now: Instant) -> Option<i32> {
        self.nearer.filter(|(_, until)| *until > now).map(|(id, _)| id)
    }

    /// Keeps a piece. While the partition is paused others read on, and their share of the answer is not
    /// to be kept with it.
    pub(super) fn push(&mut self, mut piece: Prefetched) {
        if self.paused {
            piece.leave_frame();
        }
        self.bytes += piece.records.len();
        self.fetched = Standing { offset: piece.end, epoch: piece.epoch };
        self.pieces.push_back(piece);
    }

    pub(super) fn pop(&mut self) -> Option<Prefetched> {
        let piece = self.pieces.pop_front()?;
        self.bytes -= piece.records.len();
        self.taken = piece.end;
        Some(piece)
    }

    pub(super) fn put_back(&mut self, piece: Prefetched) {
        self.bytes += piece.records.len();
        self.taken = piece.start;
        self.pieces.push_front(piece);
    }

    /// Stops or resumes handing out and fetching.
    pub(super) fn pause(&mut self, paused: bool) {
        self.paused = paused;
        if paused {
            self.pieces.iter_mut().for_each(Prefetched::leave_frame);
        }
    }

    /// Whether something is prefetched that nobody may take for now.
    pub(super) fn is_held_back(&self) -> bool {
        self.paused && !self.pieces.is_empty() && self.taken == self.position.offset
    }

    /// Goes back to the position: what was prefetched is gone. The partition stays what it is, and with it
    /// its version; an answer under way is of another offset and counts no more.
    pub(super) fn rewind(&mut self) {
        self.fetched = self.position;
        if self.phase == Phase::OutOfRange {
            self.phase = Phase::Fetch;
        }
    }

    /// Drops what is prefetched, and says how many bytes it was.
    pub(super) fn drain(&mut self) -> usize {
        self.pieces.clear();
        std::mem::take(&mut self.bytes)
    }
}

#[cfg(test)]
mod tests;
