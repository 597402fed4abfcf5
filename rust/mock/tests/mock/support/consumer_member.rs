//! A hand-made member of a KIP-848 group, which sends one heartbeat at a time.

use std::collections::BTreeSet;

use ottla_mock::MockCluster;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_heartbeat::{
    ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions,
};

use crate::support::RawClient;
use crate::support::classic_member::GROUP;

/// A member that follows its assignment.
pub(crate) struct Member<'a> {
    cluster: &'a MockCluster,
    pub(crate) raw: RawClient,
    pub(crate) request: ConsumerGroupHeartbeatRequest,
    pub(crate) owned: BTreeSet<i32>,
}

impl<'a> Member<'a> {
    pub(crate) async fn new(cluster: &'a MockCluster, id: &str) -> Self {
        let request = ConsumerGroupHeartbeatRequest {
            group_id: GROUP.to_owned(),
            member_id: id.to_owned(),
            rebalance_timeout_ms: 30_000,
            subscribed_topic_names: Some(vec!["t".to_owned()]),
            topic_partitions: Some(Vec::new()),
            ..ConsumerGroupHeartbeatRequest::default()
        };
        Self {
            cluster,
            raw: RawClient::to_coordinator(cluster, GROUP).await,
            request,
            owned: BTreeSet::new(),
        }
    }

    pub(crate) async fn static_member(cluster: &'a MockCluster, id: &str, instance: &str) -> Self {
        let mut member = Self::new(cluster, id).await;
        member.request.instance_id = Some(instance.to_owned());
        member
    }

    pub(crate) async fn call(&mut self) -> ConsumerGroupHeartbeatResponse {
        self.raw.call(&self.request, 1).await
    }

    pub(crate) async fn heartbeat_error(&mut self) -> ErrorCode {
        ErrorCode::from(self.call().await.error_code)
    }

    /// Sends a heartbeat and adopts the assignment.
    pub(crate) async fn heartbeat(&mut self) -> ConsumerGroupHeartbeatResponse {
        let response = self.call().await;
        assert_eq!(ErrorCode::from(response.error_code), ErrorCode::None, "{:?}", response.error_message);
        self.request.member_epoch = response.member_epoch;
        if let Some(assignment) = &response.assignment {
            self.owned = assignment.topic_partitions.iter().flat_map(|t| t.partitions.clone()).collect();
        }
        self.report_owned();
        response
    }

    /// Reports the owned partitions in the next heartbeat, which omits all unchanged fields.
    pub(crate) fn report_owned(&mut self) {
        self.request.rebalance_timeout_ms = -1;
        self.request.subscribed_topic_names = None;
        self.request.topic_partitions = Some(Vec::new());
        if let (Some(topic), false) = (self.cluster.topic("t"), self.owned.is_empty()) {
            let partitions = self.owned.iter().copied().collect();
            self.request.topic_partitions = Some(vec![TopicPartitions { topic_id: topic.id, partitions }]);
        }
    }

    pub(crate) async fn leave(&mut self, epoch: i32) -> ErrorCode {
        self.request.member_epoch = epoch;
        let response = self.call().await;
        if response.error_code == 0 {
            assert_eq!(response.member_epoch, epoch);
        }
        ErrorCode::from(response.error_code)
    }

    pub(crate) fn owns(&self) -> Vec<i32> {
        self.owned.iter().copied().collect()
    }
}
