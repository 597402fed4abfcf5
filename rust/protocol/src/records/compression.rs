//! The compression codecs of a batch: names, ids and levels, as in Kafka's `CompressionType`.
//!
//! `compression_config` parses names and checks levels; `codecs` compresses and decompresses.

use std::fmt;
use std::ops::RangeInclusive;

/// How the records of a batch are compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not compressed.
    #[default]
    None,
    /// Deflate with gzip framing.
    Gzip,
    /// Snappy; written in xerial framing as Java does, read with and without it.
    Snappy,
    /// LZ4 frames of independent 64 KiB blocks.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// All codecs, by id.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The name in `compression.type`.
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

    /// The id in a batch's attributes.
    #[must_use]
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The codec with this id.
    #[must_use]
    pub fn from_id(id: u8) -> Option<Self> {
        Self::ALL.get(usize::from(id)).copied()
    }

    /// The levels that the codec accepts, with the bounds of KIP-390.
    ///
    /// LZ4's default, 9, selects its fast compressor, as in Java; the other levels are those of LZ4HC,
    /// which is several times slower. Gzip also accepts -1, its default: libdeflate's level 5, which
    /// compresses better than zlib's level 6 in less time.
    #[must_use]
    pub const fn levels(self) -> Option<RangeInclusive<i32>> {
        match self {
            Self::None | Self::Snappy => None,
            Self::Gzip => Some(1..=9),
            Self::Lz4 => Some(1..=17),
            Self::Zstd => Some(-131_072..=22),
        }
    }

    /// The default level.
    #[must_use]
    pub const fn default_level(self) -> Option<i32> {
        match self {
            Self::None | Self::Snappy => None,
            Self::Gzip => Some(-1),
            Self::Lz4 => Some(9),
            Self::Zstd => Some(3),
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
