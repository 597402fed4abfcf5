//! The fates of the rows of one `send_batch`, without a word of them for each.
//!
//! Invariant: each row has exactly one result: that of its place in a batch, or why it was never sent.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::ArrayRef;
use arrow_array::builder::{Int32Builder, Int64Builder};
use ottla_client::producer::{AppendInfo, ProduceResult, Producer, TopicWriter};
use ottla_client::{Error, Kind};
use pyo3::prelude::*;

use crate::convert::errors;
use crate::producer::arrow_array::Array;

/// Records of one call that follow each other in a batch, or rows that were refused.
struct BatchSpan {
    result: SpanResult,
    count: usize,
}

enum SpanResult {
    /// That of the records of a batch from this index on.
    Batch(Arc<ProduceResult>, usize),
    /// Never sent; the promise has only one record.
    Rejected(Arc<ProduceResult>),
}

impl SpanResult {
    /// The promise, and the index of the first record in it.
    fn location(&self) -> (&Arc<ProduceResult>, usize) {
        match self {
            Self::Batch(produce_result, first) => (produce_result, *first),
            SpanResult::Rejected(produce_result) => (produce_result, 0),
        }
    }
}

/// Rows in a row that are the next ones of a span. Rows with keys change partitions at every row, so
/// these are as small as can be, and what they share is in the span.
#[derive(Clone, Copy)]
struct RowRun {
    span: u32,
    count: u32,
}

/// The fates of all rows.
#[derive(Default)]
pub(crate) struct RowResults {
    spans: Vec<BatchSpan>,
    runs: Vec<RowRun>,
    /// The last span of each partition, and none where it is [`NO_SPAN`].
    last_spans: Vec<u32>,
    count: usize,
}

const NO_SPAN: u32 = u32::MAX;

/// Rows that failed: the first one, how many, why.
pub(crate) type FailedRows = (usize, usize, Error);

/// Records of a span: the first one's place in it, how many, and where the first was written or why
/// none was.
type SegmentResult = (usize, usize, ottla_client::Result<AppendInfo>);

impl BatchSpan {
    fn is_done(&self) -> bool {
        self.result.location().0.is_done()
    }

    /// Somebody has asked what became of its records.
    fn mark_observed(&self) {
        let (produce_result, first) = self.result.location();
        produce_result.mark_observed(first, first + self.count);
    }

    /// What became of its records, as far as that is known.
    fn segments(&self) -> Vec<SegmentResult> {
        let (produce_result, first) = self.result.location();
        let segments = produce_result.results_in(first, first + self.count);
        segments.into_iter().map(|(at, count, result)| (at - first, count, result)).collect()
    }
}

impl RowResults {
    /// How many rows there are so far.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The next row was accepted: it is in this batch, at this place.
    pub(crate) fn push_accepted(&mut self, batch: &Arc<ProduceResult>, index: usize) {
        let partition = usize::try_from(batch.partition().1).unwrap_or_default();
        if self.last_spans.len() <= partition {
            self.last_spans.resize(partition + 1, NO_SPAN);
        }
        let known = self.last_spans.get(partition).copied().unwrap_or(NO_SPAN);
        let span = match self.spans.get_mut(known as usize) {
            Some(BatchSpan { result: SpanResult::Batch(produce_result, first), count })
                if Arc::ptr_eq(produce_result, batch) && *first + *count == index =>
            {
                *count += 1;
                known
            }
            _ => {
                let made = self.add_span(SpanResult::Batch(Arc::clone(batch), index));
                if let Some(last) = self.last_spans.get_mut(partition) {
                    *last = made;
                }
                made
            }
        };
        self.add_row(span);
    }

    /// The next row cannot be sent; what concerns all of them is an error of the call.
    pub(crate) fn push_rejected(
        &mut self,
        core: &Producer,
        writer: &TopicWriter,
        error: Error,
    ) -> ottla_client::Result<()> {
        if matches!(error.kind(), Kind::Closed | Kind::Internal) {
            return Err(error);
        }
        let span = self.add_span(SpanResult::Rejected(core.reject(writer, error)));
        self.add_row(span);
        Ok(())
    }

