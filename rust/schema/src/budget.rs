//! The budget of column bytes that one batch of payloads may decode to.
//!
//! A schema multiplies its data: one byte may stand for a null in thousands of columns, a long default or a large
//! fixed type. The budget therefore counts the bytes of the columns as they grow, not the bytes of the payloads.
//!
//! Invariants: a batch ends at the row that spends its budget, so at most one row exceeds it. A row that takes more
//! than the whole budget and 16 bytes for each byte of its payload is an error.

/// The default budget of a batch, in bytes of its columns. [`SchemaLimits`](crate::SchemaLimits) can change it.
pub const DEFAULT_BATCH_BYTES: usize = 128 << 20;

/// The bytes of columns that a row may take beyond the budget, for each byte of its payload. Most values need fewer:
/// a one-byte number becomes eight bytes.
const BYTES_PER_PAYLOAD_BYTE: usize = 16;

/// The unspent budget of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    limit: usize,
    spent: usize,
}

impl Budget {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, spent: 0 }
    }

    /// Returns whether the batch ends here.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent >= self.limit
    }

    pub(crate) fn spent(&self) -> usize {
        self.spent
    }

    pub(crate) fn spend(&mut self, bytes: usize) {
        self.spent = self.spent.saturating_add(bytes);
    }

    /// Returns how many rows of this size fit, at least one.
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

/// The unspent budget of a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowBudget {
    limit: usize,
    left: usize,
}

/// A row exceeds its budget.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exceeded;

/// The error message for a row that exceeds its budget.
pub(crate) const ROW_EXCEEDED: &str = "its columns take more bytes than the limit of a batch (schema.batch.max.bytes) plus 16 for each byte of its payload: the schema multiplies them";

impl RowBudget {
    #[inline]
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<(), Exceeded> {
        self.left = self.left.checked_sub(bytes).ok_or(Exceeded)?;
        Ok(())
    }

    /// Takes the bytes of several values of the same size from the budget.
    #[inline]
    pub(crate) fn spend_each(&mut self, count: usize, bytes: usize) -> Result<(), Exceeded> {
        self.spend(count.saturating_mul(bytes))
    }

    /// The bytes that the row has taken.
    pub(crate) fn spent(&self) -> usize {
        self.limit - self.left
    }
}
