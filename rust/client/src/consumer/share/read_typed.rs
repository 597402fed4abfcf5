//! Records with typed keys and values: the first buffered fetch is decoded before a poll delivers its records.
//!
//! Invariants: what was acquired stays buffered until its schemas were looked up; a look-up that fails is the error of
//! the poll, and the next one repeats it. No record is delivered undecoded.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

use tokio::time::{Instant, sleep_until};

use super::ShareConsumer;
use crate::consumer::read::typed_set;
use crate::error::Result;
use crate::typed::TypedColumns;

impl ShareConsumer {
    /// Decodes the keys and values of records, which are read after [`ShareConsumer::wait_until_decoded`]. Arrow
    /// batches keep their bytes.
    #[must_use]
    pub fn with_typed_records(mut self, typed: TypedColumns) -> Self {
        self.typed = typed;
        self
    }

    /// Waits until records are buffered and decoded, and returns true, or until the deadline. Cancel-safe. There may be
    /// nothing to deliver after all.
    ///
    /// # Errors
    /// As for [`ShareConsumer::wait_until_ready`], and those of the schema registry.
    pub async fn wait_until_decoded(&self, deadline: Instant) -> Result<bool> {
        if !self.wait_until_ready(deadline).await? {
            return Ok(false);
        }
        if self.typed.is_empty() {
            return Ok(true);
        }
        let topics: BTreeSet<Arc<str>> = {
            let mut decoded = self.decoded.lock();
            let Some((_, front)) = self.decode_front(&mut decoded, Instant::now()) else { return Ok(true) };
            front.undecoded().map(|set| Arc::clone(&set.partition.0)).collect()
        };
        let looked_up = typed_set::look_up(&self.typed, topics, |visit| {
            let mut decoded = self.decoded.lock();
            decoded.iter_mut().flat_map(|front| front.undecoded()).for_each(|set| visit(set));
        });
        let mut looked_up = pin!(looked_up);
        loop {
            let mut woken = pin!(self.shared.poll_wakeup.notified());
            woken.as_mut().enable();
            self.check_woken()?;
            tokio::select! {
                biased;
                result = &mut looked_up => break result?,
                () = woken => {}
                () = sleep_until(deadline) => return Ok(false),
            }
        }
        for set in self.decoded.lock().iter_mut().flat_map(|front| front.undecoded()) {
            typed_set::decode(&self.typed, set)?;
        }
        Ok(true)
    }
}
