//! Which rows of a column are null: noted in runs, since keys are nearly always there or nearly
//! always not. The bits exist from the first null on.

use arrow_buffer::{NullBuffer, NullBufferBuilder};

#[derive(Debug)]
pub(super) struct Nulls {
    bits: NullBufferBuilder,
    /// Rows that `bits` knows of. Those behind them are all null, or none is.
    settled: usize,
    run_is_null: bool,
}

impl Default for Nulls {
    fn default() -> Self {
        Self { bits: NullBufferBuilder::new(0), settled: 0, run_is_null: false }
    }
}

impl Nulls {
    /// From this row on, all rows are null or none is, until the next call.
    pub(super) fn note(&mut self, row: usize, is_null: bool) {
        if is_null != self.run_is_null {
            self.settle(row);
            self.run_is_null = is_null;
        }
    }

    /// The bits of so many rows, if one is null.
    pub(super) fn finish(&mut self, rows: usize) -> Option<NullBuffer> {
        self.settle(rows);
        self.settled = 0;
        self.bits.finish()
    }

    fn settle(&mut self, rows: usize) {
        let run = rows - self.settled;
        match self.run_is_null {
            true => self.bits.append_n_nulls(run),
            false => self.bits.append_n_non_nulls(run),
        }
        self.settled = rows;
    }
}
