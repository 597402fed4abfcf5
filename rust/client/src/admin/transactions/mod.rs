//! Operations on transactions: list, describe, find the open ones of partitions, and abort them.
//!
//! - [`list`](Client::list_transactions): the transactional ids of all coordinators (KIP-664).
//! - [`describe`](Client::describe_transactions): the transaction of each id.
//! - [`producers`](Client::describe_producers): the producers that partition leaders know.
//! - [`open`](Client::open_transactions): which transactions keep the last stable offset of partitions back.
//! - [`fence`](Client::fence_producers) and [`abort`](Client::abort_hanging_transaction): end them.
//! - [`end_prepared`](Client::end_prepared_transactions): ends those whose producers left the end to others.

mod abort;
mod describe;
mod end_prepared;
mod fence;
mod list;
mod open;
mod producers;

pub use describe::TransactionDescription;
pub use fence::FencedProducer;
pub use list::{TransactionFilter, TransactionListing};
pub use open::OpenTransaction;
pub use producers::ProducerState;

pub(crate) use describe::describe_on;
pub(crate) use list::list_on;
pub(crate) use open::of_producers;
pub(crate) use producers::describe_producers_on;

#[cfg(doc)]
use crate::cluster::Client;
