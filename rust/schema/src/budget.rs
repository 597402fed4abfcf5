//! How many bytes decoding may build from a batch of payloads.
//!
//! A schema multiplies: one byte may stand for a null of thousands of columns, a long default or a large fixed type.
//! So the bytes of the columns are counted while they are built, not the bytes of the payloads.
//!
//! Invariants: a batch ends at the row that spends its budget, so that at most one row exceeds it. A row that exceeds
//! the budget beyond what its own size explains is an error.

/// The bytes that the columns of a batch take, unless [`SchemaLimits`](crate::SchemaLimits) say otherwise.
pub const DEFAULT_BATCH_BYTES: usize = 128 << 20;

/// The bytes of columns that each byte of a payload may become, beyond the budget. Most values need less: a number of
/// one byte becomes eight.
const BYTES_PER_PAYLOAD_BYTE: usize = 16;

/// What is left of the budget of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    limit: usize,
    spent: usize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, spent: 0 }
    }

    /// Whether the batch ends here.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent >= self.limit
    }

    pub(crate) fn spent(&self) -> usize {
        self.spent
    }

    pub(crate) fn spend(&mut self, bytes: usize) {
        self.spent = self.spent.saturating_add(bytes);
    }

    /// The rows of this many bytes that fit, at least one.
    pub(crate) fn rows_of(&self, bytes: usize) -> usize {
        (self.limit / bytes.max(1)).max(1)
    }

    /// Starts a row.
    pub(crate) fn row(&self, payload: &[u8]) -> RowBudget {
        let own = payload.len().saturating_mul(BYTES_PER_PAYLOAD_BYTE);
        let limit = self.limit.saturating_add(own);
        RowBudget { limit, left: limit }
    }
}

/// What is left of the budget of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowBudget {
    limit: usize,
    left: usize,
}

/// A row exceeds its budget.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exceeded;

/// The reason of such a row's error.
pub(crate) const ROW_EXCEEDED: &str = "its columns take more bytes than the limit of a batch (schema.batch.max.bytes) and 16 for each of its own bytes: the schema multiplies them";

impl RowBudget {
    #[inline]
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<(), Exceeded> {
        self.left = self.left.checked_sub(bytes).ok_or(Exceeded)?;
        Ok(())
    }

    /// Takes the bytes of several values of the same size.
    #[inline]
    pub(crate) fn spend_each(&mut self, count: usize, bytes: usize) -> Result<(), Exceeded> {
        self.spend(count.saturating_mul(bytes))
    }

    /// The bytes that the row took.
    pub(crate) fn spent(&self) -> usize {
        self.limit - self.left
    }
}
