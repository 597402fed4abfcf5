//! Types of the keys about reading: the start position, the isolation level and the modes of share consumers.

use std::time::Duration;

use super::value::{ConfigType, Value};

/// Which transactional records are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationLevel {
    /// All records, including those of open and aborted transactions.
    ReadUncommitted,
    /// Committed records only, up to the first open transaction (the last stable offset).
    ReadCommitted,
}

impl ConfigType for IsolationLevel {
    const TYPE: &'static str = "read_uncommitted | read_committed";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        match value {
            Value::Str(text) if text == "read_uncommitted" => Ok(Self::ReadUncommitted),
            Value::Str(text) if text == "read_committed" => Ok(Self::ReadCommitted),
            _ => Err(format!("expected {}", Self::TYPE)),
        }
    }
    fn to_text(&self) -> String {
        match self {
            Self::ReadUncommitted => "read_uncommitted",
            Self::ReadCommitted => "read_committed",
        }
        .to_owned()
    }
}

/// How the records of a share consumer are acknowledged (KIP-932).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareAcknowledgementMode {
    /// The next poll, a commit or closing accepts all records of the last poll.
    Implicit,
    /// The application acknowledges each record before the next poll.
    Explicit,
}

impl ConfigType for ShareAcknowledgementMode {
    const TYPE: &'static str = "implicit | explicit";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        match value {
            Value::Str(text) if text.eq_ignore_ascii_case("implicit") => Ok(Self::Implicit),
            Value::Str(text) if text.eq_ignore_ascii_case("explicit") => Ok(Self::Explicit),
            _ => Err(format!("expected {}", Self::TYPE)),
        }
    }
    fn to_text(&self) -> String {
        match self {
            Self::Implicit => "implicit",
            Self::Explicit => "explicit",
        }
        .to_owned()
    }
}

/// How many records a share consumer acquires with one fetch (KIP-1206).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareAcquireMode {
    /// Whole batches: about `max.poll.records`, or the records of one batch if those are more.
    BatchOptimized,
    /// At most `max.poll.records`, even if that splits a batch.
    RecordLimit,
}

impl ConfigType for ShareAcquireMode {
    const TYPE: &'static str = "batch_optimized | record_limit";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        match value {
            Value::Str(text) if text.eq_ignore_ascii_case("batch_optimized") => Ok(Self::BatchOptimized),
            Value::Str(text) if text.eq_ignore_ascii_case("record_limit") => Ok(Self::RecordLimit),
            _ => Err(format!("expected {}", Self::TYPE)),
        }
    }
    fn to_text(&self) -> String {
        match self {
            Self::BatchOptimized => "batch_optimized",
            Self::RecordLimit => "record_limit",
        }
        .to_owned()
    }
}

/// Where a consumer starts without a committed offset, or if its position is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutoOffsetReset {
    /// At the first record.
    Earliest,
    /// After the last record.
    Latest,
    /// At the first record that is at most this old (KIP-1106).
    ByDuration(Duration),
    /// Nowhere: the application gets an error.
    None,
}

const BY_DURATION: &str = "by_duration:";

impl ConfigType for AutoOffsetReset {
    const TYPE: &'static str = "earliest | latest | by_duration:<ISO 8601 duration> | none";
    fn parse(value: &Value, _: (i64, i64)) -> Result<Self, String> {
        let Value::Str(text) = value else { return Err(format!("expected {}", Self::TYPE)) };
        let lower = text.trim().to_ascii_lowercase();
        match lower.as_str() {
            "earliest" => Ok(Self::Earliest),
            "latest" => Ok(Self::Latest),
            "none" => Ok(Self::None),
            _ => match lower.strip_prefix(BY_DURATION) {
                Some(duration) => iso_duration(duration).map(Self::ByDuration).ok_or_else(|| {
                    "expected a duration as in by_duration:P1DT12H or by_duration:PT30M".to_owned()
                }),
                None => Err(format!("expected {}", Self::TYPE)),
            },
        }
    }
    fn to_text(&self) -> String {
        match self {
            Self::Earliest => "earliest".to_owned(),
            Self::Latest => "latest".to_owned(),
            Self::None => "none".to_owned(),
            Self::ByDuration(ago) => format!("{BY_DURATION}PT{}S", ago.as_secs_f64()),
        }
    }
}

/// Parses an ISO 8601 duration of days, hours, minutes and seconds, as Java's `Duration` does; `None` if
/// it is malformed or negative.
fn iso_duration(text: &str) -> Option<Duration> {
    let body = text.strip_prefix('p')?;
    let (days, times) = body.split_once('t').map_or((body, None), |(days, times)| (days, Some(times)));
    let mut seconds = 0.0;
    let mut parts = 0;
    let mut read = |mut text: &str, units: &[(char, f64)]| {
        for (unit, worth) in units {
            if let Some((number, rest)) = text.split_once(*unit) {
                let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
                let number: f64 = number.parse().ok().filter(|_| plain)?;
                // Only seconds have fractions.
                if number.fract() != 0.0 && *unit != 's' {
                    return None;
                }
                seconds += number * worth;
                parts += 1;
                text = rest;
            }
        }
        text.is_empty().then_some(())
    };
    read(days, &[('d', 86_400.0)])?;
    match times {
        Some("") => return None,
        Some(times) => read(times, &[('h', 3_600.0), ('m', 60.0), ('s', 1.0)])?,
        None => {}
    }
    if parts == 0 {
        return None;
    }
    Duration::try_from_secs_f64(seconds).ok()
}
