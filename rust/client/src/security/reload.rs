//! What was made from files, made again when the files have changed.
//!
//! Invariants: the file system is asked on a thread that may block, and nobody waits for it for long.
//! Files that cannot be used, such as half-written ones, leave in use what there was before; they
//! are looked at again the next time.

use std::fmt;
use std::fs;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;
use tokio::task::spawn_blocking;
use tokio::time::{Duration, timeout};

use crate::error::Result;

/// How long the file system may take; it may be a network's.
const PATIENCE: Duration = Duration::from_secs(2);

/// Tells one state of a file from another: when it was changed, and its length.
type Stamp = Option<(Option<SystemTime>, u64)>;

/// Something made from files.
pub(super) struct FromFiles<T>(Arc<Inner<T>>);

struct Inner<T> {
    files: Vec<String>,
    make: Box<dyn Fn() -> Result<T> + Send + Sync>,
    made: ArcSwap<(Vec<Stamp>, Arc<T>)>,
}

impl<T> fmt::Debug for FromFiles<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromFiles").field("files", &self.0.files).finish_non_exhaustive()
    }
}

impl<T: Send + Sync + 'static> FromFiles<T> {
    /// Makes it, for the first time.
    pub(super) fn new(
        files: Vec<String>,
        make: impl Fn() -> Result<T> + Send + Sync + 'static,
    ) -> Result<Self> {
        let made = ArcSwap::from_pointee((stamps(&files), Arc::new(make()?)));
        Ok(Self(Arc::new(Inner { files, make: Box::new(make), made })))
    }

    /// As the files are now.
    pub(super) async fn current(&self) -> Arc<T> {
        if !self.0.files.is_empty() {
            let inner = Arc::clone(&self.0);
            if timeout(PATIENCE, spawn_blocking(move || inner.look())).await.is_err() {
                tracing::warn!(target: "ottla.connection", files = ?self.0.files, "the file system does not answer: what was read before stays in use");
            }
        }
        Arc::clone(&self.0.made.load().1)
    }
}

impl<T> Inner<T> {
    fn look(&self) {
        // Before they are read: what changes meanwhile is seen the next time.
        let stamps = stamps(&self.files);
        if self.made.load().0 == stamps {
            return;
        }
        match (self.make)() {
            Ok(made) => {
                tracing::info!(target: "ottla.connection", files = ?self.files, "read again: changed");
                self.made.store(Arc::new((stamps, Arc::new(made))));
            }
            Err(error) => {
                tracing::warn!(target: "ottla.connection", files = ?self.files, %error, "changed, and cannot be used: what was read before stays in use");
            }
        }
    }
}

fn stamps(files: &[String]) -> Vec<Stamp> {
    let stamp = |file: &String| fs::metadata(file).ok().map(|found| (found.modified().ok(), found.len()));
    files.iter().map(stamp).collect()
}
