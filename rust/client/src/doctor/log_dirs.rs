//! Fetches the space on a broker's disks, if the principal may describe it (DescribeLogDirs).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_log_dirs::{DescribeLogDirsRequest, DescribeLogDirsResult};
use tokio::time::timeout_at;

use super::ProbeContext;
use super::facts::LogDirFacts;
use crate::connection::Connection;
use crate::printable::printable;

/// Directories of one broker that are reported at most.
const MAX_DIRECTORIES: usize = 64;

/// Returns the broker's directories; empty if it does not report them in time, since no client depends
/// on them.
pub(super) async fn check(probe: &ProbeContext, connection: &Connection) -> Vec<LogDirFacts> {
    let Ok(version) = connection.version::<DescribeLogDirsRequest>(i16::MAX) else { return Vec::new() };
    // No topics: only the directories, without the sizes of all partitions.
    let request = DescribeLogDirsRequest { topics: Some(Vec::new()) };
    let response = connection.request(&request, version);
    match timeout_at(probe.step_deadline(), response).await {
        Ok(Ok(response)) => response.results.into_iter().take(MAX_DIRECTORIES).map(log_dir).collect(),
        _ => Vec::new(),
    }
}

fn log_dir(result: DescribeLogDirsResult) -> LogDirFacts {
    let known = |bytes: i64| (bytes >= 0).then_some(bytes);
    LogDirFacts {
        path: printable(&result.log_dir),
        error: Some(ErrorCode::from(result.error_code)).filter(|code| *code != ErrorCode::None),
        total_bytes: known(result.total_bytes),
        usable_bytes: known(result.usable_bytes),
    }
}
