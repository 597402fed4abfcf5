//! The task that fetches ahead for a consumer, and the requests that scans use, too.
//!
//! - `fetcher`: the task; `send_fetches` decides which broker is asked for what and when.
//! - `request`: one Fetch request; `fetch_session`: what a broker remembers of the last one (KIP-227);
//!   `fetch_response`: what becomes of a response.

pub(crate) mod fetch_response;
mod fetch_session;
pub(crate) mod fetcher;
pub(crate) mod request;
pub(crate) mod send_fetches;
