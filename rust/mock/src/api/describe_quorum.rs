//! DescribeQuorum (55), versions 0–2: the KRaft quorum, in which every broker is also a controller.
//!
//! All brokers vote and the controller leads. A stopped broker reports timestamps of -1, as a voter that
//! never caught up.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_quorum::{
    DescribeQuorumPartitionData, DescribeQuorumRequest, DescribeQuorumResponse, DescribeQuorumTopicData,
    Listener, Node, ReplicaState, TopicData,
};

use super::{HandlerResult, RequestContext, RequestHandler};

const METADATA_TOPIC: &str = "__cluster_metadata";

impl RequestHandler for DescribeQuorumRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DescribeQuorumResponse> {
        if let Err(code) = context.check_any_fault() {
            let error_message = Some(code.meaning().to_owned());
            let response =
                DescribeQuorumResponse { error_code: code.code(), error_message, ..Default::default() };
            return HandlerResult::Response(response);
        }
        let nodes = context.state.brokers.values().map(|node| Node {
            node_id: node.id,
            listeners: vec![Listener {
                name: "CONTROLLER".to_owned(),
                host: node.host.clone(),
                port: node.port,
            }],
        });
        HandlerResult::Response(DescribeQuorumResponse {
            topics: self.topics.iter().map(|topic| describe(context, topic)).collect(),
            nodes: nodes.collect(),
            ..Default::default()
        })
    }
}

fn describe(context: &RequestContext<'_>, topic: &TopicData) -> DescribeQuorumTopicData {
    let partitions = topic.partitions.iter().map(|requested| {
        let index = requested.partition_index;
        if topic.topic_name == METADATA_TOPIC && index == 0 {
            return quorum(context);
        }
        let error_code = ErrorCode::UnknownTopicOrPartition.code();
        DescribeQuorumPartitionData { partition_index: index, error_code, ..Default::default() }
    });
    DescribeQuorumTopicData { topic_name: topic.topic_name.clone(), partitions: partitions.collect() }
}

fn quorum(context: &RequestContext<'_>) -> DescribeQuorumPartitionData {
    let now = context.now;
    let voter = |(id, alive): (i32, bool)| ReplicaState {
        replica_id: id,
        last_fetch_timestamp: if alive { now } else { -1 },
        last_caught_up_timestamp: if alive { now } else { -1 },
        ..Default::default()
    };
    DescribeQuorumPartitionData {
        leader_id: context.state.controller,
        current_voters: context.state.brokers.values().map(|node| voter((node.id, node.alive))).collect(),
        ..Default::default()
    }
}
