//! Closes producers that are still open when the interpreter exits.
//!
//! Invariants: at exit, unsent records are written within [`EXIT_TIMEOUT`], for all producers
//! together, or their loss is reported on stderr. The exit code does not change, and Ctrl-C ends the
//! wait. A forked child leaves its parent's producers alone.

use std::sync::Weak;
use std::time::Duration;

use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::time::Instant;

/// How long an exiting program may take to write unsent records.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Something that may hold unsent records at exit.
pub(crate) trait CloseAtExit: Send + Sync {
    /// Closes it. An error reports records that were not written.
    fn close_at_exit(&self, py: Python<'_>, timeout: Duration) -> PyResult<()>;
}

struct OpenProducers {
    pid: u32,
    all: Vec<Weak<dyn CloseAtExit>>,
    /// The length of the list at which dropped producers are removed.
    next_prune: usize,
}

static OPEN: Mutex<OpenProducers> = Mutex::new(OpenProducers { pid: 0, all: Vec::new(), next_prune: 0 });

/// Registers a producer to close at exit, if it still exists then.
pub(crate) fn register(open: Weak<dyn CloseAtExit>) {
    let mut known = OPEN.lock();
    if known.pid != std::process::id() {
        // In a forked child: the parent closes its own producers.
        (known.pid, known.all, known.next_prune) = (std::process::id(), Vec::new(), 16);
    }
    if known.all.len() >= known.next_prune {
        known.all.retain(|open| open.strong_count() > 0);
        known.next_prune = (2 * known.all.len()).max(16);
    }
    known.all.push(open);
}

/// Closes everything that is open. Returns the error that ended the wait: Ctrl-C.
pub(crate) fn close_all(py: Python<'_>) -> PyResult<()> {
    let all = {
        let mut known = OPEN.lock();
        if known.pid != std::process::id() {
            return Ok(());
        }
        std::mem::take(&mut known.all)
    };
    let began = Instant::now();
    for open in all.iter().filter_map(Weak::upgrade) {
        match open.close_at_exit(py, EXIT_TIMEOUT.saturating_sub(began.elapsed())) {
            Err(error) if error.is_instance_of::<pyo3::exceptions::PyException>(py) => {
                error.write_unraisable(py, None);
            }
            ended => ended?,
        }
    }
    Ok(())
}
