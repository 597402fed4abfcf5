//! A hand-made member of a share group: heartbeats to the coordinator, fetches and acknowledgements to one leader.

use ottla_mock::MockCluster;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::share_acknowledge::{
    AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch, ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
};
use ottla_protocol::messages::share_fetch::{
    AcknowledgementBatch as FetchAcknowledgementBatch, FetchPartition, FetchTopic, PartitionData,
    ShareFetchRequest, ShareFetchResponse,
};
use ottla_protocol::messages::share_group_heartbeat::{
    ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse,
};
use ottla_protocol::wire::Uuid;

use crate::support::RawClient;
use crate::support::classic_member::GROUP;

pub(crate) const ACCEPT: i8 = 1;
pub(crate) const RELEASE: i8 = 2;
pub(crate) const REJECT: i8 = 3;
pub(crate) const RENEW: i8 = 4;

/// A member with a connection to the leader of partition 0 of topic `t`.
pub(crate) struct ShareMember {
    pub(crate) raw: RawClient,
    pub(crate) id: String,
    pub(crate) topic: Uuid,
    /// The next session epoch.
    pub(crate) epoch: i32,
}

impl ShareMember {
    pub(crate) async fn new(cluster: &MockCluster, id: &str) -> Self {
        Self {
            raw: RawClient::to_leader(cluster, "t", 0).await,
            id: id.to_owned(),
            topic: cluster.topic("t").expect("a topic").id,
            epoch: 0,
        }
    }

    /// A fetch of partition 0 that does not wait.
    pub(crate) fn fetch_request(&self) -> ShareFetchRequest {
        let partition = FetchPartition { partition_index: 0, ..FetchPartition::default() };
        ShareFetchRequest {
            group_id: Some(GROUP.to_owned()),
            member_id: Some(self.id.clone()),
            share_session_epoch: self.epoch,
            max_records: 500,
            batch_size: 500,
            topics: vec![FetchTopic { topic_id: self.topic, partitions: vec![partition] }],
            ..ShareFetchRequest::default()
        }
    }

    pub(crate) async fn send_fetch(&mut self, request: &ShareFetchRequest) -> ShareFetchResponse {
        let response = self.raw.call(request, 2).await;
        if response.error_code == 0 {
            self.epoch += 1;
        }
        response
    }

    /// Fetches once; returns the acquired ranges with their delivery counts.
    pub(crate) async fn fetch(&mut self) -> Vec<(i64, i64, i16)> {
        let request = self.fetch_request();
        acquired(&self.send_fetch(&request).await)
    }

    pub(crate) fn acknowledge_request(&self, batches: &[(i64, i64, i8)]) -> ShareAcknowledgeRequest {
        let batch = |(first_offset, last_offset, kind): &(i64, i64, i8)| AcknowledgementBatch {
            first_offset: *first_offset,
            last_offset: *last_offset,
            acknowledge_types: vec![*kind],
        };
        let acknowledgement_batches = batches.iter().map(batch).collect();
        let partition = AcknowledgePartition { partition_index: 0, acknowledgement_batches };
        ShareAcknowledgeRequest {
            group_id: Some(GROUP.to_owned()),
            member_id: Some(self.id.clone()),
            share_session_epoch: self.epoch,
            is_renew_ack: batches.iter().any(|(_, _, kind)| *kind == RENEW),
            topics: vec![AcknowledgeTopic { topic_id: self.topic, partitions: vec![partition] }],
        }
    }

    pub(crate) async fn send_acknowledge(
        &mut self,
        request: &ShareAcknowledgeRequest,
    ) -> ShareAcknowledgeResponse {
        let response = self.raw.call(request, 2).await;
        if response.error_code == 0 {
            self.epoch += 1;
        }
        response
    }

    /// Acknowledges ranges; returns the partition's error.
    pub(crate) async fn acknowledge(&mut self, batches: &[(i64, i64, i8)]) -> ErrorCode {
        let request = self.acknowledge_request(batches);
        let response = self.send_acknowledge(&request).await;
        assert_eq!(response.error_code, 0, "{:?}", response.error_message);
        response.responses[0].partitions[0].error_code.into()
    }

    /// Closes the session.
    pub(crate) async fn close(&mut self) -> ErrorCode {
        self.epoch = -1;
        let mut request = self.acknowledge_request(&[]);
        request.topics.clear();
        let response = self.send_acknowledge(&request).await;
        response.error_code.into()
    }
}

/// The data of the first partition of a response.
pub(crate) fn first(response: &ShareFetchResponse) -> Option<&PartitionData> {
    response.responses.first()?.partitions.first()
}

/// The acquired ranges of the first partition, with their delivery counts.
pub(crate) fn acquired(response: &ShareFetchResponse) -> Vec<(i64, i64, i16)> {
    assert_eq!(response.error_code, 0, "{:?}", response.error_message);
    let Some(data) = first(response) else { return Vec::new() };
    assert_eq!(data.error_code, 0, "{:?}", data.error_message);
    data.acquired_records.iter().map(|r| (r.first_offset, r.last_offset, r.delivery_count)).collect()
}

pub(crate) fn fetch_batch(first_offset: i64, last_offset: i64, kind: i8) -> FetchAcknowledgementBatch {
    FetchAcknowledgementBatch { first_offset, last_offset, acknowledge_types: vec![kind] }
}

/// A heartbeat of a member that subscribes to topic `t`.
pub(crate) fn heartbeat(id: &str, epoch: i32) -> ShareGroupHeartbeatRequest {
    ShareGroupHeartbeatRequest {
        group_id: GROUP.to_owned(),
        member_id: id.to_owned(),
        member_epoch: epoch,
        rack_id: None,
        subscribed_topic_names: (epoch == 0).then(|| vec!["t".to_owned()]),
    }
}

/// The assigned partitions of a response; `None` if it has no assignment.
pub(crate) fn assigned(response: &ShareGroupHeartbeatResponse) -> Option<Vec<i32>> {
    assert_eq!(response.error_code, 0, "{:?}", response.error_message);
    let topics = &response.assignment.as_ref()?.topic_partitions;
    Some(topics.iter().flat_map(|topic| topic.partitions.clone()).collect())
}
