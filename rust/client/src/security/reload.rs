//! Values built from files, and rebuilt when the files change.
//!
//! Invariants: the file system is accessed on a thread that may block, and callers wait only briefly for
//! it. If changed files cannot be used, for example because they are half-written, the previous value
//! stays in use; the files are read again once they change, or after a minute.

use std::fmt;
use std::fs;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::{Duration, timeout};

use crate::error::Result;

/// How long to wait for the file system, which may be remote.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How long files that cannot be used are not read again, unless they change.
const RETRY: Duration = Duration::from_secs(60);

/// Identifies the state of a file: its modification time and its length.
type Stamp = Option<(Option<SystemTime>, u64)>;

/// A value built from files.
pub struct FileBacked<T>(Arc<Inner<T>>);

struct Inner<T> {
    files: Vec<String>,
    build: Box<dyn Fn() -> Result<T> + Send + Sync>,
    value: ArcSwap<(Vec<Stamp>, Arc<T>)>,
    /// The state that could not be used, and when it was tried. Held while a value is built: one thread does that.
    failed: Mutex<Option<(Vec<Stamp>, Instant)>>,
}

impl<T> fmt::Debug for FileBacked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileBacked").field("files", &self.0.files).finish_non_exhaustive()
    }
}

impl<T: Send + Sync + 'static> FileBacked<T> {
    /// Builds the first value.
    ///
    /// # Errors
    /// That of `build`.
    pub fn new(files: Vec<String>, build: impl Fn() -> Result<T> + Send + Sync + 'static) -> Result<Self> {
        let value = ArcSwap::from_pointee((stamps(&files), Arc::new(build()?)));
        Ok(Self(Arc::new(Inner { files, build: Box::new(build), value, failed: Mutex::default() })))
    }

    /// The current value, after rebuilding it if the files have changed.
    pub async fn current(&self) -> Arc<T> {
        if !self.0.files.is_empty() {
            let inner = Arc::clone(&self.0);
            if timeout(TIMEOUT, spawn_blocking(move || inner.rebuild_if_changed())).await.is_err() {
                tracing::warn!(target: "ottla.connection", files = ?self.0.files, "the file system does not respond; the contents read before stay in use");
            }
        }
        Arc::clone(&self.0.value.load().1)
    }
}

impl<T> Inner<T> {
    fn rebuild_if_changed(&self) {
        // Taken before the files are read: later changes are noticed the next time.
        let stamps = stamps(&self.files);
        if self.value.load().0 == stamps {
            return;
        }
        // Another thread reads them; this caller has the value before.
        let Some(mut failed) = self.failed.try_lock() else { return };
        if failed.as_ref().is_some_and(|(tried, at)| *tried == stamps && at.elapsed() < RETRY) {
            return;
        }
        match (self.build)() {
            Ok(value) => {
                *failed = None;
                tracing::info!(target: "ottla.connection", files = ?self.files, "the files have changed and were read again");
                self.value.store(Arc::new((stamps, Arc::new(value))));
            }
            Err(error) => {
                *failed = Some((stamps, Instant::now()));
                tracing::warn!(target: "ottla.connection", files = ?self.files, %error, "the files have changed and cannot be used; the contents read before stay in use");
            }
        }
    }
}

fn stamps(files: &[String]) -> Vec<Stamp> {
    let stamp = |file: &String| fs::metadata(file).ok().map(|found| (found.modified().ok(), found.len()));
    files.iter().map(stamp).collect()
}
