//! RFC 3339 dates and timestamps: `2024-02-29` and `2024-02-29T23:59:59.123+01:00`. A space may replace the `T`.
//!
//! Invariant: no offset is guessed. A column with a time zone requires an offset; a column without one reads a
//! timestamp without an offset as UTC. Digits beyond the column's unit are cut off, which rounds towards the past.

use std::io::Write;

use arrow_schema::TimeUnit;

use crate::source::per_second;

const SECONDS_OF_DAY: i64 = 24 * 60 * 60;
/// The number of days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;
/// The number of days in 400 years.
const PERIOD: i64 = 146_097;

/// Parses a date. Returns the days since 1970-01-01, or `None` if the text is not a date.
#[must_use]
pub fn date(text: &str) -> Option<i32> {
    let (days, rest) = days(text.as_bytes())?;
    rest.is_empty().then_some(days)
}

/// Parses a timestamp. Returns the number of units since 1970-01-01, 00:00 UTC, or `None` if the text is not a
/// timestamp, lacks a required offset, or does not fit into 64 bits.
#[must_use]
pub fn timestamp(text: &str, unit: TimeUnit, needs_offset: bool) -> Option<i64> {
    let (days, rest) = days(text.as_bytes())?;
    let rest = match rest.split_first()? {
        (b'T' | b't' | b' ', rest) => rest,
        _ => return None,
    };
    let (hour, rest) = number(rest, 2, 23)?;
    let (minute, rest) = number(rest.strip_prefix(b":")?, 2, 59)?;
    // A leap second is read as the first second of the next minute.
    let (second, rest) = number(rest.strip_prefix(b":")?, 2, 60)?;
    let (fraction, rest) = match rest.strip_prefix(b".") {
        Some(rest) => rest.split_at(rest.iter().take_while(|byte| byte.is_ascii_digit()).count()),
        None => (&b"0"[..], rest),
    };
    if fraction.is_empty() {
        return None;
    }
    let offset = match rest {
        b"Z" | b"z" => 0,
        [] if !needs_offset => 0,
        [sign @ (b'+' | b'-'), rest @ ..] => {
            let (hours, rest) = number(rest, 2, 23)?;
            let (minutes, rest) = number(rest.strip_prefix(b":")?, 2, 59)?;
            let offset = i64::from(hours) * 3_600 + i64::from(minutes) * 60;
            match (rest, sign) {
                ([], b'+') => offset,
                ([], _) => -offset,
                _ => return None,
            }
        }
        _ => return None,
    };
    let time = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
    let seconds = i64::from(days) * SECONDS_OF_DAY + time - offset;
    let padded = fraction.iter().chain(std::iter::repeat(&b'0')).take(digits(unit));
    let fraction = padded.fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    // The sum is computed as i128: the earliest second may only fit into 64 bits together with its fraction.
    i64::try_from(i128::from(seconds) * i128::from(per_second(unit)) + i128::from(fraction)).ok()
}

