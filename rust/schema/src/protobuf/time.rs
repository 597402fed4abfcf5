//! `google.protobuf.Timestamp` and `Duration` as numbers of microseconds.
//!
//! Invariant: a value is within the limits of its type, which fit into 64 bits of microseconds. Nanoseconds are
//! truncated: towards the past in a timestamp, towards zero in a duration.

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::types::{DurationMicrosecondType, TimestampMicrosecondType};
use arrow_schema::{ArrowError, DataType, TimeUnit};

use super::failure::Failure;
use super::input::{Input, VARINT};
use super::storage::Numbers;

const UTC: &str = "UTC";
const MICROS: i64 = 1_000_000;
pub(super) const MAX_NANOS: i64 = 999_999_999;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeKind {
    Timestamp,
    Duration,
}

impl TimeKind {
    /// Returns the valid range of a value's seconds.
    pub(super) fn seconds(self) -> RangeInclusive<i64> {
        match self {
            // The years 1 to 9999.
            Self::Timestamp => -62_135_596_800..=253_402_300_799,
            Self::Duration => -315_576_000_000..=315_576_000_000,
        }
    }

    pub(super) fn out_of_range(self) -> &'static str {
        match self {
            Self::Timestamp => "a google.protobuf.Timestamp is out of range",
            Self::Duration => "a google.protobuf.Duration is out of range",
        }
    }
}

/// A column of timestamps or durations.
#[derive(Debug)]
pub(super) struct TimeColumn {
    kind: TimeKind,
    pub(super) micros: Numbers<i64>,
    /// The fields of the last row. Another occurrence of its message is merged into them.
    seconds: i64,
    nanos: i32,
}

impl TimeColumn {
    pub(super) fn new(kind: TimeKind, is_nullable: bool) -> Self {
        Self { kind, micros: Numbers::new(0, is_nullable), seconds: 0, nanos: 0 }
    }

    pub(super) fn data_type(&self) -> DataType {
        match self.kind {
            TimeKind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
            TimeKind::Duration => DataType::Duration(TimeUnit::Microsecond),
        }
    }

    pub(super) fn read(&mut self, row: usize, mut input: Input<'_>) -> Result<(), Failure> {
        if !self.micros.has(row) {
            (self.seconds, self.nanos) = (0, 0);
        }
        while !input.is_empty() {
            match input.tag()? {
                (1, VARINT) => self.seconds = input.varint()?.cast_signed(),
                (2, VARINT) => self.nanos = input.varint()? as i32,
                (number, wire) => input.skip(number, wire)?,
            }
        }
        let nanos = match self.kind {
            TimeKind::Timestamp => 0..=MAX_NANOS,
            TimeKind::Duration => -MAX_NANOS..=MAX_NANOS,
        };
        if !self.kind.seconds().contains(&self.seconds) || !nanos.contains(&self.nanos.into()) {
            return Err(Failure::malformed(self.kind.out_of_range()));
        }
        self.micros.set(row, self.seconds * MICROS + i64::from(self.nanos / 1_000));
        Ok(())
    }

    pub(super) fn finish(&mut self, rows: usize) -> Result<ArrayRef, ArrowError> {
        Ok(match self.kind {
            TimeKind::Timestamp => {
                Arc::new(self.micros.finish::<TimestampMicrosecondType>(rows)?.with_timezone(UTC))
            }
            TimeKind::Duration => Arc::new(self.micros.finish::<DurationMicrosecondType>(rows)?),
        })
    }
}
