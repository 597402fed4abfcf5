//! The process's tokio runtime, and blocking on it without the GIL.
//!
//! Invariants: the runtime belongs to one process. Its threads do not exist in a forked child, so the
//! child never touches it and creates its own; objects made before the fork raise a clear error there
//! and are leaked instead of torn down. Every wait lets other Python threads run. On the main thread,
//! where Python runs signal handlers, it runs them, so that Ctrl-C ends it at once, or within a second; what it waits for
//! goes on meanwhile. A thread that still waits when the interpreter exits never returns to it: up to 3.13, Python ends such
//! a thread by unwinding its frames, which is undefined behaviour for Rust's frames.
//!
//! - `wait`: blocking on a future; `park`: how a thread does that.
//! - `exit` closes producers that are still open when the interpreter exits.

pub(crate) mod exit;
mod park;
mod wait;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict};
use tokio::runtime::Runtime;

pub(crate) use self::wait::{wait, wait_at_most, wait_for};
use crate::convert::errors;
use crate::logging;

/// How long `close` waits by default, of every class.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest timeout: small enough that adding it to an instant does not overflow.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Whether the interpreter is exiting; set by `atexit`, before Python ends its threads.
static EXITING: AtomicBool = AtomicBool::new(false);

/// The id of this process; 0 while Python forks, when each caller asks the system instead.
static PID: AtomicU32 = AtomicU32::new(0);

/// Returns the id of this process, cached: a system call per record would be a large part of its cost.
pub(crate) fn pid() -> u32 {
    match PID.load(Ordering::Acquire) {
        0 => std::process::id(),
        pid => pid,
    }
}

/// Registers hooks that keep [`pid`] correct across forks.
pub(crate) fn register_fork_hooks(py: Python<'_>) -> PyResult<()> {
    let store_pid = |pid: fn() -> u32| {
        PyCFunction::new_closure(py, None, None, move |_, _| PID.store(pid(), Ordering::Release))
    };
    let hooks = PyDict::new(py);
    hooks.set_item("before", store_pid(|| 0)?)?;
    hooks.set_item("after_in_parent", store_pid(std::process::id)?)?;
    hooks.set_item("after_in_child", store_pid(std::process::id)?)?;
    py.import("os")?.call_method("register_at_fork", (), Some(&hooks))?;
    PID.store(std::process::id(), Ordering::Release);
    Ok(())
}

thread_local! {
    /// The process id, and whether this thread is that process's main thread; a fork can change it.
    static IS_MAIN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
}

struct ProcessRuntime {
    pid: u32,
    runtime: Arc<Runtime>,
}

static PROCESS_RUNTIME: ArcSwapOption<ProcessRuntime> = ArcSwapOption::const_empty();

/// Returns the runtime of this process, which the first call creates.
pub(crate) fn runtime() -> PyResult<Arc<Runtime>> {
    let pid = pid();
    let current = PROCESS_RUNTIME.load_full();
    if let Some(current) = &current
        && current.pid == pid
    {
        return Ok(Arc::clone(&current.runtime));
    }
    Python::attach(|py| register_exit_hook(py).and_then(|()| logging::start(py)))?;
    let new = tokio::runtime::Builder::new_multi_thread()
        // A client mostly waits, and Spark runs one worker process per core.
        .worker_threads(2)
        // Threads are started on demand and end when idle; each kind of call has a limit of its own.
        .max_blocking_threads(512)
        .thread_name("ottla")
        .enable_all()
        .build()?;
    let new = Arc::new(ProcessRuntime { pid, runtime: Arc::new(new) });
    let previous = PROCESS_RUNTIME.compare_and_swap(&current, Some(Arc::clone(&new)));
    match (&*previous, &current) {
        // Another thread created it first.
        (Some(winner), _) if winner.pid == pid => Ok(Arc::clone(&winner.runtime)),
        _ => {
            // The parent's runtime: its threads do not exist in this process and cannot be joined.
            std::mem::forget(current);
            Ok(Arc::clone(&new.runtime))
        }
    }
}

/// Registers a hook that writes unsent records before the interpreter exits.
fn register_exit_hook(py: Python<'_>) -> PyResult<()> {
    let exiting = PyCFunction::new_closure(py, None, None, |arguments, _| {
        let ended = exit::close_all(arguments.py());
        logging::stop(arguments.py());
        EXITING.store(true, Ordering::Release);
        ended
    })?;
    py.import("atexit")?.call_method1("register", (exiting,)).map(drop)
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let pid = pid();
    match IS_MAIN.get() {
        Some((known_pid, is_main)) if known_pid == pid => Ok(is_main),
        _ => {
            let threading = py.import("threading")?;
            let main = threading.call_method0("main_thread")?.getattr("ident")?;
            let is_main = main.eq(threading.call_method0("get_ident")?)?;
            IS_MAIN.set(Some((pid, is_main)));
            Ok(is_main)
        }
    }
}

/// Fails unless this process is `pid`, the one that an object belongs to.
pub(crate) fn check_process(pid: u32) -> PyResult<()> {
    let current = self::pid();
    if pid == current {
        return Ok(());
    }
    Err(errors::closed(&format!(
        "this object was created in process {pid}, and this is process {current}, forked from it: create a new one here"
    )))
}

/// A value that may be used and dropped only in the process that created it.
pub(crate) struct ProcessLocal<T> {
    pid: u32,
    value: Option<T>,
}

impl<T> ProcessLocal<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { pid: pid(), value: Some(value) }
    }

    /// Returns the value; fails in a forked child.
    pub(crate) fn get(&self) -> PyResult<&T> {
        check_process(self.pid)?;
        self.value.as_ref().ok_or_else(|| errors::closed("this object was closed"))
    }

    /// Returns the value for a change; fails in a forked child.
    pub(crate) fn get_mut(&mut self) -> PyResult<&mut T> {
        check_process(self.pid)?;
        self.value.as_mut().ok_or_else(|| errors::closed("this object was closed"))
    }

    /// Returns the value for a `repr`, which never raises.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.pid == pid())
    }
}

impl<T> Drop for ProcessLocal<T> {
    fn drop(&mut self) {
        // Dropping the parent's state would wait for threads that this process does not have.
        if self.pid != pid() {
            std::mem::forget(self.value.take());
        }
    }
}

/// Converts a timeout in seconds.
pub(crate) fn seconds(timeout: Option<f64>, default: Duration) -> PyResult<Duration> {
    match timeout {
        None => Ok(default.min(FOREVER)),
        Some(seconds) if seconds >= 0.0 => {
            Ok(Duration::try_from_secs_f64(seconds).map_or(FOREVER, |timeout| timeout.min(FOREVER)))
        }
        Some(seconds) => {
            let message = format!("timeout is {seconds}: expected seconds, 0 or more");
            Err(Python::attach(|py| errors::config(py, message)))
        }
    }
}
