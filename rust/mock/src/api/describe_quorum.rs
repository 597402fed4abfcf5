//! DescribeQuorum (55), versions 0–2: the KRaft quorum, as brokers that are controllers too have it.
//!
//! Every broker votes and the controller leads. A voter that is down has never caught up: timestamps -1.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_quorum::{
    DescribeQuorumPartitionData, DescribeQuorumRequest, DescribeQuorumResponse, DescribeQuorumTopicData,
    Listener, Node, ReplicaState, TopicData,
};

use super::{Call, Serve, Served};

const METADATA_TOPIC: &str = "__cluster_metadata";

impl Serve for DescribeQuorumRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<DescribeQuorumResponse> {
        if let Err(code) = call.whole_fault() {
            let error_message = Some(code.meaning().to_owned());
            let response =
                DescribeQuorumResponse { error_code: code.code(), error_message, ..Default::default() };
            return Served::Answer(response);
        }
        let nodes = call.state.brokers.values().map(|node| Node {
            node_id: node.id,
            listeners: vec![Listener {
                name: "CONTROLLER".to_owned(),
                host: node.host.clone(),
                port: node.port,
            }],
        });
        Served::Answer(DescribeQuorumResponse {
            topics: self.topics.iter().map(|topic| describe(call, topic)).collect(),
            nodes: nodes.collect(),
            ..Default::default()
        })
    }
}

fn describe(call: &Call<'_>, topic: &TopicData) -> DescribeQuorumTopicData {
    let partitions = topic.partitions.iter().map(|wanted| {
        let index = wanted.partition_index;
        if topic.topic_name == METADATA_TOPIC && index == 0 {
            return quorum(call);
        }
        let error_code = ErrorCode::UnknownTopicOrPartition.code();
        DescribeQuorumPartitionData { partition_index: index, error_code, ..Default::default() }
    });
    DescribeQuorumTopicData { topic_name: topic.topic_name.clone(), partitions: partitions.collect() }
}

fn quorum(call: &Call<'_>) -> DescribeQuorumPartitionData {
    let now = call.now;
    let voter = |(id, alive): (i32, bool)| ReplicaState {
        replica_id: id,
        last_fetch_timestamp: if alive { now } else { -1 },
        last_caught_up_timestamp: if alive { now } else { -1 },
        ..Default::default()
    };
    DescribeQuorumPartitionData {
        leader_id: call.state.controller,
        current_voters: call.state.brokers.values().map(|node| voter((node.id, node.alive))).collect(),
        ..Default::default()
    }
}