    /// A new span with the next row.
    fn add_span(&mut self, result: SpanResult) -> u32 {
        let made = self.spans.len();
        self.spans.push(BatchSpan { result, count: 1 });
        // There is no Arrow array of so many rows, nor a list that fits into memory.
        u32::try_from(made).unwrap_or(NO_SPAN)
    }

    fn add_row(&mut self, span: u32) {
        match self.runs.last_mut() {
            Some(run) if run.span == span && run.count < u32::MAX => run.count += 1,
            _ => self.runs.push(RowRun { span, count: 1 }),
        }
        self.count += 1;
    }

    pub(crate) fn is_done(&self) -> bool {
        self.spans.iter().all(BatchSpan::is_done)
    }

    /// Waits for all.
    pub(crate) async fn failures(&self, timeout: Duration) -> ottla_client::Result<Vec<FailedRows>> {
        let all = async {
            for span in &self.spans {
                if let SpanResult::Batch(produce_result, _) = &span.result {
                    produce_result.wait().await;
                }
            }
        };
        tokio::time::timeout(timeout, all).await.map_err(|_| {
            let message =
                format!("not all acknowledged within {} s; they are still under way", timeout.as_secs_f64());
            Error::new(Kind::Timeout, message)
        })?;
        let mut failures = Vec::new();
        if self.spans.iter().flat_map(BatchSpan::segments).any(|(_, _, result)| result.is_err()) {
            self.spans.iter().for_each(BatchSpan::mark_observed);
            self.for_each_result(|row, count, result| {
                if let Err(error) = result {
                    failures.push((row, count, error));
                }
            });
        }
        Ok(failures)
    }

    /// Calls with all rows whose result is known, in order: the first, how many, their result.
    fn for_each_result(&self, mut call: impl FnMut(usize, usize, ottla_client::Result<AppendInfo>)) {
        let segments: Vec<_> = self.spans.iter().map(BatchSpan::segments).collect();
        // How many rows of each span there were already.
        let mut seen = vec![0; segments.len()];
        let mut row = 0;
        for run in &self.runs {
            let (span, count) = (run.span as usize, run.count as usize);
            if let (Some(of), Some(seen)) = (segments.get(span), seen.get_mut(span)) {
                for (first, many, result) in of {
                    let (from, to) = ((*seen).max(*first), (*seen + count).min(first + many));
                    if from < to {
                        let at = result.clone().map(|info| info.at_index(from - first));
                        call(row + from - *seen, to - from, at);
                    }
                }
                *seen += count;
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
        for span in &self.spans {
            let SpanResult::Batch(produce_result, _) = &span.result else { continue };
            let partition = produce_result.partition().1;
            for (_, count, result) in span.segments() {
                let Ok(at) = result else { continue };
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
            match self.spans.get(run.span as usize).map(|span| &span.result) {
                Some(SpanResult::Batch(produce_result, _)) => {
                    column.append_value_n(produce_result.partition().1, count)
                }
                Some(SpanResult::Rejected(_)) | None => column.append_nulls(count),
            }
        }
        Array::from(Arc::new(column.finish()) as ArrayRef)
    }

    /// The offset of each row, once all are settled; null for one that failed, or if the broker did not
    /// tell it.
    pub(crate) fn offsets(&self) -> Array {
        let mut column = Int64Builder::with_capacity(self.count);
        self.for_each_result(|_, count, result| match result {
            Ok(at) if at.offset >= 0 => {
                (at.offset..).take(count).for_each(|offset| column.append_value(offset));
            }
            _ => column.append_nulls(count),
        });
        Array::from(Arc::new(column.finish()) as ArrayRef)
    }

    /// How many rows there are, if none failed.
    pub(crate) fn result(&self, py: Python<'_>, failures: &[FailedRows]) -> PyResult<usize> {
        let Some((first, _, error)) = failures.first() else { return Ok(self.count) };
        let failed: usize = failures.iter().map(|(_, count, _)| count).sum();
        let message = match self.count {
            1 => "the record failed".to_owned(),
            count => format!("{failed} of {count} records failed, the first at index {first}"),
        };
        let raised = errors::value_at(py, &error.clone().because(message), Some(*first))?;
        Err(PyErr::from_value(raised.into_bound(py)))
    }
}

/// The error of a call that ends before its last row.
pub(crate) fn error_at_row(row: usize, error: Error) -> Error {
    error.because(format_args!("at index {row}; the records before it are under way"))
}
