//! Proves: members of both protocols find their coordinator, share a group's partitions, stay alive while
//! their application is slow, and return after coordinators move and sessions expire.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ottla_client::consumer::assignor::{
    Assignor, GroupAssignment, LastAssignment, MemberAssignment, MemberSubscription, Topics,
};
use ottla_client::consumer::group::{Group, GroupSettings, RebalanceEvent, Subscription};
use ottla_client::metadata::Pattern;
use ottla_client::{Kind, Result};
use ottla_mock::{ApiLimit, Fault, GroupConfig, Match, MockCluster, MockConfig, Reaction, TopicSpec, When};
use ottla_protocol::{ApiKey, ErrorCode};
use parking_lot::Mutex;

use crate::support::application::*;
use crate::support::panics::{capture_log, captured_log};
use crate::support::*;

/// A member that was killed holds up the group: the next one says so after two seconds, and when it is over.
#[tokio::test(start_paused = true)]
async fn a_wait_for_other_members_is_reported() {
    capture_log();
    let cluster =
        group_cluster(GroupConfig { initial_rebalance_delay: ms(3_000), ..GroupConfig::default() }).await;
    let session = ("session.timeout.ms", "20000");
    let mut killed = TestMember::join(&cluster, &[CLASSIC, session, ("client.id", "killed")]).await;
    await_assignment(&mut [&mut killed], &[("t", 6)]).await;
    let is_warning = |line: &&String| line.contains("waiting for the group's other members");
    let warnings = || captured_log().iter().filter(is_warning).cloned().collect::<Vec<_>>();
    assert_eq!(warnings().len(), 0, "nobody else is in the group");
    drop(killed);
    let began = Instant::now();
    let mut next = TestMember::join(&cluster, &[CLASSIC, session]).await;
    until(|| !warnings().is_empty()).await;
    assert_took(began, ms(2_000), ms(2_500));
    await_assignment(&mut [&mut next], &[("t", 6)]).await;
    let warnings = warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let warning = &warnings[0];
    assert!(warning.starts_with("WARN") && warning.contains("killed on "), "{warning}");
    assert!(warning.contains("session.timeout.ms, 20 s"), "{warning}");
    let log = captured_log();
    assert_eq!(log.iter().filter(|line| line.contains("other members is over")).count(), 1, "{log:?}");
}

