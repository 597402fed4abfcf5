//! DescribeLogDirs (35), versions 1–5: one directory a broker, with the replicas that it holds.
//!
//! Its volume is as large as the logs in it and a fixed free space: nothing is written to disk.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_log_dirs::{
    DescribableLogDirTopic, DescribeLogDirsPartition, DescribeLogDirsRequest, DescribeLogDirsResponse,
    DescribeLogDirsResult, DescribeLogDirsTopic,
};

use super::{Call, Serve, Served};
use crate::state::Partition;

const PATH: &str = "/var/lib/kafka";
/// 64 GiB.
const FREE_BYTES: i64 = 64 << 30;

impl Serve for DescribeLogDirsRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<DescribeLogDirsResponse> {
        if let Err(code) = call.whole_fault() {
            let response = DescribeLogDirsResponse { error_code: code.code(), ..Default::default() };
            return Served::Answer(response);
        }
        let topics = held(call, self.topics.as_deref());
        let all = held(call, None);
        let used: i64 = all.iter().flat_map(|topic| &topic.partitions).map(|held| held.partition_size).sum();
        let directory = DescribeLogDirsResult {
            error_code: ErrorCode::None.code(),
            log_dir: PATH.to_owned(),
            topics,
            total_bytes: used + FREE_BYTES,
            usable_bytes: FREE_BYTES,
            ..Default::default()
        };
        Served::Answer(DescribeLogDirsResponse { results: vec![directory], ..Default::default() })
    }

    fn throttle_time(response: &mut DescribeLogDirsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

/// The replicas of this broker, of the wanted partitions or of all.
fn held(call: &Call<'_>, wanted: Option<&[DescribableLogDirTopic]>) -> Vec<DescribeLogDirsTopic> {
    let is_wanted = |name: &str, index: i32| {
        wanted.is_none_or(|topics| topics.iter().any(|t| t.topic == name && t.partitions.contains(&index)))
    };
    let of = |(name, partitions): (&str, &[Partition])| {
        let held = partitions.iter().zip(0..).filter(|(partition, index)| {
            partition.replicas.contains(&call.broker) && is_wanted(name, *index)
        });
        let partitions: Vec<_> = held.map(|(partition, index)| size(partition, index)).collect();
        (!partitions.is_empty()).then(|| DescribeLogDirsTopic { name: name.to_owned(), partitions })
    };
    call.state.topics().filter_map(|(name, topic)| of((name, &topic.partitions))).collect()
}

fn size(partition: &Partition, index: i32) -> DescribeLogDirsPartition {
    let bytes: usize = partition.log.batches().map(|batch| batch.bytes.len()).sum();
    DescribeLogDirsPartition {
        partition_index: index,
        partition_size: i64::try_from(bytes).unwrap_or(i64::MAX),
        ..Default::default()
    }
}
