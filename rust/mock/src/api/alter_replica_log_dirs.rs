//! AlterReplicaLogDirs (34), versions 1–2: moves replicas of this broker to another of its log directories, at once.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::alter_replica_log_dirs::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult, AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::ClusterState;

impl RequestHandler for AlterReplicaLogDirsRequest {
    fn targets(&self, _version: i16, _state: &ClusterState) -> Vec<FaultTarget> {
        let replicas = destinations(self).into_keys();
        let target =
            |(topic, index): (&str, i32)| FaultTarget { topic: topic.to_owned(), partition: Some(index) };
        replicas.map(target).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<AlterReplicaLogDirsResponse> {
        let mut topics: BTreeMap<&str, Vec<AlterReplicaLogDirPartitionResult>> = BTreeMap::new();
        for ((topic, partition_index), path) in destinations(self) {
            let code = move_replica(context, (topic, partition_index), path).err();
            let error_code = code.map_or(0, ErrorCode::code);
            let result = AlterReplicaLogDirPartitionResult { partition_index, error_code };
            topics.entry(topic).or_default().push(result);
        }
        let results = topics.into_iter().map(|(topic, partitions)| AlterReplicaLogDirTopicResult {
            topic_name: topic.to_owned(),
            partitions,
        });
        HandlerResult::Response(AlterReplicaLogDirsResponse {
            results: results.collect(),
            ..Default::default()
        })
    }

    fn throttle_time(response: &mut AlterReplicaLogDirsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

/// The directories to which replicas move; as in Kafka, the last one of those that are given for a replica.
fn destinations(request: &AlterReplicaLogDirsRequest) -> BTreeMap<(&str, i32), &str> {
    let mut all = BTreeMap::new();
    for directory in &request.dirs {
        for topic in &directory.topics {
            let replicas = topic.partitions.iter().map(|index| (topic.name.as_str(), *index));
            all.extend(replicas.map(|replica| (replica, directory.path.as_str())));
        }
    }
    all
}

fn move_replica(
    context: &mut RequestContext<'_>,
    (topic, index): (&str, i32),
    path: &str,
) -> Result<(), ErrorCode> {
    context.check_fault(topic, Some(index))?;
    context.state.move_replica((topic, index), context.broker, path)?;
    context.check_fault_after_handling(topic, Some(index))
}
