//! Reading: for now reads of ranges (`scan.rs`); subscriptions and groups find their place
//! here.

pub mod assignor;
mod fetch;
mod member;
pub mod offsets;
mod reader;
mod scan;

pub use member::Member;
pub use scan::{Chunk, FOLLOW, Gap, Range, Scan, ScanOptions};
