//! Values of Python to values of the engine and back, and the engine's errors as Python's exceptions.

pub(crate) mod bytes;
pub(crate) mod datetime;
pub(crate) mod errors;
pub(crate) mod offsets;
pub(crate) mod record;
pub(crate) mod record_batch;
pub(crate) mod rows;
