//! Looking topics up by name, and saying why a partition has nobody to talk to.

use std::sync::Arc;

use ottla_protocol::ErrorCode;
use tokio::time::Duration;

use crate::cluster::Client;
use crate::error::{Error, Result};
use crate::metadata::{Cache, Snapshot, Topic, Want};

impl Client {
    /// Waits until topics exist and the metadata has them; partitions may still lack leaders.
    pub async fn topics(
        &self,
        names: &[Arc<str>],
        create: bool,
        timeout: Duration,
    ) -> Result<Vec<Arc<Topic>>> {
        self.inner.metadata.touch(names);
        let mut forget = Forget { metadata: &self.inner.metadata, names };
        let found = self.look_up(names, create, timeout).await;
        if found.is_ok() {
            forget.names = &[];
        }
        found
    }

    async fn look_up(&self, names: &[Arc<str>], create: bool, timeout: Duration) -> Result<Vec<Arc<Topic>>> {
        let want = if create { Want::Create(names) } else { Want::Topics(names) };
        let mut retry = self.retry(format!("looking up {}", names.join(", ")), timeout);
        let mut snapshot = self.snapshot();
        loop {
            let missing = names.iter().find_map(|name| match snapshot.topic(name) {
                Some(topic) if topic.error == ErrorCode::None => None,
                Some(topic) => Some(Error::from_code(topic.error).topic(name)),
                None => Some(Error::from_code(ErrorCode::UnknownTopicOrPartition).topic(name)),
            });
            match missing {
                None => return Ok(names.iter().filter_map(|name| snapshot.topic(name).cloned()).collect()),
                // The first look has not been had yet, unless there is an error on record.
                Some(error)
                    if snapshot.generation > 0 && names.iter().all(|name| snapshot.topic(name).is_some()) =>
                {
                    if !error.is_retriable() {
                        return Err(error);
                    }
                    retry.pause(error).await?;
                }
                Some(_) => {}
            }
            snapshot = match retry.attempt(self.refresh(snapshot.generation, want)).await {
                Ok(snapshot) => snapshot,
                Err(error) if error.may_pass() => {
                    retry.pause(error).await?;
                    self.snapshot()
                }
                Err(error) => return Err(error),
            };
        }
    }
}

/// Takes names that turned out to be of no use out of the metadata again, or a misspelt topic would
/// be asked for in every refresh from then on.
struct Forget<'a> {
    metadata: &'a Cache,
    names: &'a [Arc<str>],
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.metadata.forget(self.names);
    }
}

/// Why a partition has nobody to talk to.
pub(crate) fn no_leader(snapshot: &Snapshot, topic: &str, partition: i32) -> Error {
    use ottla_protocol::ErrorCode as E;
    let code = match snapshot.topic(topic) {
        None => E::UnknownTopicOrPartition,
        Some(known) if known.error != E::None => known.error,
        Some(known) => match known.partition(partition) {
            None => E::UnknownTopicOrPartition,
            Some(found) if found.error != E::None => found.error,
            Some(_) => E::LeaderNotAvailable,
        },
    };
    Error::from_code(code).at(&topic.into(), partition)
}
