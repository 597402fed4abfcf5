//! Kafka's 128-bit ids (topic ids, directory ids, member ids), printed as Kafka prints them.

use std::fmt;
use std::str::FromStr;

/// A 128-bit id; all zeroes means "none".
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The id that means "none".
    pub const ZERO: Self = Self([0; 16]);

    /// Whether this is [`Uuid::ZERO`].
    #[must_use]
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl fmt::Display for Uuid {
    /// URL-safe base64 without padding: 22 characters, as in Kafka's tools and logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = u128::from_be_bytes(self.0);
        // 21 digits of 6 bits, and one of 2 bits that is padded on the right.
        let digits = (0..22).map(|i| if i < 21 { bits >> (122 - 6 * i) } else { bits << 4 });
        for digit in digits {
            let index = usize::try_from(digit & 63).unwrap_or(0);
            write!(f, "{}", char::from(BASE64[index]))?;
        }
        Ok(())
    }
}

impl FromStr for Uuid {
    type Err = InvalidUuid;

    /// Reads what `Display` prints.
    fn from_str(text: &str) -> Result<Self, InvalidUuid> {
        if text.len() != 22 {
            return Err(InvalidUuid);
        }
        let mut bits: u128 = 0;
        for (i, digit) in text.bytes().enumerate() {
            let digit = BASE64.iter().position(|known| *known == digit).ok_or(InvalidUuid)?;
            let digit = u128::try_from(digit).map_err(|_| InvalidUuid)?;
            bits = if i < 21 { bits << 6 | digit } else { bits << 2 | digit >> 4 };
        }
        let id = Self(bits.to_be_bytes());
        // The last digit has bits to spare.
        if id.to_string() == text { Ok(id) } else { Err(InvalidUuid) }
    }
}

/// The error of a text that is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an id: expected 22 characters of URL-safe base64")]
pub struct InvalidUuid;

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
