//! The arguments of a scan, for threads and for asyncio.
//!
//! Invariant: an invalid argument is refused before anything is requested.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use ottla_client::config::IsolationLevel;
use ottla_client::consumer::{ArrowLayout, FOLLOW, Range, Scan as Core, ScanOptions};
use ottla_client::{Client, Error, Kind, Result};
use pyo3::prelude::*;

use crate::convert::errors;
use crate::convert::names::{self, Names};
use crate::convert::number::Integer;
use crate::runtime::seconds;
use crate::scan::columns;
use crate::typed::{ColumnFormat, typed_columns};

/// The maximum size of a fetch response in bytes: large responses cost little CPU per record, and
/// memory is bounded by a few of them.
const FETCH_BYTES: i32 = 8 << 20;

/// A range to scan: the topic, the partition, its first offset, and the one after its last, if it has an end.
pub(crate) type RangeArguments = (String, Integer<i32>, Integer<i64>, Option<Integer<i64>>);

/// Converts the ranges of a scan.
pub(crate) fn range_arguments(argument: &Bound<'_, PyAny>) -> PyResult<Vec<RangeArguments>> {
    let expected = "(topic, partition, start, end) in a list";
    let ranges = names::items(argument, expected, |topic| format!("[({topic}, 0, 0, 100)]"))?;
    let range = |item: Bound<'_, PyAny>| {
        item.extract::<RangeArguments>().map_err(|_| {
            let shown = item.repr().map_or_else(|_| "it".to_owned(), |shown| shown.to_string());
            let message = format!(
                "ranges has {shown}: expected (topic, partition, start, end), with None as the end to follow"
            );
            errors::argument_type(item.py(), message)
        })
    };
    ranges.map(|item| range(item?)).collect()
}

/// The keyword arguments of a scan, unchecked.
pub(crate) struct ScanArgs<'a, 'py> {
    pub(crate) columns: Option<Names>,
    pub(crate) include_headers: bool,
    pub(crate) max_rows: usize,
    pub(crate) target_bytes: usize,
    pub(crate) fail_on_data_loss: bool,
    pub(crate) timeout: Option<f64>,
    pub(crate) key_format: Option<&'a Bound<'py, ColumnFormat>>,
    pub(crate) value_format: Option<&'a Bound<'py, ColumnFormat>>,
}

/// A scan that can start.
pub(crate) struct ScanRequest {
    ranges: Vec<Range>,
    options: ScanOptions,
    layout: ArrowLayout,
}

impl ScanRequest {
    /// Checks the arguments.
    pub(crate) fn new(
        py: Python<'_>,
        client: &Client,
        ranges: Vec<RangeArguments>,
        args: ScanArgs<'_, '_>,
    ) -> PyResult<Self> {
        let ScanArgs { include_headers, max_rows, target_bytes, fail_on_data_loss, timeout, .. } = args;
        let columns = columns(py, args.columns, include_headers)?;
        let typed = typed_columns(py, args.key_format, args.value_format, &columns)?;
        for (name, value) in [("max_rows", max_rows), ("target_bytes", target_bytes)] {
            if value == 0 {
                return Err(errors::config(py, format!("{name} is 0: expected 1 or more")));
            }
        }
        let config = client.config();
        let options = ScanOptions {
            fail_on_data_loss,
            read_committed: config.isolation_level == IsolationLevel::ReadCommitted,
            // Large responses cost the least CPU per record; their size is still bounded.
            max_bytes: config.fetch_max_bytes.min(FETCH_BYTES),
            timeout: seconds(timeout, config.default_api_timeout)?,
        };
        let layout = ArrowLayout { columns, typed, max_rows, target_bytes };
        Ok(Self { ranges: checked_ranges(py, ranges)?, options, layout })
    }

    /// Looks up the readers' schemas of typed columns, which decide the schema of the batches.
    pub(crate) fn resolve(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let (typed, timeout) = (self.layout.typed.clone(), self.options.timeout);
        let topics: BTreeSet<Arc<str>> =
            self.ranges.iter().map(|range| Arc::clone(&range.partition.0)).collect();
        let resolving = async move {
            if !typed.is_empty() {
                for topic in topics {
                    typed.resolve(&topic).await?;
                }
            }
            Ok(())
        };
        async move {
            let resolved = tokio::time::timeout(timeout, resolving).await;
            resolved.unwrap_or_else(|_| Err(registry_timed_out(timeout)))
        }
    }

    /// Starts reading, on the current runtime; the schemas must have been looked up.
    pub(crate) fn start(self, client: Client) -> Core {
        Core::start(client, self.ranges, self.options, &self.layout)
    }
}

fn registry_timed_out(timeout: Duration) -> Error {
    let seconds = timeout.as_secs_f64();
    Error::new(Kind::Timeout, format!("the schema registry did not respond within {seconds} s"))
}

fn checked_ranges(py: Python<'_>, ranges: Vec<RangeArguments>) -> PyResult<Vec<Range>> {
    let mut names: HashMap<String, Arc<str>> = HashMap::new();
    let range = |(topic, Integer(partition), Integer(start), end): RangeArguments| {
        let end = end.map_or(FOLLOW, |Integer(end)| end);
        if start < 0 {
            let message =
                format!("{topic}-{partition}: the range starts at {start}; expected an offset, 0 or more");
            return Err(errors::config(py, message));
        }
        let topic = names.entry(topic).or_insert_with_key(|name| name.as_str().into());
        Ok(Range { partition: (Arc::clone(topic), partition), start, end })
    };
    ranges.into_iter().map(range).collect()
}
