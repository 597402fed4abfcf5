//! Proves: a coordinator is looked up once for all who ask, kept until an error says otherwise, and
//! looked up again then; one that is loading is waited for.

use crate::support::*;
use ottla_client::{Client, Coordinator, CoordinatorKind, Error, Kind};
use ottla_mock::{Fault, Match, MockCluster, Reaction, When};
use ottla_protocol::messages::describe_groups::DescribeGroupsRequest;
use ottla_protocol::{ApiKey, ErrorCode};

const GROUP: CoordinatorKind = CoordinatorKind::Group;
const FIND: ApiKey = ApiKey::FindCoordinator;

fn looks(cluster: &MockCluster) -> u64 {
    cluster.request_count(None, FIND)
}

async fn find(client: &Client, key: &str) -> Coordinator {
    within_deadline(client.coordinator(GROUP, key)).await.expect("a coordinator")
}

/// One request to the coordinator, judged.
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
async fn one_look_serves_all_who_ask_and_is_kept() {
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
        assert_eq!(asked(&client).await.expect("an answer"), brokers[0]);
    }
    assert_eq!(looks(&cluster), 1);
    // Requests to it do not share the connection of those for data.
    let lanes =
        client.connections().iter().filter(|c| c.lane == ottla_client::connection::Lane::Coordinator).count();
    assert_eq!(lanes, 1);
    find(&client, "another").await;
    assert_eq!(looks(&cluster), 2, "each key has its own");
}

#[tokio::test(start_paused = true)]
async fn all_who_wait_for_a_look_that_fails_get_its_error() {
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
    assert_eq!(looks(&cluster), 1);
    // A failure is not remembered beyond those who waited for it.
    find(&client, "g").await;
    assert_eq!(looks(&cluster), 2);
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_is_not_the_coordinator_any_more_is_asked_about_again() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    for (round, code) in
        [ErrorCode::NotCoordinator, ErrorCode::CoordinatorNotAvailable].into_iter().enumerate()
    {
        cluster.inject(Fault::once(Match::api(ApiKey::DescribeGroups), Reaction::Error(code)));
        asked(&client).await.expect("an answer");
        assert_eq!(looks(&cluster), 2 + round as u64);
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_answer_does_not_forget_what_was_found_since() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let old = find(&client, "g").await;
    client.forget_coordinator(GROUP, "g", old.broker());
    let new = find(&client, "g").await;
    assert_eq!(looks(&cluster), 2);
    // The same broker, found anew: the first one's refusal says nothing about that.
    assert_eq!(old.refusal(ErrorCode::NotCoordinator).context().broker, Some(old.broker()));
    client.forget_coordinator(GROUP, "g", new.broker() + 1);
    find(&client, "g").await;
    assert_eq!(looks(&cluster), 2);
    new.forget();
    find(&client, "g").await;
    assert_eq!(looks(&cluster), 3);
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_loads_is_waited_for_and_not_looked_up() {
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
    asked(&client).await.expect("an answer");
    assert_eq!((cluster.fault_hits(loading), looks(&cluster)), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_has_it_looked_up_again() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let first = asked(&client).await.expect("an answer");
    let cut = Match::api(ApiKey::DescribeGroups);
    cluster.inject(Fault::once(cut, Reaction::Disconnect(When::BeforeHandling)));
    assert_eq!(asked(&client).await.expect("an answer"), first);
    assert_eq!(looks(&cluster), 2);
    cluster.stop_broker(first).await.unwrap();
    assert_ne!(asked(&client).await.expect("an answer"), first);
}

#[tokio::test(start_paused = true)]
async fn looking_is_tried_again_while_there_is_none_and_ends_in_time() {
    let cluster = cluster(1).await;
    let client = client(&cluster, &[]).await;
    let none = Reaction::Error(ErrorCode::CoordinatorNotAvailable);
    let some = cluster.inject(Fault { times: Some(3), ..Fault::new(Match::api(FIND), none.clone()) });
    asked(&client).await.expect("an answer");
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
