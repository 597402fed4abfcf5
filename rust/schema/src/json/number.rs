//! The exact values of JSON numbers: `10`, `1e1` and `100.0e-1` are the same integer.
//!
//! Invariants: integers and decimals are never rounded. Work and memory depend on the length of the text, not on its
//! exponent.

use super::scanner::{Fault, Number};

/// The largest number of digits in a 64-bit integer.
const MAX_INTEGER_DIGITS: i64 = 20;

/// A number: its digits without leading and trailing zeros, times a power of ten.
#[derive(Debug)]
struct Exact {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Exact {
    fn new(text: &str) -> Self {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = [whole, fraction].concat();
        let count = digits.len();
        digits.truncate(digits.trim_end_matches('0').len());
        let zeros = length(count - digits.len());
        digits.drain(..digits.len() - digits.trim_start_matches('0').len());
        let exponent = parse_exponent(exponent).saturating_sub(length(fraction.len())).saturating_add(zeros);
        Self { is_negative: is_negative && !digits.is_empty(), digits, exponent }
    }

    /// Returns the digits of this number times a power of ten, if the product is an integer of at most `max` digits.
    fn scaled(&self, power: i64, max: i64) -> Result<String, Misfit> {
        if self.digits.is_empty() {
            return Ok("0".to_owned());
        }
        let zeros = self.exponent.saturating_add(power);
        if zeros < 0 {
            return Err(Misfit::Fraction);
        }
        if zeros.saturating_add(length(self.digits.len())) > max {
            return Err(Misfit::Range);
        }
        let zeros = usize::try_from(zeros).unwrap_or_default();
        Ok(format!("{}{}", self.digits, "0".repeat(zeros)))
    }
}

enum Misfit {
    Fraction,
    Range,
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn parse_exponent(text: &str) -> i64 {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    // The value is limited to half of the range, so adding a length does not saturate.
    let value = digits.bytes().fold(0_i64, |value, digit| {
        (value.saturating_mul(10).saturating_add(i64::from(digit.wrapping_sub(b'0')))).min(i64::MAX / 2)
    });
    if is_negative { -value } else { value }
}

/// Returns a number as an integer.
pub(super) fn integer(number: &Number<'_>) -> Result<i128, Fault> {
    if let Some(value) = number.short {
        return Ok(value.into());
    }
    let exact = Exact::new(number.text);
    match exact.scaled(0, MAX_INTEGER_DIGITS) {
        Ok(digits) => {
            let value: i128 = digits.parse().map_err(|_| beyond(number, "integers"))?;
            Ok(if exact.is_negative { -value } else { value })
        }
        Err(Misfit::Fraction) => Err(format!("expected an integer, found {}", short(number.text))),
        Err(Misfit::Range) => Err(beyond(number, "integers")),
    }
}

/// Returns a number as an integer of a column.
#[inline]
pub(super) fn fitting<T: TryFrom<i64> + TryFrom<i128>>(number: &Number<'_>) -> Result<T, Fault> {
    let value = match number.short {
        Some(value) => T::try_from(value).ok(),
        None => T::try_from(integer(number)?).ok(),
    };
    value.ok_or_else(|| beyond(number, "its type"))
}

/// Returns the digits of a number times ten to the power of `scale`, with a sign if it is negative.
pub(super) fn decimal(number: &Number<'_>, precision: u8, scale: u8) -> Result<String, Fault> {
    let exact = Exact::new(number.text);
    let mut digits = exact.scaled(scale.into(), precision.into()).map_err(|misfit| match misfit {
        Misfit::Fraction => {
            format!("{} has more than {scale} digits after the decimal point", short(number.text))
        }
        Misfit::Range => {
            format!(
                "{} has more than {} digits before the decimal point",
                short(number.text),
                precision - scale
            )
        }
    })?;
    if exact.is_negative {
        digits.insert(0, '-');
    }
    Ok(digits)
}

/// Returns the double nearest to a number.
pub(super) fn double(number: &Number<'_>) -> Result<f64, Fault> {
    const EXACT: i64 = 1 << f64::MANTISSA_DIGITS;
    if let Some(value) = number.short.filter(|value| (-EXACT..=EXACT).contains(value) && *value != 0) {
        #[allow(clippy::cast_precision_loss, reason = "it is exact in this range")]
        return Ok(value as f64);
    }
    let value = number.text.parse::<f64>().ok().filter(|value| value.is_finite());
    value.ok_or_else(|| beyond(number, "doubles"))
}

/// Returns the float nearest to a number.
pub(super) fn float(number: &Number<'_>) -> Result<f32, Fault> {
    let value = number.text.parse::<f32>().ok().filter(|value| value.is_finite());
    value.ok_or_else(|| beyond(number, "floats"))
}

#[cold]
pub(super) fn beyond(number: &Number<'_>, range: &str) -> Fault {
    format!("{} is beyond the range of {range}", short(number.text))
}

/// Returns the beginning of a text, for error messages.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