/// Nobody has to learn that it leaves, and it does not join any more.
#[tokio::test(start_paused = true)]
async fn a_member_that_has_reached_no_coordinator_leaves_at_once() {
    for protocol in [CLASSIC, CONSUMER] {
        let cluster = group_cluster(fast_heartbeats()).await;
        let unavailable = Reaction::Error(ErrorCode::CoordinatorNotAvailable);
        let fault = cluster.inject(Fault::new(Match::api(ApiKey::FindCoordinator), unavailable));
        let member = TestMember::join(&cluster, &[protocol]).await;
        until(|| cluster.fault_hits(fault) > 2).await;
        let began = Instant::now();
        member.group.leave(CALL_TIMEOUT).await.expect("nothing to leave");
        assert!(began.elapsed() < ms(10), "{protocol:?}: {:?}", began.elapsed());
        cluster.clear_faults();
        tokio::time::sleep(ms(5_000)).await;
        assert_eq!(cluster.members("g").len(), 0, "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn members_share_the_partitions_and_take_over_from_leavers() {
    for protocol in [CLASSIC, COOPERATIVE, CONSUMER] {
        let cluster = group_cluster(fast_heartbeats()).await;
        let mut one = TestMember::join(&cluster, &[protocol]).await;
        await_assignment(&mut [&mut one], &[("t", 6)]).await;
        let mut two = TestMember::join(&cluster, &[protocol]).await;
        await_assignment(&mut [&mut one, &mut two], &[("t", 6)]).await;
        assert_eq!((one.owned.len(), two.owned.len(), one.lost), (3, 3, 0));
        let me = one.group.group_metadata();
        assert!(cluster.members("g").iter().any(|member| *member.id == *me.member_id));

        // One revokes everything and leaves; it may return.
        one.group.unsubscribe();
        one.poll();
        assert!(one.owned.is_empty(), "at once: closing does not wait for the application");
        within_deadline(one.group.leave(CALL_TIMEOUT)).await.expect("left");
        assert_eq!(cluster.members("g").len(), 1);
        await_assignment(&mut [&mut two], &[("t", 6)]).await;
        one.group.subscribe(subscription(&["t"])).expect("subscribed");
        await_assignment(&mut [&mut one, &mut two], &[("t", 6)]).await;
        assert_eq!((one.lost, two.lost), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn heartbeats_do_not_wait_for_the_application() {
    for protocol in [CLASSIC, CONSUMER] {
        let groups = GroupConfig { consumer_session_timeout: ms(2_500), ..fast_heartbeats() };
        let cluster = group_cluster(groups).await;
        let quick = [("session.timeout.ms", "2500"), ("heartbeat.interval.ms", "50")];
        let pairs: Vec<_> =
            if protocol == CLASSIC { [protocol].into_iter().chain(quick).collect() } else { vec![protocol] };
        let mut one = TestMember::join(&cluster, &pairs).await;
        await_assignment(&mut [&mut one], &[("t", 6)]).await;
        let before = one.group.group_metadata();
        let started = Instant::now();
        let api = if protocol == CLASSIC { ApiKey::Heartbeat } else { ApiKey::ConsumerGroupHeartbeat };
        cluster.clear_requests();
        until(|| started.elapsed() > ms(5_500)).await;
        assert!(cluster.request_count(None, api) > 20, "{}", cluster.request_count(None, api));
        assert_eq!(one.group.group_metadata(), before);
        assert!(one.group.try_next_event().is_none(), "two sessions later it is still a member");
    }
}

#[tokio::test(start_paused = true)]
async fn a_moving_or_disconnecting_coordinator_revokes_nothing() {
    for protocol in [CLASSIC, CONSUMER] {
        let cluster = group_cluster(fast_heartbeats()).await;
        let mut one = TestMember::join(&cluster, &[protocol]).await;
        let mut two = TestMember::join(&cluster, &[protocol]).await;
        await_assignment(&mut [&mut one, &mut two], &[("t", 6)]).await;
        let at = cluster.coordinator("g");
        let to = (1..=3).find(|broker| Some(*broker) != at).expect("another broker");
        let looks = cluster.request_count(None, ApiKey::FindCoordinator);
        cluster.move_coordinator("g", to).expect("moved");
        until(|| cluster.request_count(None, ApiKey::FindCoordinator) > looks).await;
        await_assignment(&mut [&mut one, &mut two], &[("t", 6)]).await;
        let api = if protocol == CLASSIC { ApiKey::Heartbeat } else { ApiKey::ConsumerGroupHeartbeat };
        let lost = Fault {
            times: Some(4),
            ..Fault::new(Match::api(api), Reaction::Disconnect(When::AfterHandling))
        };
        let lost = cluster.inject(lost);
        until(|| cluster.fault_hits(lost) == 4).await;
        let heartbeats = cluster.request_count(Some(to), api);
        until(|| cluster.request_count(Some(to), api) > heartbeats + 4).await;
        await_assignment(&mut [&mut one, &mut two], &[("t", 6)]).await;
        assert_eq!((one.lost, two.lost), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_loading_coordinator_is_awaited() {
    for protocol in [CLASSIC, CONSUMER] {
        let cluster = group_cluster(fast_heartbeats()).await;
        let api = if protocol == CLASSIC { ApiKey::JoinGroup } else { ApiKey::ConsumerGroupHeartbeat };
        let loading = Reaction::Error(ErrorCode::CoordinatorLoadInProgress);
        let loading = cluster.inject(Fault { times: Some(5), ..Fault::new(Match::api(api), loading) });
        let mut one = TestMember::join(&cluster, &[protocol]).await;
        await_assignment(&mut [&mut one], &[("t", 6)]).await;
        assert_eq!(cluster.fault_hits(loading), 5);
        assert_eq!(cluster.request_count(None, ApiKey::FindCoordinator), 1, "the coordinator is known");
    }
}

#[tokio::test(start_paused = true)]
async fn a_removed_member_loses_its_partitions_and_rejoins() {
    for protocol in [CLASSIC, CONSUMER] {
        let cluster = group_cluster(fast_heartbeats()).await;
        let mut one = TestMember::join(&cluster, &[protocol]).await;
        await_assignment(&mut [&mut one], &[("t", 6)]).await;
        cluster.expire_member("g", &one.group.group_metadata().member_id).expect("expired");
        until(|| {
            one.poll();
            one.lost == 1
        })
        .await;
        await_assignment(&mut [&mut one], &[("t", 6)]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_leaves_after_the_poll_timeout_and_rejoins() {
    for protocol in [CLASSIC, CONSUMER] {
        let cluster = group_cluster(fast_heartbeats()).await;
        let mut one = TestMember::join(&cluster, &[protocol, ("max.poll.interval.ms", "2500")]).await;
        await_assignment(&mut [&mut one], &[("t", 6)]).await;
        {
            let _polling = one.group.enter_poll();
            let started = Instant::now();
            until(|| started.elapsed() > ms(4_000)).await;
            assert_eq!(cluster.members("g").len(), 1, "waiting in a poll counts as polling");
        }
        until(|| cluster.members("g").is_empty()).await;
        let reason = one.group.leave_reason().expect("a reason");
        assert!(reason.contains("max.poll.interval.ms (2500 ms)"), "{reason}");
        one.poll();
        assert_eq!((one.lost, one.owned.len()), (1, 0));
        await_assignment(&mut [&mut one], &[("t", 6)]).await;
        assert!(one.group.leave_reason().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn topics_and_partitions_created_later_are_assigned() {
    for protocol in [CLASSIC, CONSUMER] {
        let config = MockConfig { groups: fast_heartbeats(), auto_create_topics: false, ..in_memory() };
        let cluster = MockCluster::start(config).await.expect("a cluster");
        let mut one = TestMember::join(&cluster, &[protocol]).await;
        until(|| !cluster.members("g").is_empty()).await;
        one.poll();
        assert!(one.owned.is_empty());
        cluster.create_topic(TopicSpec::new("t").partitions(2)).expect("a topic");
        await_assignment(&mut [&mut one], &[("t", 2)]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_pattern_matches_topics_created_later() {
    for protocol in [CLASSIC, CONSUMER] {
        let cluster = group_cluster(fast_heartbeats()).await;
        cluster.create_topic(TopicSpec::new("t2").partitions(1)).expect("a topic");
        let pattern = Pattern::java("(?!t2)t.*").expect("an expression");
        let pairs = [protocol, ("metadata.max.age.ms", "100")];
        let mut one = TestMember::subscribe(&cluster, &pairs, Subscription::Matching(pattern)).await;
        await_assignment(&mut [&mut one], &[("t", 6)]).await;
        cluster.create_topic(TopicSpec::new("t3").partitions(1)).expect("a topic");
        await_assignment(&mut [&mut one], &[("t", 6), ("t3", 1)]).await;
        cluster.delete_topic("t").expect("deleted");
        await_assignment(&mut [&mut one], &[("t3", 1)]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_pattern_matched_by_brokers_names_topics_by_id() {
    let cluster = group_cluster(fast_heartbeats()).await;
    let wanted = Subscription::Regex("t.*".to_owned());
    let mut one = TestMember::subscribe(&cluster, &[CONSUMER], wanted.clone()).await;
    await_assignment(&mut [&mut one], &[("t", 6)]).await;
    cluster.create_topic(TopicSpec::new("t3").partitions(1)).expect("a topic");
    await_assignment(&mut [&mut one], &[("t", 6), ("t3", 1)]).await;

    let classic = group(&cluster, &[CLASSIC]).await;
    let error = classic.subscribe(wanted).expect_err("not with classic");
    assert_eq!(error.kind(), Kind::Config);
}

#[tokio::test(start_paused = true)]
async fn brokers_without_the_protocol_are_distinguished_from_network_errors() {
    let config =
        MockConfig { api_limits: [(ApiKey::ConsumerGroupHeartbeat, ApiLimit::Absent)].into(), ..in_memory() };
    let cluster = MockCluster::start(config).await.expect("a cluster");
    let one = TestMember::join(&cluster, &[CONSUMER]).await;
    let error = one.failure().await;
    assert_eq!(error.code(), Some(ErrorCode::UnsupportedVersion));
    assert!(error.message().contains("set group.protocol=classic"), "{error}");
    one.group.record_poll();
    assert!(one.failure().await.message().contains("set group.protocol=classic"), "each poll reports it");
}

#[tokio::test(start_paused = true)]
async fn a_static_member_returns_to_its_partitions_without_a_rebalance() {
    for protocol in [CLASSIC, CONSUMER] {
        let cluster = group_cluster(fast_heartbeats()).await;
        let mut one = TestMember::join(&cluster, &[protocol, ("group.instance.id", "one")]).await;
        let mut two = TestMember::join(&cluster, &[protocol, ("group.instance.id", "two")]).await;
        await_assignment(&mut [&mut one, &mut two], &[("t", 6)]).await;
        let (had, keeps) = (one.owned.clone(), two.group.group_metadata());
        within_deadline(one.group.leave(CALL_TIMEOUT)).await.expect("left");
        drop(one);
        let mut one = TestMember::join(&cluster, &[protocol, ("group.instance.id", "one")]).await;
        until(|| {
            one.poll();
            two.poll();
            one.owned == had
        })
        .await;
        assert_eq!((two.group.group_metadata(), two.lost), (keeps, 0), "no other member is affected");
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_member_with_the_same_instance_id_is_fenced() {
    let cluster = group_cluster(fast_heartbeats()).await;
    let mut one = TestMember::join(&cluster, &[CLASSIC, ("group.instance.id", "i")]).await;
    await_assignment(&mut [&mut one], &[("t", 6)]).await;
    let mut two = TestMember::join(&cluster, &[CLASSIC, ("group.instance.id", "i")]).await;
    await_assignment(&mut [&mut two], &[("t", 6)]).await;
    assert!(matches!(within_deadline(one.group.next_event()).await, RebalanceEvent::Lost(_)));
    one.group.complete_event();
    let error = one.failure().await;
    assert_eq!((error.kind(), error.code()), (Kind::Fenced, Some(ErrorCode::FencedInstanceId)));

    let mut one =
        TestMember::join(&cluster, &[CONSUMER, ("group.id", "h"), ("group.instance.id", "i")]).await;
    await_assignment(&mut [&mut one], &[("t", 6)]).await;
    let two = TestMember::join(&cluster, &[CONSUMER, ("group.id", "h"), ("group.instance.id", "i")]).await;
    assert_eq!(two.failure().await.code(), Some(ErrorCode::UnreleasedInstanceId));
    assert!(one.group.try_next_event().is_none(), "the first one stays");
}

#[tokio::test(start_paused = true)]
async fn an_unauthorized_member_gets_an_error_and_may_retry() {
    for (protocol, api) in [
        (CLASSIC, ApiKey::JoinGroup),
        (CLASSIC, ApiKey::FindCoordinator),
        (CONSUMER, ApiKey::ConsumerGroupHeartbeat),
        (CONSUMER, ApiKey::FindCoordinator),
    ] {
        let cluster = group_cluster(fast_heartbeats()).await;
        let error = Reaction::Error(ErrorCode::GroupAuthorizationFailed);
        let fault = cluster.inject(Fault::new(Match::api(api), error));
        let mut one = TestMember::join(&cluster, &[protocol]).await;
        assert_eq!(one.failure().await.kind(), Kind::Authorization, "{api:?}");
        one.group.record_poll();
        assert_eq!(one.failure().await.kind(), Kind::Authorization, "{api:?}");
        cluster.remove_fault(fault);
        await_assignment(&mut [&mut one], &[("t", 6)]).await;
    }
}

/// Assigns everything to the member with the greatest id, and records its calls.
#[derive(Debug, Default)]
struct Winner {
    assignments: Mutex<Vec<(usize, i32)>>,
    calls: AtomicUsize,
}

impl Assignor for Winner {
    fn name(&self) -> &str {
        "winner"
    }

    fn user_data(&self, _: &[Arc<str>], last: &LastAssignment) -> Option<bytes::Bytes> {
        Some(format!("{}", last.partitions.len()).into())
    }

    fn on_assignment(&self, assignment: &MemberAssignment, generation: i32) {
        self.assignments.lock().push((assignment.partitions.len(), generation));
    }

    fn assign(&self, topics: &Topics, members: &[MemberSubscription]) -> Result<GroupAssignment> {
        assert!(members.iter().all(|member| member.user_data.is_some()));
        self.calls.fetch_add(1, Ordering::Relaxed);
        let winner = members.iter().max_by_key(|member| &member.member_id).expect("a member");
        let all = topics.iter().flat_map(|(topic, partitions)| {
            partitions.iter().map(|info| (Arc::clone(topic), info.partition))
        });
        let assignment = MemberAssignment { partitions: all.collect(), user_data: None };
        Ok([(Arc::clone(&winner.member_id), assignment)].into())
    }
}

#[tokio::test(start_paused = true)]
async fn a_custom_assignor_assigns_and_is_notified() {
    let cluster = group_cluster(fast_heartbeats()).await;
    let winner = Arc::new(Winner::default());
    let mut one = with_winner(&cluster, &winner, &[("group.id", "g")]).await;
    await_assignment(&mut [&mut one], &[("t", 6)]).await;
    until(|| winner.assignments.lock().last() == Some(&(6, one.group.group_metadata().generation))).await;
}

async fn with_winner(cluster: &MockCluster, winner: &Arc<Winner>, pairs: &[(&str, &str)]) -> TestMember {
    let client = client(cluster, pairs).await;
    let mut settings = GroupSettings::try_from(client.config()).expect("settings");
    settings.assignors = vec![Arc::clone(winner) as Arc<dyn Assignor>];
    let group = Group::start(client, settings);
    group.subscribe(subscription(&["t"])).expect("subscribed");
    TestMember { group, owned: BTreeSet::new(), lost: 0 }
}

/// KIP-814; brokers without it name another leader in the response to the leader.
#[tokio::test(start_paused = true)]
async fn a_returning_static_leader_assigns_nothing() {
    for version in [9, 8] {
        let api_limits = [(ApiKey::JoinGroup, ApiLimit::Max(version))].into();
        let config = MockConfig { api_limits, groups: fast_heartbeats(), ..in_memory() };
        let cluster = MockCluster::start(config).await.unwrap();
        cluster.create_topic(TopicSpec::new("t").partitions(6)).unwrap();
        let pairs = [("group.id", "g"), ("group.instance.id", "i")];
        let winner = Arc::new(Winner::default());
        let mut one = with_winner(&cluster, &winner, &pairs).await;
        await_assignment(&mut [&mut one], &[("t", 6)]).await;
        let (generation, calls) =
            (one.group.group_metadata().generation, winner.calls.load(Ordering::Relaxed));
        within_deadline(one.group.leave(CALL_TIMEOUT)).await.expect("silent");
        drop(one);
        let mut one = with_winner(&cluster, &winner, &pairs).await;
        await_assignment(&mut [&mut one], &[("t", 6)]).await;
        assert_eq!(one.group.group_metadata().generation, generation, "version {version}");
        assert_eq!(winner.calls.load(Ordering::Relaxed), calls, "version {version}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_survives_a_dropped_future() {
    let cluster = group_cluster(fast_heartbeats()).await;
    let one = TestMember::join(&cluster, &[CLASSIC]).await;
    for _ in 0..3 {
        let waited = tokio::time::timeout(ms(1), one.group.next_event()).await;
        drop(waited);
    }
    assert!(matches!(within_deadline(one.group.next_event()).await, RebalanceEvent::Assign { .. }));
    assert!(
        matches!(within_deadline(one.group.next_event()).await, RebalanceEvent::Assign { .. }),
        "until it is acknowledged"
    );
    one.group.complete_event();
    assert!(one.group.try_next_event().is_none());
}

/// A broker processes the requests of a connection one at a time.
#[tokio::test(start_paused = true)]
async fn leaving_does_not_queue_behind_a_pending_join() {
    let cluster = group_cluster(fast_heartbeats()).await;
    let mut one = TestMember::join(&cluster, &[CLASSIC]).await;
    await_assignment(&mut [&mut one], &[("t", 6)]).await;
    // The second member's JoinGroup waits for the first one, whose application does not poll.
    let two = TestMember::join(&cluster, &[CLASSIC, ("client.id", "two")]).await;
    until(|| cluster.members("g").len() == 2).await;
    until(|| cluster.group("g").expect("a group").state == "PreparingRebalance").await;
    let started = Instant::now();
    within_deadline(two.group.leave(CALL_TIMEOUT)).await.expect("left");
    assert!(started.elapsed() < ms(2_000), "{:?}", started.elapsed());
    until(|| cluster.members("g").len() == 1).await;
    await_assignment(&mut [&mut one], &[("t", 6)]).await;
}

#[tokio::test(start_paused = true)]
async fn an_unauthorized_topic_is_reported_to_its_subscriber() {
    for protocol in [CLASSIC, CONSUMER] {
        let cluster = group_cluster(fast_heartbeats()).await;
        let request = Match::api(ApiKey::Metadata).topic("t");
        let fault = cluster.inject(Fault::new(request, Reaction::Error(ErrorCode::TopicAuthorizationFailed)));
        let mut one = TestMember::join(&cluster, &[protocol]).await;
        let error = loop {
            match within_deadline(one.group.next_event()).await {
                RebalanceEvent::Failed(error) => break error,
                other => one.apply(other),
            }
        };
        one.group.complete_event();
        assert_eq!(error.kind(), Kind::Authorization);
        assert_eq!(error.context().topic.as_deref(), Some("t"));
        cluster.remove_fault(fault);
        await_assignment(&mut [&mut one], &[("t", 6)]).await;
    }
}
