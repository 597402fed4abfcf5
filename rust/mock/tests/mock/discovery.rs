//! Identities and addresses of brokers and coordinators: DescribeConfigs, FindCoordinator, DescribeGroups and
//! Metadata.

use crate::support::*;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ottla_protocol::messages::describe_groups::DescribeGroupsRequest;
use ottla_protocol::messages::find_coordinator::FindCoordinatorRequest;
use ottla_protocol::messages::metadata::MetadataRequest;

fn codes(codes: impl IntoIterator<Item = i16>) -> Vec<ErrorCode> {
    codes.into_iter().map(ErrorCode::from).collect()
}

#[tokio::test]
async fn a_broker_describes_only_itself() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 2).await;
    let resource = |name: &str| DescribeConfigsResource {
        resource_type: 4,
        resource_name: name.to_owned(),
        configuration_keys: Some(vec!["broker.id".to_owned()]),
    };
    let request = DescribeConfigsRequest {
        resources: ["1", "2", "", "two"].map(resource).to_vec(),
        ..DescribeConfigsRequest::default()
    };
    let results = raw.call(&request, 4).await.results;
    use ErrorCode::{InvalidRequest, None};
    assert_eq!(
        codes(results.iter().map(|result| result.error_code)),
        [InvalidRequest, None, None, InvalidRequest]
    );
    assert_eq!(results[1].configs[0].value.as_deref(), Some("2"));
}

#[tokio::test]
async fn a_group_has_one_coordinator_and_it_is_alive() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let groups: Vec<String> = (0..50).map(|i| format!("group-{i}")).collect();
    let many = FindCoordinatorRequest { coordinator_keys: groups.clone(), ..Default::default() };
    let found = raw.call(&many, 6).await.coordinators;
    let ids: std::collections::BTreeSet<i32> = found.iter().map(|found| found.node_id).collect();
    assert_eq!(ids, [1, 2, 3].into());
    for (group, coordinator) in groups.iter().zip(&found).take(5) {
        let one = FindCoordinatorRequest { key: group.clone(), ..Default::default() };
        for version in 0..=3 {
            assert_eq!(raw.call(&one, version).await.node_id, coordinator.node_id);
        }
        let request = DescribeGroupsRequest { groups: vec![group.clone()], ..Default::default() };
        for broker in 1..=3 {
            let mut raw = RawClient::connect(&cluster, broker).await;
            let expected = match broker == coordinator.node_id {
                true => [ErrorCode::None, ErrorCode::GroupIdNotFound],
                false => [ErrorCode::NotCoordinator; 2],
            };
            let responses = [raw.call(&request, 5).await, raw.call(&request, 6).await];
            assert_eq!(codes(responses.map(|response| response.groups[0].error_code)), expected);
        }
    }
    cluster.stop_broker(2).await.expect("stopped");
    let found = raw.call(&many, 4).await.coordinators;
    assert!(found.iter().all(|found| found.node_id != 2));
}

#[tokio::test]
async fn metadata_has_the_advertised_address() {
    let cluster = cluster().await;
    cluster.advertise(2, "kafka-2.example.com", 19092).expect("a broker");
    assert!(cluster.advertise(9, "nowhere", 1).is_err());
    let mut raw = RawClient::connect(&cluster, 1).await;
    let brokers = raw.call(&MetadataRequest::default(), 13).await.brokers;
    assert_eq!((&*brokers[1].host, brokers[1].port), ("kafka-2.example.com", 19092));
    // The broker still listens at its old address.
    RawClient::connect(&cluster, 2).await;
}
