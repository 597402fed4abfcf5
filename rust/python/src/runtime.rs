//! The process's runtime, and waiting on it without the GIL.
//!
//! Invariants: the runtime belongs to a process id; a forked child, in which its threads do not
//! exist, never touches it and makes its own. What was made before the fork refuses with a clear
//! error and is leaked rather than torn down. Every wait lets other Python threads run, and on the
//! main thread, where Python handles them, looks for signals, so that Ctrl-C ends it within 100 ms.
//! A thread that still waits when the interpreter ends never comes back to it: up to 3.13, Python
//! ends such a thread by unwinding its frames, and what that does to Rust's is not defined.

use std::cell::Cell;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict};
use tokio::runtime::Runtime;

use crate::convert::errors;
use crate::logging;
use crate::producer::exit;

/// How often a wait looks for signals.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);
/// The longest wait: far beyond any use, and no sum of times overflows with it.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The interpreter is about to end: set by `atexit`, before its threads are cut off.
static EXITING: AtomicBool = AtomicBool::new(false);

/// The id of this process, or 0 while Python forks, when it is asked of the system each time.
static PID: AtomicU32 = AtomicU32::new(0);

/// The id of this process: a system call for each record would be a good part of its cost.
pub(crate) fn pid() -> u32 {
    match PID.load(Ordering::Acquire) {
        0 => std::process::id(),
        pid => pid,
    }
}

/// Has Python tell when the process forks.
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
    /// The process, and whether this is its main thread: after a fork it may be another one.
    static IS_MAIN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
}

struct ProcessRuntime {
    pid: u32,
    runtime: Arc<Runtime>,
}

static PROCESS_RUNTIME: ArcSwapOption<ProcessRuntime> = ArcSwapOption::const_empty();

/// The runtime of this process, made at its first use.
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
        // A client waits more than it computes, and Spark runs a worker process per core.
        .worker_threads(2)
        // Made when they are needed, and gone soon after: each kind of call has a bound of its own.
        .max_blocking_threads(512)
        .thread_name("ottla")
        .enable_all()
        .build()?;
    let new = Arc::new(ProcessRuntime { pid, runtime: Arc::new(new) });
    let previous = PROCESS_RUNTIME.compare_and_swap(&current, Some(Arc::clone(&new)));
    match (&*previous, &current) {
        // Another thread was quicker.
        (Some(winner), _) if winner.pid == pid => Ok(Arc::clone(&winner.runtime)),
        _ => {
            // The parent's runtime: its threads are not here to be joined.
            std::mem::forget(current);
            Ok(Arc::clone(&new.runtime))
        }
    }
}

/// Has Python tell when it is about to end: what is unsent is written first.
fn register_exit_hook(py: Python<'_>) -> PyResult<()> {
    let exiting = PyCFunction::new_closure(py, None, None, |arguments, _| {
        let ended = exit::end_all(arguments.py());
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

/// The error for what belongs to the process `pid`, if this is another one.
pub(crate) fn check_process(pid: u32) -> PyResult<()> {
    let current = self::pid();
    if pid == current {
        return Ok(());
    }
    Err(errors::closed(&format!(
        "this object was made in process {pid}, and this is process {current}, forked from it: make a new one here"
    )))
}

/// Something that belongs to the process in which it was made.
pub(crate) struct ProcessLocal<T> {
    pid: u32,
    value: Option<T>,
}

impl<T> ProcessLocal<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { pid: pid(), value: Some(value) }
    }

    /// The value, unless this is a forked child or it was taken.
    pub(crate) fn get(&self) -> PyResult<&T> {
        check_process(self.pid)?;
        self.value.as_ref().ok_or_else(|| errors::closed("this object was closed"))
    }

    /// As [`ProcessLocal::get`], to change it.
    pub(crate) fn get_mut(&mut self) -> PyResult<&mut T> {
        check_process(self.pid)?;
        self.value.as_mut().ok_or_else(|| errors::closed("this object was closed"))
    }

    /// The value for a `repr`, which never raises.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.pid == pid())
    }
}

impl<T> Drop for ProcessLocal<T> {
    fn drop(&mut self) {
        // Tearing down the parent's state would wait for threads that this process has not got.
        if self.pid != pid() {
            std::mem::forget(self.value.take());
        }
    }
}

/// Waits for a future: without the GIL, and looking for signals.
pub(crate) fn wait<F: Future + Send>(py: Python<'_>, future: F) -> PyResult<F::Output>
where
    F::Output: Send,
{
    let runtime = runtime()?;
    let is_main = is_main_thread(py)?;
    logging::refresh_levels(py);
    py.detach(|| {
        let output = runtime.block_on(async {
            tokio::pin!(future);
            loop {
                tokio::select! {
                    biased;
                    output = &mut future => return Ok(output),
                    () = tokio::time::sleep(SIGNAL_CHECK), if is_main => Python::attach(|py| py.check_signals())?,
                }
            }
        });
        while !is_main && EXITING.load(Ordering::Acquire) {
            std::thread::park();
        }
        output
    })
}

/// As [`wait`], for results of the client.
pub(crate) fn wait_for<T: Send>(
    py: Python<'_>,
    future: impl Future<Output = ottla_client::Result<T>> + Send,
) -> PyResult<T> {
    wait(py, future)?.map_err(|error| errors::raise(py, &error))
}

/// A time-out in seconds, as Python gives it.
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
