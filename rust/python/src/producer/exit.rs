//! What a program that ends leaves open: producers that nobody has closed.
//!
//! Invariants: at the interpreter's end, what they hold unsent is written for up to [`EXIT_TIMEOUT`], all of
//! them together, or what was not is reported on stderr. The exit code stays what it was, and Ctrl-C
//! ends the wait. A forked child does not touch its parent's.

use std::sync::Weak;
use std::time::Duration;

use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::time::Instant;

/// How long a program that has ended may take to write what is unsent.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Something that may hold unsent records when the program ends.
pub(crate) trait CloseAtExit: Send + Sync {
    /// Closes it. An error says what was not written.
    fn close_at_exit(&self, py: Python<'_>, timeout: Duration) -> PyResult<()>;
}

struct OpenProducers {
    pid: u32,
    all: Vec<Weak<dyn CloseAtExit>>,
    /// So many are looked through before the next.
    next_prune: usize,
}

static OPEN: Mutex<OpenProducers> = Mutex::new(OpenProducers { pid: 0, all: Vec::new(), next_prune: 0 });

/// Has something ended with the program, if it is still there then.
pub(crate) fn register(open: Weak<dyn CloseAtExit>) {
    let mut known = OPEN.lock();
    if known.pid != std::process::id() {
        // What the parent has left open is its own business; only the memory of the list is ours.
        (known.pid, known.all, known.next_prune) = (std::process::id(), Vec::new(), 16);
    }
    if known.all.len() >= known.next_prune {
        known.all.retain(|open| open.strong_count() > 0);
        known.next_prune = (2 * known.all.len()).max(16);
    }
    known.all.push(open);
}

/// Ends all that is open. An error is what ended the wait: Ctrl-C.
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
