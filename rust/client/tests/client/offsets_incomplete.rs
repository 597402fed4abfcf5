//! Proves: only the coordinator's word counts as "nothing committed"; a response that lacks a partition is an
//! error and is retried.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::*;
use ottla_client::group_offsets::ConsumerGroupMetadata;
use ottla_client::group_offsets::committed;
use ottla_client::{Client, CoordinatorKind};
use ottla_protocol::ApiKey;
use ottla_protocol::messages::find_coordinator::{Coordinator, FindCoordinatorResponse};
use ottla_protocol::messages::metadata::{MetadataResponse, MetadataResponseBroker};
use ottla_protocol::messages::offset_fetch::{
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};

/// A broker whose first responses lack what was requested: first the group, then the topic, then one of the
/// partitions.
#[tokio::test(start_paused = true)]
async fn an_incomplete_response_does_not_count_as_nothing_committed() {
    let fetches = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&fetches);
    let listener = memory_network().listen();
    let (host, port) = (listener.address().ip().to_string(), i32::from(listener.address().port()));
    let address = serve_at(listener, move |mut stream| {
        let (fetches, host) = (Arc::clone(&counted), host.clone());
        async move {
            let Some(()) = handshake(&mut stream).await else { return };
            while let Some(header) = read_request(&mut stream).await {
                let (version, id) = (header.api_version, header.correlation_id);
                let host = host.clone();
                match ApiKey::try_from(header.api_key).unwrap() {
                    ApiKey::Metadata => {
                        let broker = MetadataResponseBroker { node_id: 1, host, port, rack: None };
                        let response = MetadataResponse { brokers: vec![broker], ..Default::default() };
                        respond(&mut stream, ApiKey::Metadata, version, id, &response).await;
                    }
                    ApiKey::FindCoordinator => {
                        let key = "g".to_owned();
                        let found = Coordinator { key, node_id: 1, host, port, ..Default::default() };
                        let response =
                            FindCoordinatorResponse { coordinators: vec![found], ..Default::default() };
                        respond(&mut stream, ApiKey::FindCoordinator, version, id, &response).await;
                    }
                    api => {
                        let round = fetches.fetch_add(1, Ordering::SeqCst);
                        let response = OffsetFetchResponse { groups: groups(round), ..Default::default() };
                        respond(&mut stream, api, version, id, &response).await;
                    }
                }
            }
        }
    });
    let config = config(&address.to_string(), &[]);
    let client = within_deadline(Client::connect(config, memory_environment(), CALL_TIMEOUT)).await.unwrap();
    let partitions = [0, 1].map(|partition| ("t".into(), partition)).to_vec();
    let member = ConsumerGroupMetadata::without_member("g");
    let found =
        within_deadline(committed(&client, &member, Some(partitions), true, CALL_TIMEOUT)).await.unwrap();
    assert_eq!(found.values().flatten().map(|committed| committed.offset).collect::<Vec<_>>(), [8, 8]);
    assert_eq!(fetches.load(Ordering::SeqCst), 4);
    let coordinator = within_deadline(client.coordinator(CoordinatorKind::Group, "g")).await.unwrap();
    assert_eq!(coordinator.broker(), 1);
}

fn groups(round: usize) -> Vec<OffsetFetchResponseGroup> {
    let partition = |partition_index| OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: 8,
        ..Default::default()
    };
    let topic = |partitions: i32| OffsetFetchResponseTopics {
        name: "t".to_owned(),
        partitions: (0..partitions).map(partition).collect(),
        ..Default::default()
    };
    let group = |topics| OffsetFetchResponseGroup { group_id: "g".to_owned(), topics, error_code: 0 };
    match round {
        0 => vec![],
        1 => vec![group(vec![])],
        2 => vec![group(vec![topic(1)])],
        _ => vec![group(vec![topic(2)])],
    }
}
