//! A hand-made member of a classic group, which sends one request at a time.

use bytes::Bytes;
use ottla_mock::MockCluster;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::heartbeat::HeartbeatRequest;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse};
use ottla_protocol::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse};

use crate::support::RawClient;

pub(crate) const GROUP: &str = "g";

/// A member with its own connection.
pub(crate) struct Member {
    pub(crate) raw: RawClient,
    pub(crate) join: JoinGroupRequest,
    pub(crate) generation: i32,
}

/// A `ConsumerProtocolSubscription` of version 0.
pub(crate) fn subscription(topic: &str) -> Bytes {
    let mut bytes = vec![0, 0, 0, 0, 0, 1];
    bytes.extend_from_slice(&i16::try_from(topic.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(topic.as_bytes());
    bytes.extend_from_slice(&(-1_i32).to_be_bytes());
    bytes.into()
}

/// A `ConsumerProtocolAssignment` of one partition, of version 0.
pub(crate) fn assignment(topic: &str, partition: i32) -> Bytes {
    let mut bytes = vec![0, 0, 0, 0, 0, 1];
    bytes.extend_from_slice(&i16::try_from(topic.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(topic.as_bytes());
    bytes.extend_from_slice(&1_i32.to_be_bytes());
    bytes.extend_from_slice(&partition.to_be_bytes());
    bytes.extend_from_slice(&(-1_i32).to_be_bytes());
    bytes.into()
}

impl Member {
    pub(crate) async fn new(cluster: &MockCluster) -> Self {
        let protocols = ["range", "roundrobin"]
            .map(|name| JoinGroupRequestProtocol { name: name.to_owned(), metadata: subscription("t") });
        let join = JoinGroupRequest {
            group_id: GROUP.to_owned(),
            session_timeout_ms: 30_000,
            rebalance_timeout_ms: 30_000,
            protocol_type: "consumer".to_owned(),
            protocols: protocols.to_vec(),
            ..JoinGroupRequest::default()
        };
        Self { raw: RawClient::to_coordinator(cluster, GROUP).await, join, generation: -1 }
    }

    pub(crate) async fn static_member(cluster: &MockCluster, instance_id: &str) -> Self {
        let mut member = Self::new(cluster).await;
        member.join.group_instance_id = Some(instance_id.to_owned());
        member
    }

    pub(crate) fn id(&self) -> &str {
        &self.join.member_id
    }

    /// Sends JoinGroup, again with an id if one is required; [`Self::end_join`] reads the response.
    pub(crate) async fn start_join(&mut self) {
        if self.join.member_id.is_empty() && self.join.group_instance_id.is_none() {
            let response = self.raw.call(&self.join, 9).await;
            assert_eq!(ErrorCode::from(response.error_code), ErrorCode::MemberIdRequired);
            self.join.member_id = response.member_id;
        }
        self.raw.send(&self.join, 9).await;
    }

    pub(crate) async fn end_join(&mut self) -> JoinGroupResponse {
        let response = self.raw.receive::<JoinGroupRequest>(9).await.expect("a response");
        if response.error_code == 0 {
            self.join.member_id.clone_from(&response.member_id);
            self.generation = response.generation_id;
        }
        response
    }

    pub(crate) async fn join(&mut self) -> JoinGroupResponse {
        self.start_join().await;
        self.end_join().await
    }

    pub(crate) async fn start_sync(&mut self, assignments: &[(&str, Bytes)]) {
        let assignments = assignments.iter().map(|(id, assignment)| SyncGroupRequestAssignment {
            member_id: (*id).to_owned(),
            assignment: assignment.clone(),
        });
        let request = SyncGroupRequest {
            group_id: GROUP.to_owned(),
            generation_id: self.generation,
            member_id: self.join.member_id.clone(),
            group_instance_id: self.join.group_instance_id.clone(),
            protocol_type: Some("consumer".to_owned()),
            protocol_name: Some("range".to_owned()),
            assignments: assignments.collect(),
        };
        self.raw.send(&request, 5).await;
    }

    pub(crate) async fn end_sync(&mut self) -> SyncGroupResponse {
        self.raw.receive::<SyncGroupRequest>(5).await.expect("a response")
    }

    pub(crate) async fn sync(&mut self, assignments: &[(&str, Bytes)]) -> SyncGroupResponse {
        self.start_sync(assignments).await;
        self.end_sync().await
    }

    pub(crate) async fn heartbeat(&mut self) -> ErrorCode {
        let request = HeartbeatRequest {
            group_id: GROUP.to_owned(),
            generation_id: self.generation,
            member_id: self.join.member_id.clone(),
            group_instance_id: self.join.group_instance_id.clone(),
        };
        ErrorCode::from(self.raw.call(&request, 4).await.error_code)
    }

    pub(crate) async fn leave(&mut self) -> ErrorCode {
        let member = MemberIdentity {
            member_id: self.join.member_id.clone(),
            group_instance_id: self.join.group_instance_id.clone(),
            reason: None,
        };
        let request = LeaveGroupRequest {
            group_id: GROUP.to_owned(),
            members: vec![member],
            ..LeaveGroupRequest::default()
        };
        let response = self.raw.call(&request, 5).await;
        assert_eq!(response.error_code, 0);
        ErrorCode::from(response.members[0].error_code)
    }
}

/// Two members in a stable group: the leader with partition 0, the follower with partition 1.
pub(crate) async fn pair(cluster: &MockCluster) -> (Member, Member) {
    let (mut leader, mut follower) = (Member::new(cluster).await, Member::new(cluster).await);
    form_group(&mut leader, &mut follower).await;
    (leader, follower)
}

/// Forms a stable group: the first member joins alone, then both join.
pub(crate) async fn form_group(first: &mut Member, second: &mut Member) {
    first.join().await;
    let id = first.id().to_owned();
    first.sync(&[(&id, assignment("t", 0))]).await;
    second.start_join().await;
    wait_for_rebalance(first).await;
    let joined = first.join().await;
    assert_eq!(joined.leader, first.id());
    second.end_join().await;
    let (one, two) = (first.id().to_owned(), second.id().to_owned());
    let assignments = [(one.as_str(), assignment("t", 0)), (two.as_str(), assignment("t", 1))];
    second.start_sync(&[]).await;
    first.start_sync(&assignments).await;
    assert_eq!(first.end_sync().await.assignment, assignment("t", 0));
    assert_eq!(second.end_sync().await.assignment, assignment("t", 1));
}

/// Sends heartbeats until the coordinator requests a rebalance.
pub(crate) async fn wait_for_rebalance(member: &mut Member) {
    let deadline = tokio::time::Instant::now() + crate::support::TEST_TIMEOUT;
    loop {
        match member.heartbeat().await {
            ErrorCode::RebalanceInProgress => return,
            code => assert_eq!(code, ErrorCode::None),
        }
        assert!(tokio::time::Instant::now() < deadline, "no rebalance");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
