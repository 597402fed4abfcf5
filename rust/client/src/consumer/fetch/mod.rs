//! The fetcher of a consumer, and the Fetch requests that scans send, too.
//!
//! - `fetcher`: the prefetching task; `send_fetches`: which broker gets which request, and when.
//! - `broker_state`: a broker's fetch session, request in flight and backoff.
//! - `request`: one Fetch request; `fetch_session`: incremental fetch sessions (KIP-227).
//! - `completed_fetches`: responses that no task waits for.
//! - `fetch_response`: the processing of responses; `metadata_needs`: requests of metadata refreshes.

pub(crate) mod broker_state;
mod completed_fetches;
pub(crate) mod fetch_response;
mod fetch_session;
pub(crate) mod fetcher;
mod metadata_needs;
pub(crate) mod request;
pub(crate) mod send_fetches;
