//! DescribeQuorum (55), versions 0–2: the KRaft quorum, in which every broker is also a controller. Timestamps from
//! version 1; messages and the controllers' addresses from version 2.
//!
//! All brokers vote and the controller leads. A stopped broker reports timestamps of -1, as a voter that never caught
//! up. As in Kafka, a request for anything but the one partition of the metadata is refused as a whole.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_quorum::{
    DescribeQuorumPartitionData, DescribeQuorumRequest, DescribeQuorumResponse, DescribeQuorumTopicData,
    Listener, Node, PartitionData, ReplicaState, TopicData,
};

use super::{HandlerResult, RequestContext, RequestHandler};

const METADATA_TOPIC: &str = "__cluster_metadata";
/// The first version with the controllers' addresses.
const WITH_NODES: i16 = 2;

impl RequestHandler for DescribeQuorumRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DescribeQuorumResponse> {
        let mut response = DescribeQuorumResponse {
            error_message: Some(String::new()),
            ..DescribeQuorumResponse::default()
        };
        if let Err(code) = context.check_any_fault() {
            response.error_code = code.code();
            response.error_message = Some(code.meaning().to_owned());
            return HandlerResult::Response(response);
        }
        let is_metadata = matches!(
            self.topics.as_slice(),
            [TopicData { topic_name, partitions }]
                if topic_name == METADATA_TOPIC
                    && matches!(partitions.as_slice(), [PartitionData { partition_index: 0 }])
        );
        response.topics = self.topics.iter().map(|topic| describe(context, topic, is_metadata)).collect();
        if is_metadata && context.version >= WITH_NODES {
            let listener = |node: &crate::state::Node| Listener {
                name: "CONTROLLER".to_owned(),
                host: node.host.clone(),
                port: node.port,
            };
            let nodes = context.state.brokers.values();
            response.nodes =
                nodes.map(|node| Node { node_id: node.id, listeners: vec![listener(node)] }).collect();
        }
        HandlerResult::Response(response)
    }
}

fn describe(context: &RequestContext<'_>, topic: &TopicData, is_metadata: bool) -> DescribeQuorumTopicData {
    let partitions = topic.partitions.iter().map(|requested| {
        if is_metadata {
            return quorum(context);
        }
        DescribeQuorumPartitionData {
            partition_index: requested.partition_index,
            error_code: ErrorCode::UnknownTopicOrPartition.code(),
            error_message: Some("This server does not host this topic-partition.".to_owned()),
            ..DescribeQuorumPartitionData::default()
        }
    });
    DescribeQuorumTopicData { topic_name: topic.topic_name.clone(), partitions: partitions.collect() }
}

fn quorum(context: &RequestContext<'_>) -> DescribeQuorumPartitionData {
    let now = context.now;
    let voter = |(id, alive): (i32, bool)| ReplicaState {
        replica_id: id,
        last_fetch_timestamp: if alive { now } else { -1 },
        last_caught_up_timestamp: if alive { now } else { -1 },
        ..ReplicaState::default()
    };
    DescribeQuorumPartitionData {
        error_message: Some(String::new()),
        leader_id: context.state.controller,
        leader_epoch: context.state.controller_epoch,
        current_voters: context.state.brokers.values().map(|node| voter((node.id, node.alive))).collect(),
        ..DescribeQuorumPartitionData::default()
    }
}
