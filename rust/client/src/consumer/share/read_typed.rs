//! Records with typed keys and values: the first buffered fetch is decoded before a poll delivers its records.
//!
//! Invariants: what was acquired stays buffered until its schemas were looked up; a look-up that fails is the error of
//! the poll, and the next one repeats it. No record is delivered undecoded.

use tokio::time::Instant;

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
        if self.decode_front(&mut self.decoded.lock(), Instant::now()).is_none() {
            return Ok(true);
        }
        let looked_up = typed_set::look_up(&self.typed, |visit| {
            let mut decoded = self.decoded.lock();
            decoded.iter_mut().flat_map(|front| front.undecoded()).for_each(|set| visit(set));
        });
        let (wakeup, check_woken) = (&self.shared.poll_wakeup, || self.check_woken());
        let waited = typed_set::wait_before_decoding(looked_up, wakeup, check_woken, deadline);
        let Some(invalid) = waited.await? else { return Ok(false) };
        if let Some(front) = self.decoded.lock().as_mut() {
            front.decode_typed(&self.typed, &invalid)?;
        }
        Ok(true)
    }
}
