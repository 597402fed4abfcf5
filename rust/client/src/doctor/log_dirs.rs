//! The space on a broker's disks, where the principal may ask for it (DescribeLogDirs).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_log_dirs::{DescribeLogDirsRequest, DescribeLogDirsResult};
use tokio::time::timeout_at;

use super::Probe;
use super::facts::LogDirFacts;
use crate::connection::Connection;
use crate::printable::printable;

/// No broker has more directories than this that are worth a line.
const DIRECTORIES: usize = 64;

/// Returns the broker's directories. Empty if it does not report them in time: this is a note, and no
/// client needs it.
pub(super) async fn look(probe: &Probe, connection: &Connection) -> Vec<LogDirFacts> {
    let Ok(version) = connection.version::<DescribeLogDirsRequest>(i16::MAX) else { return Vec::new() };
    // No topic: the directories alone, without the sizes of all partitions.
    let request = DescribeLogDirsRequest { topics: Some(Vec::new()) };
    let asked = connection.request(&request, version);
    match timeout_at(probe.phase_end(), asked).await {
        Ok(Ok(response)) => response.results.into_iter().take(DIRECTORIES).map(log_dir).collect(),
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
