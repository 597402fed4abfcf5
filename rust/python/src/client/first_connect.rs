//! The search for the cluster that the first poll of a consumer begins which was created with `connect=False`.
//!
//! Invariants: it goes on between polls, so that short polls find a slow cluster, too; a poll waits for it for no
//! longer than its own timeout. Its failure is raised once, and the next poll begins again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ottla_client::{Client as Core, Error, Kind};
use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::client::client_arg::Connecting;
use crate::convert::errors;
use crate::runtime::{runtime, wait_at_most};

type Search = JoinHandle<ottla_client::Result<()>>;

pub(crate) struct FirstConnect {
    client: Core,
    /// How long one search may take.
    timeout: Duration,
    search: Mutex<Option<Search>>,
    found: AtomicBool,
}

impl FirstConnect {
    /// The search of a consumer that has not connected; `None` if it has, or if its client is shared.
    pub(crate) fn of(client: &Core, own_client: bool, connecting: Connecting) -> PyResult<Option<Self>> {
        if connecting.connect || !own_client {
            return Ok(None);
        }
        let timeout = connecting.timeout(client)?;
        let (search, found) = (Mutex::default(), AtomicBool::new(false));
        Ok(Some(Self { client: client.clone(), timeout, search, found }))
    }

    /// Waits for the cluster until the deadline, if it is still to be found. The poll goes on in any case: it counts,
    /// and joins the group.
    pub(crate) fn wait(this: &Option<Self>, py: Python<'_>, deadline: Instant) -> PyResult<()> {
        let left = || deadline.saturating_duration_since(Instant::now());
        this.as_ref().map_or(Ok(()), |search| search.wait_at_most(py, left()))
    }

    fn wait_at_most(&self, py: Python<'_>, at_most: Duration) -> PyResult<()> {
        if self.found.load(Ordering::Acquire) {
            return Ok(());
        }
        let begun = self.search.lock().take();
        let mut search = match begun {
            Some(search) => search,
            None => {
                let (client, timeout) = (self.client.clone(), self.timeout);
                runtime()?.spawn(async move { client.find_cluster(timeout).await })
            }
        };
        let ended = wait_at_most(py, at_most, &mut search);
        let Ok(Some(ended)) = ended else {
            // Not yet, or Ctrl-C.
            *self.search.lock() = Some(search);
            return ended.map(drop);
        };
        ended
            .unwrap_or_else(|_| Err(Error::new(Kind::Closed, "the search for the cluster was ended")))
            .map_err(|error| errors::raise(py, &error))?;
        self.found.store(true, Ordering::Release);
        Ok(())
    }
}

impl Drop for FirstConnect {
    fn drop(&mut self) {
        if let Some(search) = self.search.lock().take() {
            search.abort();
        }
    }
}
