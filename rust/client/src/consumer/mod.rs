//! Reading: ranges of partitions (`scan.rs`, `reader.rs` and what is in it, `cursor.rs`, `deleted.rs`), and consumers (`consumer.rs`).
//!
//! - `assignment` and `slot`: which partitions a consumer has, and where it is in each; no I/O.
//! - `consumer`: what an application calls; `subscribing`, `taking` and `seeking` are parts of it.
//! - `fetcher`: what runs behind a consumer; `send_fetches` decides who is asked for what and when; `fetch`
//!   is one request, `answers` what becomes of it, `fetch_session` what a broker remembers of the last one,
//!   `positions` the look-ups of where to read, `leaders` those that leaders answer.
//! - `prefetched` and `records`: what waits to be handed out, and its decoding.
//! - `group`: membership; `assignor`: who gets which partitions; `member`, `offsets`, `commits`: what is
//!   committed, by whom and when; `claim`: what of it may still go out;
//!   `stored`: asking for it.

mod answers;
mod assignment;
pub mod assignor;
mod claim;
mod commits;
#[allow(clippy::module_inception, reason = "the thing itself")]
mod consumer;
mod cursor;
mod deleted;
mod fetch;
mod fetch_session;
mod fetcher;
pub mod group;
mod leaders;
mod member;
pub mod offsets;
mod positions;
mod prefetched;
mod reader;
mod records;
mod scan;
mod seeking;
mod send_fetches;
mod shared;
mod slot;
mod stored;
mod subscribing;
mod taking;

pub use consumer::{Consumer, Polled};
pub use member::Member;
pub use prefetched::Prefetched;
pub use records::{Entry, RecordSet};
pub use scan::{Chunk, FOLLOW, Gap, Range, Scan, ScanOptions};
