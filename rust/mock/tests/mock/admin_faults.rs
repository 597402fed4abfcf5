//! Faults on the APIs of administrators: an error instead of the change, and one after the change.

use crate::support::configs::{TOPIC, resource};
use crate::support::*;
use ottla_mock::{Fault, Match, MockCluster, Reaction};
use ottla_protocol::messages::alter_client_quotas::{
    AlterClientQuotasRequest, EntityData, EntryData, OpData,
};
use ottla_protocol::messages::alter_configs::{AlterConfigsRequest, AlterConfigsResource};
use ottla_protocol::messages::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, ReassignablePartition, ReassignableTopic,
};
use ottla_protocol::messages::alter_user_scram_credentials::{
    AlterUserScramCredentialsRequest, ScramCredentialUpsertion,
};
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::messages::create_acls::{AclCreation, CreateAclsRequest};
use ottla_protocol::messages::delete_acls::{DeleteAclsFilter, DeleteAclsRequest};
use ottla_protocol::messages::describe_acls::DescribeAclsRequest;
use ottla_protocol::messages::describe_client_quotas::DescribeClientQuotasRequest;
use ottla_protocol::messages::describe_user_scram_credentials::DescribeUserScramCredentialsRequest;
use ottla_protocol::messages::elect_leaders::{ElectLeadersRequest, TopicPartitions};
use ottla_protocol::messages::incremental_alter_configs::IncrementalAlterConfigsRequest;
use ottla_protocol::messages::list_config_resources::ListConfigResourcesRequest;
use ottla_protocol::messages::list_partition_reassignments::ListPartitionReassignmentsRequest;
use ottla_protocol::messages::unregister_broker::UnregisterBrokerRequest;
use ottla_protocol::messages::update_features::{FeatureUpdateKey, UpdateFeaturesRequest};
use ottla_protocol::wire::SecretBytes;
use ottla_protocol::{ErrorCode, Request};

const FAULT: ErrorCode = ErrorCode::RequestTimedOut;

fn acl() -> AclCreation {
    AclCreation {
        resource_type: 2,
        resource_name: "t".to_owned(),
        resource_pattern_type: 3,
        principal: "User:alice".to_owned(),
        host: "*".to_owned(),
        operation: 3,
        permission_type: 3,
    }
}

#[tokio::test]
async fn partitions_fail_with_or_without_a_change() {
    let cluster = cluster_with_topic(1).await;
    let replicas = cluster.topic("t").unwrap().partitions.remove(0).replicas;
    let reversed: Vec<i32> = replicas.iter().rev().copied().collect();
    let partition = ReassignablePartition { partition_index: 0, replicas: Some(reversed.clone()) };
    let request = AlterPartitionReassignmentsRequest {
        topics: vec![ReassignableTopic { name: "t".to_owned(), partitions: vec![partition] }],
        ..Default::default()
    };
    let first_replicas = |cluster: &MockCluster| cluster.topic("t").unwrap().partitions.remove(0).replicas;
    let on_partition = Match::api(AlterPartitionReassignmentsRequest::API).topic("t").partition(0);
    let mut raw = RawClient::connect(&cluster, 1).await;
    for (reaction, expected) in
        [(Reaction::Error(FAULT), &replicas), (Reaction::ErrorAfterHandling(FAULT), &reversed)]
    {
        cluster.inject(Fault::once(on_partition.clone(), reaction));
        let response = raw.call(&request, 1).await;
        assert_eq!(ErrorCode::from(response.responses[0].partitions[0].error_code), FAULT);
        assert_eq!(first_replicas(&cluster), *expected);
    }
    // A fault of the whole request has one error.
    let whole = Match::api(AlterPartitionReassignmentsRequest::API);
    cluster.inject(Fault::once(whole, Reaction::Error(FAULT)));
    assert_eq!(ErrorCode::from(raw.call(&request, 1).await.error_code), FAULT);

    let request = ElectLeadersRequest {
        topic_partitions: Some(vec![TopicPartitions { topic: "t".to_owned(), partitions: vec![0] }]),
        ..Default::default()
    };
    assert_eq!(cluster.leader("t", 0), replicas.first().copied());
    let on_partition = Match::api(ElectLeadersRequest::API).topic("t").partition(0);
    for (reaction, expected) in
        [(Reaction::Error(FAULT), replicas[0]), (Reaction::ErrorAfterHandling(FAULT), reversed[0])]
    {
        cluster.inject(Fault::once(on_partition.clone(), reaction));
        let response = raw.call(&request, 2).await;
        let result = &response.replica_election_results[0].partition_result[0];
        assert_eq!(ErrorCode::from(result.error_code), FAULT);
        assert_eq!(cluster.leader("t", 0), Some(expected));
    }
}

#[tokio::test]
async fn brokers_and_features_fail_with_or_without_a_change() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let unregister = UnregisterBrokerRequest { broker_id: 3 };
    for (reaction, alive) in [(Reaction::Error(FAULT), true), (Reaction::ErrorAfterHandling(FAULT), false)] {
        cluster.inject(Fault::once(Match::api(UnregisterBrokerRequest::API), reaction));
        assert_eq!(ErrorCode::from(raw.call(&unregister, 0).await.error_code), FAULT);
        assert_eq!(cluster.brokers()[2].alive, alive);
    }
    let update = FeatureUpdateKey {
        feature: "transaction.version".to_owned(),
        max_version_level: 0,
        upgrade_type: 2,
        ..Default::default()
    };
    let update = UpdateFeaturesRequest { feature_updates: vec![update], ..Default::default() };
    let client = ApiVersionsRequest {
        client_software_name: "raw".to_owned(),
        client_software_version: "1.0".to_owned(),
        ..Default::default()
    };
    for (reaction, levels) in [(Reaction::Error(FAULT), 4), (Reaction::ErrorAfterHandling(FAULT), 3)] {
        cluster.inject(Fault::once(Match::api(UpdateFeaturesRequest::API), reaction));
        assert_eq!(ErrorCode::from(raw.call(&update, 2).await.error_code), FAULT);
        assert_eq!(raw.call(&client, 4).await.finalized_features.len(), levels);
    }
}

