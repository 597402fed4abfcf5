//! [`Reader`]: reads primitive values from one frame.
//!
//! Invariant: every length is checked against the remaining bytes before it is used, and the memory of
//! collections is charged to a budget proportional to the frame.

use bytes::{Buf, Bytes};

use super::{Result, Uuid, WireError};

/// The bytes of memory that decoded collections may take for each byte of the frame. No message needs
/// more, even if all its strings are empty; a test fails for a new one that does.
const BUDGET_PER_BYTE: usize = 32;
/// The minimum budget of a frame in bytes.
const BUDGET_FLOOR: usize = 64 * 1024;

/// The maximum length of a string, in the compact encoding too: Kafka accepts no longer ones.
pub(super) const STRING_MAX: usize = 0x7fff;

/// A read position in one frame. Byte fields are slices of the frame, not copies.
#[derive(Debug)]
pub struct Reader {
    bytes: Bytes,
    frame: usize,
    budget: usize,
}

macro_rules! fixed {
    ($($name:ident -> $ty:ty, $get:ident;)*) => {$(
        #[doc = concat!("Reads a big-endian `", stringify!($ty), "`.")]
        pub fn $name(&mut self) -> Result<$ty> {
            self.need(stringify!($ty), size_of::<$ty>())?;
            Ok(self.bytes.$get())
        }
    )*};
}

impl Reader {
    /// Creates a reader at the start of `bytes`.
    #[must_use]
    pub fn new(bytes: Bytes) -> Self {
        let frame = bytes.len();
        Self { bytes, frame, budget: frame.saturating_mul(BUDGET_PER_BYTE).max(BUDGET_FLOOR) }
    }

    /// The number of remaining bytes.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// The remaining bytes.
    #[must_use]
    pub fn rest(&self) -> &Bytes {
        &self.bytes
    }

    fn need(&self, what: &'static str, needed: usize) -> Result<()> {
        let left = self.bytes.len();
        if left < needed { Err(WireError::Short { what, needed, left }) } else { Ok(()) }
    }

    fixed! {
        u8 -> u8, get_u8;
        i8 -> i8, get_i8;
        i16 -> i16, get_i16;
        u16 -> u16, get_u16;
        i32 -> i32, get_i32;
        u32 -> u32, get_u32;
        i64 -> i64, get_i64;
        f64 -> f64, get_f64;
    }

    /// Reads an id of 16 bytes.
    pub fn uuid(&mut self) -> Result<Uuid> {
        self.need("uuid", 16)?;
        let mut id = [0; 16];
        self.bytes.copy_to_slice(&mut id);
        Ok(Uuid(id))
    }

    /// Reads an unsigned variable-length integer of at most 32 bits.
    pub fn uvarint(&mut self) -> Result<u32> {
        let mut value = 0_u32;
        for shift in (0..35).step_by(7) {
            let byte = self.u8()?;
            // The fifth byte holds only four bits.
            if shift == 28 && byte > 0x0f {
                return Err(WireError::Varint);
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(WireError::Varint)
    }

    /// Reads the next `length` bytes as a slice of the frame.
    pub fn take(&mut self, what: &'static str, length: usize) -> Result<Bytes> {
        self.need(what, length)?;
        Ok(self.bytes.split_to(length))
    }

    /// Reads the length of a string (2 bytes) or of bytes and arrays (`wide`, 4 bytes), or the compact
    /// encoding of either; `None` is null.
    fn length(&mut self, what: &'static str, wide: bool, compact: bool) -> Result<Option<usize>> {
        let length = if compact {
            i64::from(self.uvarint()?) - 1
        } else if wide {
            i64::from(self.i32()?)
        } else {
            i64::from(self.i16()?)
        };
        match length {
            -1 => Ok(None),
            _ => match usize::try_from(length) {
                Ok(length) => Ok(Some(length)),
                Err(_) => Err(WireError::Length { what, length }),
            },
        }
    }

    /// Reads a string, or null.
    pub fn string(&mut self, compact: bool) -> Result<Option<String>> {
        let Some(length) = self.length("string", false, compact)? else { return Ok(None) };
        if length > STRING_MAX {
            return Err(WireError::Length {
                what: "string",
                length: i64::try_from(length).unwrap_or(i64::MAX),
            });
        }
        let bytes = self.take("string", length)?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(WireError::Utf8),
        }
    }

    /// Reads bytes, or null.
    pub fn bytes(&mut self, compact: bool) -> Result<Option<Bytes>> {
        match self.length("bytes", true, compact)? {
            Some(length) => self.take("bytes", length).map(Some),
            None => Ok(None),
        }
    }

    /// Reads an array's count, or null, and charges its memory to the budget.
    pub fn count(&mut self, compact: bool, item_size: usize) -> Result<Option<usize>> {
        let Some(count) = self.length("array", true, compact)? else { return Ok(None) };
        // Every item takes at least one byte of the frame.
        self.need("array", count)?;
        let memory = count.saturating_mul(item_size);
        match self.budget.checked_sub(memory) {
            Some(left) => self.budget = left,
            None => return Err(WireError::Budget { frame: self.frame }),
        }
        Ok(Some(count))
    }

    /// Reads the tagged fields at the end of a flexible struct (KIP-482). `field` gets each tag with a
    /// reader of the field's bytes. It returns whether it knows the tag, in which case it must have
    /// read all of the bytes. Unknown tags are skipped.
    pub fn tagged(&mut self, mut field: impl FnMut(u32, &mut Self) -> Result<bool>) -> Result<()> {
        for _ in 0..self.uvarint()? {
            let tag = self.uvarint()?;
            let size = usize::try_from(self.uvarint()?).unwrap_or(usize::MAX);
            let bytes = self.take("tagged field", size)?;
            let mut inner = Self { bytes, frame: self.frame, budget: self.budget };
            let known = field(tag, &mut inner)?;
            match inner.remaining() {
                left if known && left > 0 => {
                    return Err(WireError::Trailing { message: "a tagged field", left });
                }
                _ => self.budget = inner.budget,
            }
        }
        Ok(())
    }
}
