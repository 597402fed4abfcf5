//! The results of the rows of one `send_batch`, run-length encoded.
//!
//! Invariant: each row has exactly one result: that of its record in a batch, or why it was never
//! sent.

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

/// Consecutive records of one call in a batch, or a rejected row.
struct BatchSpan {
    result: SpanResult,
    count: usize,
}

enum SpanResult {
    /// The records of a batch from this index on.
    Batch(Arc<ProduceResult>, usize),
    /// Never sent; the result covers only this record.
    Rejected(Arc<ProduceResult>),
}

impl SpanResult {
    /// The batch's result, and the index of the span's first record in it.
    fn location(&self) -> (&Arc<ProduceResult>, usize) {
        match self {
            Self::Batch(produce_result, first) => (produce_result, *first),
            Self::Rejected(produce_result) => (produce_result, 0),
        }
    }
}

/// Consecutive rows that continue a span. Rows with keys change partitions at every row, so this type
/// is as small as possible, and shared data is in the span.
#[derive(Clone, Copy)]
struct RowRun {
    span: u32,
    count: u32,
}

/// The results of all rows.
#[derive(Default)]
pub(crate) struct RowResults {
    spans: Vec<BatchSpan>,
    runs: Vec<RowRun>,
    /// The last span of each partition, or [`NO_SPAN`].
    last_spans: Vec<u32>,
    count: usize,
}

const NO_SPAN: u32 = u32::MAX;

/// Rows that failed: first row, number of rows, error.
pub(crate) type FailedRows = (usize, usize, Error);

/// Records of a span: index of the first one in the span, number of records, and where the first was
/// appended or why all failed.
type SegmentResult = (usize, usize, ottla_client::Result<AppendInfo>);

impl BatchSpan {
    fn is_done(&self) -> bool {
        self.result.location().0.is_done()
    }

    /// Notes that the application has checked the results.
    fn mark_observed(&self) {
        let (produce_result, first) = self.result.location();
        produce_result.mark_observed(first, first + self.count);
    }

    /// The known results of the span's records.
    fn segments(&self) -> Vec<SegmentResult> {
        let (produce_result, first) = self.result.location();
        let segments = produce_result.results_in(first, first + self.count);
        segments.into_iter().map(|(at, count, result)| (at - first, count, result)).collect()
    }
}

impl RowResults {
    /// The number of rows so far.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Adds a row that was accepted: its batch and its index there.
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
                let new = self.add_span(SpanResult::Batch(Arc::clone(batch), index));
                if let Some(last) = self.last_spans.get_mut(partition) {
                    *last = new;
                }
                new
            }
        };
        self.add_row(span);
    }

    /// Adds a row that was rejected. An error that concerns all rows is returned instead.
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

    /// Starts a span with the next row.
    fn add_span(&mut self, result: SpanResult) -> u32 {
        let index = self.spans.len();
        self.spans.push(BatchSpan { result, count: 1 });
        // No Arrow array or list in memory has that many rows.
        u32::try_from(index).unwrap_or(NO_SPAN)
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

    /// Waits for all results, and returns the failures.
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
                format!("not all acknowledged within {} s; they are still pending", timeout.as_secs_f64());
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

    /// Calls `call` for all rows with a known result, in order: first row, number of rows, result.
    fn for_each_result(&self, mut call: impl FnMut(usize, usize, ottla_client::Result<AppendInfo>)) {
        let segments: Vec<_> = self.spans.iter().map(BatchSpan::segments).collect();
        // The rows of each span that were already visited.
        let mut seen = vec![0; segments.len()];
        let mut row = 0;
        for run in &self.runs {
            let (span, count) = (run.span as usize, run.count as usize);
            if let (Some(segments), Some(seen)) = (segments.get(span), seen.get_mut(span)) {
                for (first, many, result) in segments {
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

    /// Where the rows were written, once all are written: partition, offset of the first if known,
    /// and number of consecutive rows. Rows that alternate between partitions take no more entries
    /// than others.
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

    /// The partition of each row; null for a row that was never in a batch.
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

    /// The offset of each row, once all results are known; null for a failed row, and if the broker
    /// did not report it.
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

    /// The number of rows, or the error of the first failed one.
    pub(crate) fn result(&self, py: Python<'_>, failures: &[FailedRows]) -> PyResult<usize> {
        let Some((first, _, error)) = failures.first() else { return Ok(self.count) };
        let failed: usize = failures.iter().map(|(_, count, _)| count).sum();
        let message = match self.count {
            1 => "the record failed".to_owned(),
            count => format!("{failed} of {count} records failed, the first at index {first}"),
        };
        let raised = errors::value_at(py, &error.clone().prefixed(message), Some(*first))?;
        Err(PyErr::from_value(raised.into_bound(py)))
    }
}

/// The error of a call that ends before its last row.
pub(crate) fn error_at_row(row: usize, error: Error) -> Error {
    match row {
        0 => error.prefixed("at index 0; no record was accepted"),
        row => error.prefixed(format_args!("at index {row}; earlier records may still be pending")),
    }
}
