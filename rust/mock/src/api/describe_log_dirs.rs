//! DescribeLogDirs (35), versions 1–5: the log directories of this broker, with their replicas.
//!
//! The mock writes nothing to disk: the reported volume holds the broker's logs and a fixed free space.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_log_dirs::{
    DescribableLogDirTopic, DescribeLogDirsPartition, DescribeLogDirsRequest, DescribeLogDirsResponse,
    DescribeLogDirsResult, DescribeLogDirsTopic,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::{LOG_DIRECTORIES, Partition};

/// 64 GiB.
const FREE_BYTES: i64 = 64 << 30;

impl RequestHandler for DescribeLogDirsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DescribeLogDirsResponse> {
        if let Err(code) = context.check_any_fault() {
            let response = DescribeLogDirsResponse { error_code: code.code(), ..Default::default() };
            return HandlerResult::Response(response);
        }
        let sizes = (0..LOG_DIRECTORIES.len()).flat_map(|directory| replicas(context, directory, None));
        let used: i64 = sizes.flat_map(|topic| topic.partitions).map(|replica| replica.partition_size).sum();
        let describe = |(directory, path): (usize, &&str)| DescribeLogDirsResult {
            error_code: ErrorCode::None.code(),
            log_dir: (*path).to_owned(),
            topics: replicas(context, directory, self.topics.as_deref()),
            total_bytes: used + FREE_BYTES,
            usable_bytes: FREE_BYTES,
            ..Default::default()
        };
        let results = LOG_DIRECTORIES.iter().enumerate().map(describe).collect();
        HandlerResult::Response(DescribeLogDirsResponse { results, ..Default::default() })
    }

    fn throttle_time(response: &mut DescribeLogDirsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

/// The replicas in a directory of this broker, of the requested partitions or of all.
fn replicas(
    context: &RequestContext<'_>,
    directory: usize,
    requested: Option<&[DescribableLogDirTopic]>,
) -> Vec<DescribeLogDirsTopic> {
    let is_wanted = |name: &str, index: i32| {
        requested.is_none_or(|topics| topics.iter().any(|t| t.topic == name && t.partitions.contains(&index)))
    };
    let of = |(name, partitions): (&str, &[Partition])| {
        let hosted = partitions.iter().zip(0..).filter(|(partition, index)| {
            partition.replicas.contains(&context.broker)
                && partition.directory(context.broker) == directory
                && is_wanted(name, *index)
        });
        let partitions: Vec<_> = hosted.map(|(partition, index)| size(partition, index)).collect();
        (!partitions.is_empty()).then(|| DescribeLogDirsTopic { name: name.to_owned(), partitions })
    };
    context.state.topics().filter_map(|(name, topic)| of((name, &topic.partitions))).collect()
}

fn size(partition: &Partition, index: i32) -> DescribeLogDirsPartition {
    let bytes: usize = partition.log.batches().map(|batch| batch.bytes.len()).sum();
    DescribeLogDirsPartition {
        partition_index: index,
        partition_size: i64::try_from(bytes).unwrap_or(i64::MAX),
        ..Default::default()
    }
}
