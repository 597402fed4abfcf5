//! Reading: reads of ranges (`scan.rs`), and membership in groups (`group/`, `assignor/`) with their
//! offsets (`offsets/`).

pub mod assignor;
mod fetch;
pub mod group;
mod member;
pub mod offsets;
mod reader;
mod scan;

pub use member::Member;
pub use scan::{Chunk, FOLLOW, Gap, Range, Scan, ScanOptions};
