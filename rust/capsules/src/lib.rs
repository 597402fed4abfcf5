//! Arrow's [PyCapsule interface](https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html): the
//! methods `__arrow_c_schema__`, `__arrow_c_array__` and `__arrow_c_stream__`, by which Python libraries pass columns
//! to each other without a copy.
//!
//! - `export` makes the capsules that our own objects return.
//! - `import` calls the methods of other objects. `ffi` reads what their capsules contain, after `layout` has listed
//!   what an array of its type must have.
//!
//! Invariants: only `ffi` contains `unsafe`. A foreign object cannot cause a panic, and what it passes is checked as
//! far as the C interface allows: counts, pointers, offsets and text; the sizes of buffers are its word. Whatever was
//! imported is released exactly once, when its last array is dropped.

mod export;
mod ffi;
mod import;
mod layout;

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

pub use export::{array_capsules, schema_capsule, stream_capsule};
pub use import::{arrays, field};

/// An error of importing or exporting.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A method of the object raised an exception.
    #[error(transparent)]
    Raised(#[from] PyErr),
    /// The object does not follow the interface, or its type or data are not supported.
    #[error("{0}")]
    Invalid(String),
    /// The object's stream failed.
    #[error("{0}")]
    Stream(String),
    /// Arrow's C interface cannot express a type.
    #[error("{0}")]
    Inexpressible(String),
}

/// Runs code of Arrow's crates, which panics on some malformed input.
fn guarded<T>(what: &str, run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let done = catch_unwind(AssertUnwindSafe(run));
    done.unwrap_or_else(|_| Err(format!("{what} is malformed")))
}
