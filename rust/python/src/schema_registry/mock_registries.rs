//! The mock registries of this process by name, for addresses such as `mock://orders`.
//!
//! Invariants: a name belongs to one registry; the first use of an unknown name starts a registry that lives as
//! long as the process; a forked child has none of its parent's.

use std::collections::HashMap;
use std::sync::Arc;

use ottla_mock::schema_registry::{MockRegistry, MockRegistryConfig};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::convert::errors;
use crate::runtime::{pid, wait};

const SCHEME: &str = "mock://";

struct Named {
    pid: u32,
    registries: HashMap<String, Arc<MockRegistry>>,
}

static NAMED: Mutex<Option<Named>> = Mutex::new(None);

/// Calls `change` with the registries of this process.
fn with_registries<T>(change: impl FnOnce(&mut HashMap<String, Arc<MockRegistry>>) -> T) -> T {
    let mut named = NAMED.lock();
    if named.as_ref().is_some_and(|named| named.pid != pid()) {
        // The parent's: dropping them would use its runtime, which this process does not have.
        std::mem::forget(named.take());
    }
    let named = named.get_or_insert_with(|| Named { pid: pid(), registries: HashMap::new() });
    change(&mut named.registries)
}

/// Starts a registry; with a name, `mock://name` is its address until it is closed.
pub(crate) fn start(
    py: Python<'_>,
    name: Option<&str>,
    config: MockRegistryConfig,
) -> PyResult<Arc<MockRegistry>> {
    let taken = |name: &str| {
        let message = format!(
            "a mock registry named {name:?} exists already: create it before the first use of {SCHEME}{name}, and close the other one"
        );
        Err(errors::config(py, message))
    };
    if let Some(name) = name
        && with_registries(|registries| registries.contains_key(name))
    {
        return taken(name);
    }
    let registry = Arc::new(wait(py, MockRegistry::start(config))??);
    if let Some(name) = name {
        let is_new = with_registries(|registries| match registries.contains_key(name) {
            true => false,
            false => registries.insert(name.to_owned(), Arc::clone(&registry)).is_none(),
        });
        if !is_new {
            return taken(name);
        }
    }
    Ok(registry)
}

/// Releases the name of a registry.
pub(crate) fn remove(registry: &Arc<MockRegistry>) {
    with_registries(|registries| registries.retain(|_, named| !Arc::ptr_eq(named, registry)));
}

/// Returns the URL of `mock://name`, and any other one as it is.
pub(super) fn resolve(py: Python<'_>, url: &str) -> PyResult<String> {
    let Some(name) = url.strip_prefix(SCHEME) else { return Ok(url.to_owned()) };
    let name = name.trim_end_matches('/');
    if name.is_empty() {
        return Err(errors::config(py, "schema.registry.url: mock:// needs a name, as in mock://orders"));
    }
    loop {
        if let Some(url) = with_registries(|registries| registries.get(name).map(|registry| registry.url())) {
            return Ok(url);
        }
        let started = Arc::new(wait(py, MockRegistry::start(MockRegistryConfig::default()))??);
        // Of two threads, the first one's is kept, and the next round finds it.
        with_registries(|registries| {
            registries.entry(name.to_owned()).or_insert(started);
        });
    }
}
