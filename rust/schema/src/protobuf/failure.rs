//! The reason why a row cannot be decoded, and the limits on its size in columns.
//!
//! Invariant: a row takes no more cells than [`Limits`] allows for its bytes, which bounds the time, and no more bytes
//! than its budget. Without these limits, two bytes may stand for an item with thousands of columns.

use std::fmt;

use crate::budget::{ROW_EXCEEDED, RowBudget};

/// The number of cells that every row may take.
const BASE_CELLS: usize = 1 << 16;
/// The number of further cells for each byte of the payload.
const CELLS_PER_BYTE: usize = 256;

/// The reason why a row cannot be decoded. It is boxed to keep results small.
#[derive(Debug)]
pub(super) struct Failure(Box<Reason>);

#[derive(Debug)]
struct Reason {
    /// The names of the fields that contain the malformed bytes, the innermost first.
    path: Vec<String>,
    reason: &'static str,
    is_overflow: bool,
}

impl Failure {
    #[cold]
    pub(super) fn malformed(reason: &'static str) -> Self {
        Self(Box::new(Reason { path: Vec::new(), reason, is_overflow: false }))
    }

    /// The rows do not fit into one array. This row is not at fault.
    #[cold]
    pub(super) fn overflow() -> Self {
        let reason = "the rows do not fit into one array";
        Self(Box::new(Reason { path: Vec::new(), reason, is_overflow: true }))
    }

    pub(super) fn is_overflow(&self) -> bool {
        self.0.is_overflow
    }

    /// Adds the name of the field that contains the malformed bytes.
    #[cold]
    pub(super) fn within(mut self, field: &str) -> Self {
        self.0.path.push(field.to_owned());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, field) in self.0.path.iter().rev().enumerate() {
            f.write_str(if at == 0 { "field " } else { "." })?;
            f.write_str(field)?;
        }
        if !self.0.path.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(self.0.reason)
    }
}

/// The limits of a row, and how its strings are checked.
#[derive(Debug)]
pub(super) struct Limits {
    cells: usize,
    budget: RowBudget,
    /// Whether each string is checked on its own. Otherwise all are checked together at the end, which is faster.
    pub(super) checks_text: bool,
}

impl Limits {
    pub(super) fn new(payload: &[u8], budget: RowBudget, checks_text: bool) -> Self {
        let cells = payload.len().saturating_mul(CELLS_PER_BYTE).saturating_add(BASE_CELLS);
        Self { cells, budget, checks_text }
    }

    /// Takes column bytes from the budget.
    #[inline]
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Failure> {
        self.budget.spend(bytes).map_err(|_| Failure::malformed(ROW_EXCEEDED))
    }

    /// Takes the bytes of several values of the same size from the budget.
    #[inline]
    pub(super) fn take_each(&mut self, count: usize, bytes: usize) -> Result<(), Failure> {
        self.budget.spend_each(count, bytes).map_err(|_| Failure::malformed(ROW_EXCEEDED))
    }

    /// Returns the column bytes that the row has taken.
    pub(super) fn taken(&self) -> usize {
        self.budget.spent()
    }

    /// Takes cells for one item of a list or a map, or for a field that replaces another one.
    #[inline]
    pub(super) fn spend(&mut self, cells: usize) -> Result<(), Failure> {
        match self.cells.checked_sub(cells) {
            Some(left) => {
                self.cells = left;
                Ok(())
            }
            None => Err(Failure::malformed("it has too many columns for its size")),
        }
    }
}
