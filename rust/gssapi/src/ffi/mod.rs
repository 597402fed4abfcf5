//! The calls into the C library: the only `unsafe` code of this crate.
//!
//! Invariants: a pointer that the library keeps points to memory that lives as long as the process or the
//! call. Whatever the library allocates is released by the `Drop` of its owner. A library is never
//! unloaded, since it may have registered thread destructors.

#![allow(unsafe_code, reason = "a C library is called; each block states why it is sound")]

mod context;
mod credentials;
mod library;
mod name;
mod types;

pub use context::Context;
pub use credentials::Credentials;
pub use library::Library;
pub use name::Name;
