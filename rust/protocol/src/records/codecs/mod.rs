//! The codecs, one file each, behind [`Compressor`] and [`Decompressor`].
//!
//! Invariant: a [`Decompressor`] never holds more decompressed bytes than its limit, whatever size the
//! compressed bytes announce.

mod compressor;
mod decompressor;
mod gzip;
mod lz4;
mod output_buffer;
mod snappy;
mod xxh32;
mod zstd;

pub use compressor::Compressor;
pub use decompressor::{DEFAULT_DECOMPRESSED_LIMIT, Decompressor};