/// Writes a date. Returns `None` for a date whose text could not be read back.
pub(super) fn append_date(days: i64, out: &mut Vec<u8>) -> Option<()> {
    // The days from 0000-01-01 to 9999-12-31.
    if !(-719_528..=2_932_896).contains(&days) {
        return None;
    }
    // Years begin in March, so a leap day is the last day of its year. The calendar repeats every 400 years.
    let days = days + EPOCH;
    let (period, day) = (days.div_euclid(PERIOD), days.rem_euclid(PERIOD));
    // Subtract the leap days before this day: one in each fourth year, except in each hundredth.
    let year = (day - day / 1_460 + day / 36_524 - day / (PERIOD - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    write!(out, "\"{:04}-{month:02}-{day:02}\"", period * 400 + year).ok()
}

/// Writes a timestamp, with a fraction unless it is zero. Returns `None` for one whose text could not be read back.
pub(super) fn append_timestamp(
    value: i64,
    unit: TimeUnit,
    has_offset: bool,
    out: &mut Vec<u8>,
) -> Option<()> {
    let per_second = per_second(unit);
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    append_date(seconds.div_euclid(SECONDS_OF_DAY), out)?;
    // The time is inserted before the closing quote.
    out.pop();
    let time = seconds.rem_euclid(SECONDS_OF_DAY);
    let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60);
    write!(out, "T{hour:02}:{minute:02}:{second:02}").ok()?;
    if fraction != 0 {
        write!(out, ".{fraction:0width$}", width = digits(unit)).ok()?;
    }
    out.extend_from_slice(if has_offset { b"Z\"" } else { b"\"" });
    Some(())
}

/// Returns the number of fraction digits of a unit.
fn digits(unit: TimeUnit) -> usize {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Parses a date. Returns the days since 1970-01-01 and the text after the date.
fn days(text: &[u8]) -> Option<(i32, &[u8])> {
    let (year, rest) = number(text, 4, 9_999)?;
    let (month, rest) = number(rest.strip_prefix(b"-")?, 2, 12)?;
    let (day, rest) = number(rest.strip_prefix(b"-")?, 2, 31)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if month == 0 || day == 0 || day > last {
        return None;
    }
    // Years begin in March, so a leap day is the last day of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = year * 365 + leap_days + (153 * month + 2) / 5 + day - 1;
    Some((days - EPOCH as i32, rest))
}

/// Parses a number of exactly `digits` digits. Returns it and the text after it.
fn number(text: &[u8], digits: usize, max: i32) -> Option<(i32, &[u8])> {
    let (number, rest) = text.split_at_checked(digits)?;
    let value = number
        .iter()
        .try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i32::from(byte - b'0')))?;
    (value <= max).then_some((value, rest))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    #[test]
    fn texts_of_rfc_3339_become_counts() {
        let seconds = |text| timestamp(text, TimeUnit::Second, false);
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2000-03-01 00:00:00"), Some(951_868_800));
        assert_eq!(seconds("2024-02-29T23:59:59.9+01:00"), Some(1_709_247_599));
        assert_eq!(seconds("2016-12-31T23:59:60Z"), Some(1_483_228_800));
        assert_eq!(timestamp("1969-12-31T23:59:59.9999Z", TimeUnit::Millisecond, true), Some(-1));
        assert_eq!(timestamp("1677-09-21T00:12:43.145224192Z", TimeUnit::Nanosecond, true), Some(i64::MIN));
        assert_eq!(timestamp("1677-09-21T00:12:43.145224191Z", TimeUnit::Nanosecond, true), None);
        assert_eq!(timestamp("0000-01-01T00:00:00Z", TimeUnit::Second, true), Some(-62_167_219_200));
        assert_eq!(date("1969-12-31"), Some(-1));
        assert_eq!(date("9999-12-31"), Some(2_932_896));
    }

    #[test]
    fn what_is_written_is_read_back() {
        for days in (-719_528..=2_932_896).step_by(17).chain(-719_528..-718_000).chain(10_957..14_000) {
            let mut out = Vec::new();
            append_date(days, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(date(text.trim_matches('"')).map(i64::from), Some(days), "{text}");
        }
        let text = |value, unit, has_offset| {
            let mut out = Vec::new();
            append_timestamp(value, unit, has_offset, &mut out)?;
            Some(String::from_utf8(out).unwrap())
        };
        let utc = text(-1, TimeUnit::Nanosecond, true).unwrap();
        assert_eq!(utc, "\"1969-12-31T23:59:59.999999999Z\"");
        assert_eq!(text(86_399, TimeUnit::Second, false).unwrap(), "\"1970-01-01T23:59:59\"");
        assert_eq!(text(1_050, TimeUnit::Millisecond, false).unwrap(), "\"1970-01-01T00:00:01.050\"");
        for (first, last, unit) in [
            (-62_167_219_200, 253_402_300_799, TimeUnit::Second),
            (-62_167_219_200_000_000, 253_402_300_799_999_999, TimeUnit::Microsecond),
        ] {
            for value in [first, last] {
                let text = text(value, unit, true).unwrap();
                assert_eq!(timestamp(text.trim_matches('"'), unit, true), Some(value), "{text}");
            }
            assert_eq!((text(first - 1, unit, true), text(last + 1, unit, true)), (None, None));
        }
        assert!(text(i64::MIN, TimeUnit::Nanosecond, true).is_some());
        assert_eq!(text(i64::MIN, TimeUnit::Second, true), None);
    }

    #[test]
    fn other_texts_are_none() {
        assert_eq!(timestamp("2024-01-01T00:00:00", TimeUnit::Second, true), None);
        for text in [
            "",
            "2024-01-01",
            "2024-01-01T00:00",
            "2024-01-01T00:00:00.",
            "2024-01-01T24:00:00Z",
            "2023-02-29T00:00:00Z",
            "2024-00-01T00:00:00Z",
            "2024-01-01T00:00:00+1",
            "+024-01-01T00:00:00Z",
            "2024-01-01T00:00:00+01:00x",
            "2024-01-01x00:00:00Z",
            "2024-01-01T00:00:00 Z",
            "２024-01-01T00:00:00Z",
        ] {
            assert_eq!(timestamp(text, TimeUnit::Second, false), None, "{text}");
        }
        assert_eq!((date("2024-1-01"), date("2024-01-01T"), date("1900-02-29")), (None, None, None));
    }
}
