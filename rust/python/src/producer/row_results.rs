//! The fates of the rows of one `send_batch`, without a word of them for each.
//!
//! Invariant: each row has exactly one fate: that of its place in a batch, or why it was never sent.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::ArrayRef;
use arrow_array::builder::{Int32Builder, Int64Builder};
use ottla_client::producer::{AppendInfo, ProduceResult, Producer, TopicWriter};
use ottla_client::{Error, Kind};
use pyo3::prelude::*;

use crate::convert::errors;
use crate::producer::partitioner::Array;

/// Records of one call that follow each other in a batch, or rows that were refused.
struct Stretch {
    fate: Fate,
    count: usize,
}

enum Fate {
    /// That of the records of a batch from this index on.
    Batch(Arc<ProduceResult>, usize),
    /// Never sent; the promise has only one record.
    Refused(Arc<ProduceResult>),
}

impl Fate {
    /// The promise, and the index of the first record in it.
    fn place(&self) -> (&Arc<ProduceResult>, usize) {
        match self {
            Self::Batch(produce_result, first) => (produce_result, *first),
            Self::Refused(produce_result) => (produce_result, 0),
        }
    }
}

/// Rows in a row that are the next ones of a stretch. Rows with keys change partitions at every row, so
/// these are as small as can be, and what they share is in the stretch.
#[derive(Clone, Copy)]
struct Run {
    stretch: u32,
    count: u32,
}

/// The fates of all rows.
#[derive(Default)]
pub(crate) struct Runs {
    stretches: Vec<Stretch>,
    runs: Vec<Run>,
    /// The last stretch of each partition, and none where it is [`NONE`].
    open: Vec<u32>,
    count: usize,
}

const NONE: u32 = u32::MAX;

/// Rows that failed: the first one, how many, why.
pub(crate) type Failed = (usize, usize, Error);

/// Records of a stretch: the first one's place in it, how many, and where the first was written or why
/// none was.
type Outcome = (usize, usize, ottla_client::Result<AppendInfo>);

impl Stretch {
    fn is_done(&self) -> bool {
        self.fate.place().0.is_done()
    }

    /// Somebody has asked what became of its records.
    fn mark_observed(&self) {
        let (produce_result, first) = self.fate.place();
        produce_result.mark_observed(first, first + self.count);
    }

    /// What became of its records, as far as that is known.
    fn outcomes(&self) -> Vec<Outcome> {
        let (produce_result, first) = self.fate.place();
        let outcomes = produce_result.segments(first, first + self.count);
        outcomes.into_iter().map(|(at, count, outcome)| (at - first, count, outcome)).collect()
    }
}

impl Runs {
    /// How many rows there are so far.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The next row was accepted: it is in this batch, at this place.
    pub(crate) fn push(&mut self, batch: &Arc<ProduceResult>, index: usize) {
        let partition = usize::try_from(batch.partition().1).unwrap_or_default();
        if self.open.len() <= partition {
            self.open.resize(partition + 1, NONE);
        }
        let known = self.open.get(partition).copied().unwrap_or(NONE);
        let stretch = match self.stretches.get_mut(known as usize) {
            Some(Stretch { fate: Fate::Batch(produce_result, first), count })
                if Arc::ptr_eq(produce_result, batch) && *first + *count == index =>
            {
                *count += 1;
                known
            }
            _ => {
                let made = self.begin(Fate::Batch(Arc::clone(batch), index));
                if let Some(open) = self.open.get_mut(partition) {
                    *open = made;
                }
                made
            }
        };
        self.row_of(stretch);
    }

    /// The next row cannot be sent; what concerns all of them is an error of the call.
    pub(crate) fn refuse(
        &mut self,
        core: &Producer,
        writer: &TopicWriter,
        error: Error,
    ) -> ottla_client::Result<()> {
        if matches!(error.kind(), Kind::Closed | Kind::Internal) {
            return Err(error);
        }
        let stretch = self.begin(Fate::Refused(core.reject(writer, error)));
        self.row_of(stretch);
        Ok(())
    }

    /// A new stretch with the next row.
    fn begin(&mut self, fate: Fate) -> u32 {
        let made = self.stretches.len();
        self.stretches.push(Stretch { fate, count: 1 });
        // There is no Arrow array of so many rows, nor a list that fits into memory.
        u32::try_from(made).unwrap_or(NONE)
    }

    fn row_of(&mut self, stretch: u32) {
        match self.runs.last_mut() {
            Some(run) if run.stretch == stretch && run.count < u32::MAX => run.count += 1,
            _ => self.runs.push(Run { stretch, count: 1 }),
        }
        self.count += 1;
    }

    pub(crate) fn is_done(&self) -> bool {
        self.stretches.iter().all(Stretch::is_done)
    }