#[tokio::test]
async fn stored_entries_fail_with_or_without_a_change() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let everything = DescribeAclsRequest {
        resource_type_filter: 1,
        pattern_type_filter: 1,
        operation: 1,
        permission_type: 1,
        ..Default::default()
    };
    let create = CreateAclsRequest { creations: vec![acl()] };
    let filter = DeleteAclsFilter {
        resource_type_filter: 1,
        pattern_type_filter: 1,
        operation: 1,
        permission_type: 1,
        ..Default::default()
    };
    let delete = DeleteAclsRequest { filters: vec![filter] };
    let quota = EntryData {
        entity: vec![EntityData { entity_type: "user".to_owned(), entity_name: None }],
        ops: vec![OpData { key: "consumer_byte_rate".to_owned(), value: 1.0, remove: false }],
    };
    let quotas = AlterClientQuotasRequest { entries: vec![quota], validate_only: false };
    let password = ScramCredentialUpsertion {
        name: "alice".to_owned(),
        mechanism: 1,
        iterations: 4096,
        salted_password: SecretBytes(bytes::Bytes::from_static(b"x")),
        ..Default::default()
    };
    let passwords = AlterUserScramCredentialsRequest { upsertions: vec![password], deletions: Vec::new() };
    for (reaction, changes) in [(Reaction::Error(FAULT), 0), (Reaction::ErrorAfterHandling(FAULT), 1)] {
        cluster.inject(Fault::once(Match::api(CreateAclsRequest::API), reaction.clone()));
        assert_eq!(ErrorCode::from(raw.call(&create, 3).await.results[0].error_code), FAULT);
        assert_eq!(raw.call(&everything, 3).await.resources.len(), changes);
        cluster.inject(Fault::once(Match::api(AlterClientQuotasRequest::API), reaction.clone()));
        assert_eq!(ErrorCode::from(raw.call(&quotas, 1).await.entries[0].error_code), FAULT);
        let described = raw.call(&DescribeClientQuotasRequest::default(), 1).await;
        assert_eq!(described.entries.unwrap().len(), changes);
        cluster.inject(Fault::once(Match::api(AlterUserScramCredentialsRequest::API), reaction));
        assert_eq!(ErrorCode::from(raw.call(&passwords, 0).await.results[0].error_code), FAULT);
        let described = raw.call(&DescribeUserScramCredentialsRequest::default(), 0).await;
        assert_eq!(described.results.len(), changes);
    }
    for (reaction, left) in [(Reaction::Error(FAULT), 1), (Reaction::ErrorAfterHandling(FAULT), 0)] {
        cluster.inject(Fault::once(Match::api(DeleteAclsRequest::API), reaction));
        assert_eq!(ErrorCode::from(raw.call(&delete, 3).await.filter_results[0].error_code), FAULT);
        assert_eq!(raw.call(&everything, 3).await.resources.len(), left);
    }
}

#[tokio::test]
async fn configurations_fail_by_topic() {
    let cluster = cluster_with_topic(1).await;
    cluster.create_topic(ottla_mock::TopicSpec::new("u")).unwrap();
    let mut raw = RawClient::connect(&cluster, 1).await;
    let set = [("retention.ms", 0, Some("1"))];
    let request = IncrementalAlterConfigsRequest {
        resources: vec![resource(TOPIC, "t", &set), resource(TOPIC, "u", &set)],
        validate_only: false,
    };
    for reaction in [Reaction::Error(FAULT), Reaction::ErrorAfterHandling(FAULT)] {
        let on = Match::api(IncrementalAlterConfigsRequest::API).topic("u");
        cluster.inject(Fault::once(on, reaction));
        let responses = raw.call(&request, 1).await.responses;
        let codes: Vec<_> = responses.iter().map(|r| ErrorCode::from(r.error_code)).collect();
        assert_eq!(codes, [ErrorCode::None, FAULT]);
    }
    let replaced =
        AlterConfigsResource { resource_type: TOPIC, resource_name: "t".to_owned(), configs: Vec::new() };
    let request = AlterConfigsRequest { resources: vec![replaced], validate_only: false };
    cluster.inject(Fault::once(Match::api(AlterConfigsRequest::API), Reaction::Error(FAULT)));
    assert_eq!(ErrorCode::from(raw.call(&request, 2).await.responses[0].error_code), FAULT);
}

#[tokio::test]
async fn descriptions_fail() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    cluster.inject(Fault::new(Match::any(), Reaction::Error(FAULT)));
    let acls = DescribeAclsRequest {
        resource_type_filter: 1,
        pattern_type_filter: 1,
        operation: 1,
        permission_type: 1,
        ..Default::default()
    };
    let codes = [
        raw.call(&acls, 3).await.error_code,
        raw.call(&DescribeClientQuotasRequest::default(), 1).await.error_code,
        raw.call(&DescribeUserScramCredentialsRequest::default(), 0).await.error_code,
        raw.call(&ListConfigResourcesRequest::default(), 1).await.error_code,
        raw.call(&ListPartitionReassignmentsRequest::default(), 0).await.error_code,
    ];
    assert_eq!(codes.map(ErrorCode::from), [FAULT; 5]);
}
