//! Proves: concurrent callers share one lookup of a coordinator, which is kept until an error
//! invalidates it and then looked up again; a coordinator that is loading is waited for.

use crate::support::*;
use ottla_client::{Client, Coordinator, CoordinatorKind, Error, Kind};
use ottla_mock::{Fault, Match, MockCluster, Reaction, When};
use ottla_protocol::messages::describe_groups::DescribeGroupsRequest;
use ottla_protocol::{ApiKey, ErrorCode};

const GROUP: CoordinatorKind = CoordinatorKind::Group;
const FIND: ApiKey = ApiKey::FindCoordinator;

fn lookups(cluster: &MockCluster) -> u64 {
    cluster.request_count(None, FIND)
}

async fn find(client: &Client, key: &str) -> Coordinator {
    within_deadline(client.coordinator(GROUP, key)).await.expect("a coordinator")
}

/// Sends one request to the coordinator and checks its error code.
async fn ask(coordinator: Coordinator) -> Result<i32, Error> {
    let request = DescribeGroupsRequest { groups: vec!["g".to_owned()], ..Default::default() };
    let version = coordinator.version::<DescribeGroupsRequest>(5)?;
    let response = coordinator.request(&request, version).await?;
    match ErrorCode::from(response.groups[0].error_code) {
        ErrorCode::None | ErrorCode::GroupIdNotFound => Ok(coordinator.broker()),
        code => Err(coordinator.refusal(code)),
    }
}

async fn asked(client: &Client) -> Result<i32, Error> {
    within_deadline(client.with_coordinator("asking", (GROUP, "g"), CALL_TIMEOUT, ask)).await
}

#[tokio::test(start_paused = true)]
async fn one_lookup_serves_all_callers_and_is_kept() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    cluster.inject(Fault::once(Match::api(FIND), Reaction::Delay(ms(50))));
    let asking: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.coordinator(GROUP, "g").await.map(|found| found.broker()) })
        })
        .collect();
    let mut brokers = Vec::new();
    for asked in asking {
        brokers.push(within_deadline(asked).await.unwrap().expect("a coordinator"));
    }
    brokers.dedup();
    assert_eq!(brokers.len(), 1);
    for _ in 0..5 {
        assert_eq!(asked(&client).await.expect("a response"), brokers[0]);
    }
    assert_eq!(lookups(&cluster), 1);
    // Its requests do not share the connection for data.
    let roles = client
        .connections()
        .iter()
        .filter(|c| c.role == ottla_client::connection::ConnectionRole::Coordinator)
        .count();
    assert_eq!(roles, 1);
    find(&client, "another").await;
    assert_eq!(lookups(&cluster), 2, "each key has its own");
}

#[tokio::test(start_paused = true)]
async fn all_waiters_for_a_failed_lookup_get_its_error() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    cluster.inject(Fault::once(Match::api(FIND), Reaction::Delay(ms(200))));
    let refused = Match::api(FIND);
    cluster.inject(Fault::once(refused, Reaction::Error(ErrorCode::GroupAuthorizationFailed)));
    let waiting: Vec<_> = (0..10)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.coordinator(GROUP, "g").await.map(|found| found.broker()) })
        })
        .collect();
    for waiting in waiting {
        let error = within_deadline(waiting).await.unwrap().expect_err("refused");
        assert_eq!(error.kind(), Kind::Authorization, "{error}");
        assert!(error.message().contains("no coordinator of the group g"), "{error}");
    }
    assert_eq!(lookups(&cluster), 1);
    // Only callers that waited for the failed lookup get its error.
    find(&client, "g").await;
    assert_eq!(lookups(&cluster), 2);
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_moved_is_looked_up_again() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    for (round, code) in
        [ErrorCode::NotCoordinator, ErrorCode::CoordinatorNotAvailable].into_iter().enumerate()
    {
        cluster.inject(Fault::once(Match::api(ApiKey::DescribeGroups), Reaction::Error(code)));
        asked(&client).await.expect("a response");
        assert_eq!(lookups(&cluster), 2 + round as u64);
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_response_does_not_remove_a_newer_entry() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let old = find(&client, "g").await;
    client.forget_coordinator(GROUP, "g", old.broker());
    let new = find(&client, "g").await;
    assert_eq!(lookups(&cluster), 2);
    // The same broker, found by a new lookup: an error of the old entry does not affect it.
    assert_eq!(old.refusal(ErrorCode::NotCoordinator).context().broker, Some(old.broker()));
    client.forget_coordinator(GROUP, "g", new.broker() + 1);
    find(&client, "g").await;
    assert_eq!(lookups(&cluster), 2);
    new.forget();
    find(&client, "g").await;
    assert_eq!(lookups(&cluster), 3);
}

#[tokio::test(start_paused = true)]
async fn a_loading_coordinator_is_waited_for_and_not_looked_up() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let loading = Fault {
        times: Some(4),
        ..Fault::new(
            Match::api(ApiKey::DescribeGroups),
            Reaction::Error(ErrorCode::CoordinatorLoadInProgress),
        )
    };
    let loading = cluster.inject(loading);
    asked(&client).await.expect("a response");
    assert_eq!((cluster.fault_hits(loading), lookups(&cluster)), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_causes_a_new_lookup() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let first = asked(&client).await.expect("a response");
    let cut = Match::api(ApiKey::DescribeGroups);
    cluster.inject(Fault::once(cut, Reaction::Disconnect(When::BeforeHandling)));
    assert_eq!(asked(&client).await.expect("a response"), first);
    assert_eq!(lookups(&cluster), 2);
    cluster.stop_broker(first).await.unwrap();
    assert_ne!(asked(&client).await.expect("a response"), first);
}

#[tokio::test(start_paused = true)]
async fn lookups_are_retried_until_the_timeout() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let none = Reaction::Error(ErrorCode::CoordinatorNotAvailable);
    let some = cluster.inject(Fault { times: Some(3), ..Fault::new(Match::api(FIND), none.clone()) });
    asked(&client).await.expect("a response");
    assert_eq!(cluster.fault_hits(some), 3);
    cluster.inject(Fault::new(Match::api(FIND), none));
    client.forget_coordinator(GROUP, "g", find(&client, "g").await.broker());
    let call = client.with_coordinator("asking the group", (GROUP, "g"), ms(200), ask);
    let error = within_deadline(call).await.expect_err("no coordinator");
    assert_eq!(
        (error.kind(), error.code()),
        (Kind::Timeout, Some(ErrorCode::CoordinatorNotAvailable)),
        "{error}"
    );
}
