//! The null rows of a column, recorded as runs, since keys are nearly always or nearly never null.
//!
//! The bitmap is allocated at the first null.

use arrow_buffer::{NullBuffer, NullBufferBuilder};

#[derive(Debug)]
pub(super) struct NullRuns {
    bits: NullBufferBuilder,
    /// The number of rows in `bits`. The rows after them are the open run: all null, or none.
    appended: usize,
    run_is_null: bool,
}

impl Default for NullRuns {
    fn default() -> Self {
        Self { bits: NullBufferBuilder::new(0), appended: 0, run_is_null: false }
    }
}

impl NullRuns {
    /// Sets whether rows from `row` on are null, until the next call.
    pub(super) fn set_from(&mut self, row: usize, is_null: bool) {
        if is_null != self.run_is_null {
            self.append_run(row);
            self.run_is_null = is_null;
        }
    }

    /// Returns the bitmap of `rows` rows, or `None` if no row is null.
    pub(super) fn finish(&mut self, rows: usize) -> Option<NullBuffer> {
        self.append_run(rows);
        self.appended = 0;
        self.bits.finish()
    }

    fn append_run(&mut self, end: usize) {
        let run = end - self.appended;
        match self.run_is_null {
            true => self.bits.append_n_nulls(run),
            false => self.bits.append_n_non_nulls(run),
        }
        self.appended = end;
    }
}
