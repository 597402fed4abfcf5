//! `Registry` and `AsyncRegistry`: clients of a schema registry.
//!
//! - `arguments`: configuration from Python; `registry_handle`: what both classes own; `docs`: their docstrings.
//! - `registry_ops`: each operation once, as a future; `sync` blocks on it, `asynchronous` returns it to asyncio.
//! - `schema` and `setting`: what they return; `mock_registries`: registries in this process, by name.

mod arguments;
pub(crate) mod asynchronous;
mod docs;
pub(crate) mod mock_registries;
pub(crate) mod registry_handle;
mod registry_ops;
pub(crate) mod schema;
pub(crate) mod setting;
pub(crate) mod sync;

pub(crate) use arguments::registry_config_rows;
