//! The codecs: their names, numbers and levels. One file a codec.
//!
//! Invariant: [`Scratch`] never holds more than its limit of decompressed bytes, whatever the
//! compressed bytes announce.

mod compressor;
mod gzip;
mod lz4;
mod output;
mod scratch;
mod snappy;
mod xxh32;
mod zstd;

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

pub use compressor::Compressor;
pub use scratch::{DEFAULT_DECOMPRESSED_LIMIT, Scratch};

use super::RecordError;

/// How the records of a batch are compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// As they are.
    #[default]
    None,
    /// Deflate with gzip framing.
    Gzip,
    /// Snappy; written in xerial framing as Java does, read with and without.
    Snappy,
    /// LZ4 frames of independent 64 KiB blocks.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// All of them, by number.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The name in configurations.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The number in a batch's attributes.
    #[must_use]
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The codec with this number.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.get(usize::from(id)).copied()
    }

    /// The levels that the codec's configuration takes, as KIP-390 bounds them.
    ///
    /// LZ4's default of 9 is its fast compressor, as in Java; the others are LZ4HC's levels, several
    /// times slower. Gzip also takes -1, its default, which is libdeflate's 5: smaller than what zlib's 6
    /// makes, in less time.
    #[must_use]
    pub const fn levels(self) -> Option<RangeInclusive<i32>> {
        match self {
            Self::None | Self::Snappy => None,
            Self::Gzip => Some(1..=9),
            Self::Lz4 => Some(1..=17),
            Self::Zstd => Some(-131_072..=22),
        }
    }

    /// The level that applies when none is configured.
    #[must_use]
    pub const fn default_level(self) -> Option<i32> {
        match self {
            Self::None | Self::Snappy => None,
            Self::Gzip => Some(-1),
            Self::Lz4 => Some(9),
            Self::Zstd => Some(3),
        }
    }

    /// `level` if the codec has it, else an error that says what it has.
    ///
    /// # Errors
    /// [`RecordError::Level`] for a level out of bounds. A codec without levels takes any.
    pub fn check_level(self, level: i32) -> Result<i32, RecordError> {
        match self.levels() {
            Some(levels) if !levels.contains(&level) && Some(level) != self.default_level() => {
                Err(RecordError::Level { codec: self, level, min: *levels.start(), max: *levels.end() })
            }
            _ => Ok(level),
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Compression {
    type Err = RecordError;

    fn from_str(name: &str) -> Result<Self, RecordError> {
        Self::ALL
            .into_iter()
            .find(|codec| codec.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| RecordError::CodecName { name: name.to_owned() })
    }
}
