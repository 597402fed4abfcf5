//! Calls of the application's functions from within calls of ours, in the thread of the caller.
//!
//! Invariant: they nest to a bounded depth. A serializer that sends with its own producer is an error, and not the end
//! of the process: Python counts its own frames, and not the stack that ours take between them.

use std::cell::Cell;

use pyo3::exceptions::PyRecursionError;
use pyo3::prelude::*;

/// A function that calls one within one: more than any that ends, and few enough for the smallest stacks.
const MAX_DEPTH: usize = 16;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Takes its level back, also after a panic.
struct Level;

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get().saturating_sub(1)));
    }
}

/// Calls a function of the application; `what` names it.
///
/// # Errors
/// The function's own, and `RecursionError` if it calls itself again and again through calls of ours.
pub(crate) fn nested<T>(what: &str, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let depth = DEPTH.with(|depth| depth.replace(depth.get() + 1));
    let _level = Level;
    if depth < MAX_DEPTH {
        return call();
    }
    let message = format!("{what} calls itself through ottla, more than {MAX_DEPTH} times in one another");
    Err(PyRecursionError::new_err(message))
}
