//! Refusals of what concerns configurations, access, quotas, users, tokens and brokers.

use std::collections::BTreeSet;

use super::{each, refusals};

refusals! {
    CreateAcls: create_acls::CreateAclsRequest, r, codes => CreateAclsResponse {
        results: each(r.creations, |_| AclCreationResult {
            error_code: codes.cluster(),
            error_message: codes.message(),
            ..Default::default()
        }),
        ..Default::default()
    };
    DeleteAcls: delete_acls::DeleteAclsRequest, r, codes => DeleteAclsResponse {
        filter_results: each(r.filters, |_| DeleteAclsFilterResult {
            error_code: codes.cluster(),
            error_message: codes.message(),
            ..Default::default()
        }),
        ..Default::default()
    };
    DescribeAcls: describe_acls::DescribeAclsRequest, _r, codes => DescribeAclsResponse {
        error_code: codes.cluster(),
        error_message: codes.message(),
        ..Default::default()
    };
    DescribeConfigs: describe_configs::DescribeConfigsRequest, r, codes => DescribeConfigsResponse {
        results: each(r.resources, |resource| DescribeConfigsResult {
            error_code: codes.resource(resource.resource_type, &resource.resource_name),
            error_message: codes.message(),
            resource_type: resource.resource_type,
            resource_name: resource.resource_name,
            ..Default::default()
        }),
        ..Default::default()
    };
    AlterConfigs: alter_configs::AlterConfigsRequest, r, codes => AlterConfigsResponse {
        responses: each(r.resources, |resource| AlterConfigsResourceResponse {
            error_code: codes.resource(resource.resource_type, &resource.resource_name),
            error_message: codes.message(),
            resource_type: resource.resource_type,
            resource_name: resource.resource_name,
            ..Default::default()
        }),
        ..Default::default()
    };
    IncrementalAlterConfigs: incremental_alter_configs::IncrementalAlterConfigsRequest, r, codes =>
        IncrementalAlterConfigsResponse {
            responses: each(r.resources, |resource| AlterConfigsResourceResponse {
                error_code: codes.resource(resource.resource_type, &resource.resource_name),
                error_message: codes.message(),
                resource_type: resource.resource_type,
                resource_name: resource.resource_name,
                ..Default::default()
            }),
            ..Default::default()
        };
    ListConfigResources: list_config_resources::ListConfigResourcesRequest, _r, codes =>
        ListConfigResourcesResponse { error_code: codes.cluster(), ..Default::default() };
    DescribeLogDirs: describe_log_dirs::DescribeLogDirsRequest, r, codes => DescribeLogDirsResponse {
        error_code: codes.first(
            r.topics
                .iter()
                .flatten()
                .map(|topic| super::Named::Topic(&topic.topic, None))
                .chain([super::Named::Cluster]),
        ),
        ..Default::default()
    };
    ListGroups: list_groups::ListGroupsRequest, _r, codes => ListGroupsResponse {
        error_code: codes.cluster(),
        ..Default::default()
    };
    ListTransactions: list_transactions::ListTransactionsRequest, _r, codes => ListTransactionsResponse {
        error_code: codes.cluster(),
        ..Default::default()
    };
    DescribeCluster: describe_cluster::DescribeClusterRequest, r, codes => DescribeClusterResponse {
        error_code: codes.cluster(),
        error_message: codes.message(),
        endpoint_type: r.endpoint_type,
        ..Default::default()
    };
    DescribeQuorum: describe_quorum::DescribeQuorumRequest, _r, codes => DescribeQuorumResponse {
        error_code: codes.cluster(),
        error_message: codes.message(),
        ..Default::default()
    };
    DescribeClientQuotas: describe_client_quotas::DescribeClientQuotasRequest, _r, codes =>
        DescribeClientQuotasResponse {
            error_code: codes.cluster(),
            error_message: codes.message(),
            ..Default::default()
        };
    AlterClientQuotas: alter_client_quotas::AlterClientQuotasRequest, r, codes => AlterClientQuotasResponse {
        entries: each(r.entries, |entry| AlterClientQuotasEntryData {
            error_code: codes.cluster(),
            error_message: codes.message(),
            entity: each(entry.entity, |entity| AlterClientQuotasEntityData {
                entity_type: entity.entity_type,
                entity_name: entity.entity_name,
                ..Default::default()
            }),
            ..Default::default()
        }),
        ..Default::default()
    };
    DescribeUserScramCredentials: describe_user_scram_credentials::DescribeUserScramCredentialsRequest, _r, codes =>
        DescribeUserScramCredentialsResponse {
            error_code: codes.cluster(),
            error_message: codes.message(),
            ..Default::default()
        };
    AlterUserScramCredentials: alter_user_scram_credentials::AlterUserScramCredentialsRequest, r, codes => {
        let deleted = r.deletions.into_iter().map(|deletion| deletion.name);
        let set = r.upsertions.into_iter().map(|upsertion| upsertion.name);
        AlterUserScramCredentialsResponse {
            results: each(deleted.chain(set).collect::<BTreeSet<_>>(), |user| AlterUserScramCredentialsResult {
                user,
                error_code: codes.cluster(),
                error_message: codes.message(),
                ..Default::default()
            }),
            ..Default::default()
        }
    };
    CreateDelegationToken: create_delegation_token::CreateDelegationTokenRequest, _r, codes =>
        CreateDelegationTokenResponse { error_code: codes.token(), ..Default::default() };
    RenewDelegationToken: renew_delegation_token::RenewDelegationTokenRequest, _r, codes =>
        RenewDelegationTokenResponse { error_code: codes.token(), ..Default::default() };
    ExpireDelegationToken: expire_delegation_token::ExpireDelegationTokenRequest, _r, codes =>
        ExpireDelegationTokenResponse { error_code: codes.token(), ..Default::default() };
    DescribeDelegationToken: describe_delegation_token::DescribeDelegationTokenRequest, _r, codes =>
        DescribeDelegationTokenResponse { error_code: codes.token(), ..Default::default() };
    UpdateFeatures: update_features::UpdateFeaturesRequest, r, codes => UpdateFeaturesResponse {
        error_code: codes.cluster(),
        error_message: codes.message(),
        results: each(r.feature_updates, |update| UpdatableFeatureResult {
            feature: update.feature,
            error_code: codes.cluster(),
            error_message: codes.message(),
            ..Default::default()
        }),
        ..Default::default()
    };
    UnregisterBroker: unregister_broker::UnregisterBrokerRequest, _r, codes => UnregisterBrokerResponse {
        error_code: codes.cluster(),
        error_message: codes.message(),
        ..Default::default()
    };
    UnregisterController: unregister_controller::UnregisterControllerRequest, _r, codes =>
        UnregisterControllerResponse {
            error_code: codes.cluster(),
            error_message: codes.message(),
            ..Default::default()
        };
    AddRaftVoter: add_raft_voter::AddRaftVoterRequest, _r, codes => AddRaftVoterResponse {
        error_code: codes.cluster(),
        error_message: codes.message(),
        ..Default::default()
    };
    RemoveRaftVoter: remove_raft_voter::RemoveRaftVoterRequest, _r, codes => RemoveRaftVoterResponse {
        error_code: codes.cluster(),
        error_message: codes.message(),
        ..Default::default()
    };
    GetTelemetrySubscriptions: get_telemetry_subscriptions::GetTelemetrySubscriptionsRequest, r, codes =>
        GetTelemetrySubscriptionsResponse {
            error_code: codes.cluster(),
            client_instance_id: r.client_instance_id,
            ..Default::default()
        };
    PushTelemetry: push_telemetry::PushTelemetryRequest, _r, codes => PushTelemetryResponse {
        error_code: codes.cluster(),
        ..Default::default()
    };
}
