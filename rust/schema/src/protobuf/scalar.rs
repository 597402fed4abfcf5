//! The numeric scalar types, and how each is read.

use super::failure::Failure;
use super::input::{FIXED32, FIXED64, Input, VARINT, zigzag};

/// How a number is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Varint,
    Zigzag,
    Fixed,
    /// An unsigned varint of 32 bits.
    Varint32,
    /// An unsigned number of four bytes.
    Fixed32,
}

impl Encoding {
    /// Returns the wire type of numbers of this many bytes.
    pub(super) fn wire(self, bytes: usize) -> u8 {
        match self {
            Self::Varint | Self::Zigzag | Self::Varint32 => VARINT,
            Self::Fixed32 => FIXED32,
            Self::Fixed if bytes == 4 => FIXED32,
            Self::Fixed => FIXED64,
        }
    }

    /// Reads a number of 32 bits. The higher bits of a varint are dropped.
    #[inline]
    pub(super) fn read_i32(self, input: &mut Input<'_>) -> Result<i32, Failure> {
        Ok(match self {
            Self::Varint | Self::Varint32 => input.varint()? as i32,
            Self::Zigzag => zigzag(u64::from(input.varint()? as u32)) as i32,
            Self::Fixed | Self::Fixed32 => i32::from_le_bytes(input.fixed()?),
        })
    }

    /// Returns a number of 64 bits, or an unsigned number of 32 bits.
    #[inline]
    pub(super) fn read_i64(self, input: &mut Input<'_>) -> Result<i64, Failure> {
        Ok(match self {
            Self::Varint => input.varint()?.cast_signed(),
            Self::Zigzag => zigzag(input.varint()?),
            Self::Fixed => i64::from_le_bytes(input.fixed()?),
            Self::Varint32 => i64::from(input.varint()? as u32),
            Self::Fixed32 => i64::from(u32::from_le_bytes(input.fixed()?)),
        })
    }

    /// Reads an unsigned number of 64 bits.
    #[inline]
    pub(super) fn read_u64(self, input: &mut Input<'_>) -> Result<i128, Failure> {
        Ok(i128::from(match self {
            Self::Fixed => u64::from_le_bytes(input.fixed()?),
            _ => input.varint()?,
        }))
    }
}
