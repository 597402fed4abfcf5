//! What a program that ends leaves open: producers that nobody has closed.
//!
//! Invariants: at the interpreter's end, what they hold unsent is written for up to [`LONGEST`], all of
//! them together, or what was not is reported on stderr. The exit code stays what it was, and Ctrl-C
//! ends the wait. A forked child does not touch its parent's.

use std::sync::Weak;
use std::time::Duration;

use parking_lot::Mutex;
use pyo3::prelude::*;
use tokio::time::Instant;

use crate::runtime::pid;

/// How long a program that has ended may take to write what is unsent.
const LONGEST: Duration = Duration::from_secs(10);

/// Something that may hold unsent records when the program ends.
pub(crate) trait Ending: Send + Sync {
    /// Closes it. An error says what was not written.
    fn end(&self, py: Python<'_>, timeout: Duration) -> PyResult<()>;
}

struct Open {
    pid: u32,
    all: Vec<Weak<dyn Ending>>,
    /// So many are looked through before the next.
    next_look: usize,
}

static OPEN: Mutex<Open> = Mutex::new(Open { pid: 0, all: Vec::new(), next_look: 0 });

/// Has something ended with the program, if it is still there then.
pub(crate) fn watch(open: Weak<dyn Ending>) {
    let mut known = OPEN.lock();
    if known.pid != pid() {
        // What the parent has left open is its own business; only the memory of the list is ours.
        (known.pid, known.all, known.next_look) = (pid(), Vec::new(), 16);
    }
    if known.all.len() >= known.next_look {
        known.all.retain(|open| open.strong_count() > 0);
        known.next_look = (2 * known.all.len()).max(16);
    }
    known.all.push(open);
}

/// Ends all that is open. An error is what ended the wait: Ctrl-C.
pub(crate) fn end_all(py: Python<'_>) -> PyResult<()> {
    let all = {
        let mut known = OPEN.lock();
        if known.pid != pid() {
            return Ok(());
        }
        std::mem::take(&mut known.all)
    };
    let began = Instant::now();
    for open in all.iter().filter_map(Weak::upgrade) {
        match open.end(py, LONGEST.saturating_sub(began.elapsed())) {
            Err(error) if error.is_instance_of::<pyo3::exceptions::PyException>(py) => {
                error.write_unraisable(py, None);
            }
            ended => ended?,
        }
    }
    Ok(())
}