    /// Waits for all.
    pub(crate) async fn failures(&self, timeout: Duration) -> ottla_client::Result<Vec<Failed>> {
        let all = async {
            for stretch in &self.stretches {
                if let Fate::Batch(produce_result, _) = &stretch.fate {
                    produce_result.wait().await;
                }
            }
        };
        tokio::time::timeout(timeout, all).await.map_err(|_| {
            let words =
                format!("not all acknowledged within {} s; they are still under way", timeout.as_secs_f64());
            Error::new(Kind::Timeout, words)
        })?;
        let mut failures = Vec::new();
        if self.stretches.iter().flat_map(Stretch::outcomes).any(|(_, _, outcome)| outcome.is_err()) {
            self.stretches.iter().for_each(Stretch::mark_observed);
            self.each(|row, count, outcome| {
                if let Err(error) = outcome {
                    failures.push((row, count, error));
                }
            });
        }
        Ok(failures)
    }

    /// Calls with all rows whose outcome is known, in order: the first, how many, their outcome.
    fn each(&self, mut call: impl FnMut(usize, usize, ottla_client::Result<AppendInfo>)) {
        let outcomes: Vec<_> = self.stretches.iter().map(Stretch::outcomes).collect();
        // How many rows of each stretch there were already.
        let mut begun = vec![0; outcomes.len()];
        let mut row = 0;
        for run in &self.runs {
            let (stretch, count) = (run.stretch as usize, run.count as usize);
            if let (Some(of), Some(begun)) = (outcomes.get(stretch), begun.get_mut(stretch)) {
                for (first, many, outcome) in of {
                    let (from, to) = ((*begun).max(*first), (*begun + count).min(first + many));
                    if from < to {
                        let at = outcome.clone().map(|info| info.at_index(from - first));
                        call(row + from - *begun, to - from, at);
                    }
                }
                *begun += count;
            }
            row += count;
        }
    }

    /// Where the rows were written, once all are settled and none failed: partition, offset of the
    /// first if the broker told it, how many follow each other there. Rows that take turns among
    /// partitions are as few entries as rows of one.
    pub(crate) fn written(&self) -> Vec<(i32, Option<i64>, usize)> {
        let mut written: Vec<(i32, Option<i64>, usize)> = Vec::new();
        let mut last: HashMap<i32, usize> = HashMap::new();
        for stretch in &self.stretches {
            let Fate::Batch(produce_result, _) = &stretch.fate else { continue };
            let partition = produce_result.partition().1;
            for (_, count, outcome) in stretch.outcomes() {
                let Ok(at) = outcome else { continue };
                let offset = (at.offset >= 0).then_some(at.offset);
                let before = last.get(&partition).and_then(|&entry| written.get_mut(entry));
                match before {
                    Some((_, first, so_far)) if first.map(|first| first + *so_far as i64) == offset => {
                        *so_far += count;
                    }
                    _ => {
                        last.insert(partition, written.len());
                        written.push((partition, offset, count));
                    }
                }
            }
        }
        written
    }

    /// The partition of each row; null for one that was never in a batch.
    pub(crate) fn partitions(&self) -> Array {
        let mut column = Int32Builder::with_capacity(self.count);
        for run in &self.runs {
            let count = run.count as usize;
            match self.stretches.get(run.stretch as usize).map(|stretch| &stretch.fate) {
                Some(Fate::Batch(produce_result, _)) => {
                    column.append_value_n(produce_result.partition().1, count)
                }
                Some(Fate::Refused(_)) | None => column.append_nulls(count),
            }
        }
        Array::from(Arc::new(column.finish()) as ArrayRef)
    }

    /// The offset of each row, once all are settled; null for one that failed, or if the broker did not
    /// tell it.
    pub(crate) fn offsets(&self) -> Array {
        let mut column = Int64Builder::with_capacity(self.count);
        self.each(|_, count, outcome| match outcome {
            Ok(at) if at.offset >= 0 => {
                (at.offset..).take(count).for_each(|offset| column.append_value(offset));
            }
            _ => column.append_nulls(count),
        });
        Array::from(Arc::new(column.finish()) as ArrayRef)
    }

    /// How many rows there are, if none failed.
    pub(crate) fn result(&self, py: Python<'_>, failures: &[Failed]) -> PyResult<usize> {
        let Some((first, _, error)) = failures.first() else { return Ok(self.count) };
        let failed: usize = failures.iter().map(|(_, count, _)| count).sum();
        let words = match self.count {
            1 => "the record failed".to_owned(),
            count => format!("{failed} of {count} records failed, the first at index {first}"),
        };
        let raised = errors::value_at(py, &error.clone().because(words), Some(*first))?;
        Err(PyErr::from_value(raised.into_bound(py)))
    }
}
