//! Proves: a KIP-848 member that waits for partitions of a member that was killed says so within two seconds,
//! names that member, and says when it is over; an idle member of a full group says nothing.

use ottla_mock::{Fault, GroupConfig, Match, Reaction};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

use crate::support::application::*;
use crate::support::panics::{capture_log, captured_log};
use crate::support::*;

fn lines(text: &str) -> Vec<String> {
    captured_log().into_iter().filter(|line| line.contains(text)).collect()
}

fn warnings() -> Vec<String> {
    lines("which other members have not released")
}

/// Regression: nothing was reported until the session of the killed member expired, 45 s later by default.
#[tokio::test(start_paused = true)]
async fn a_wait_for_partitions_of_a_killed_member_is_reported() {
    capture_log();
    let cluster =
        group_cluster(GroupConfig { consumer_session_timeout: ms(20_000), ..fast_heartbeats() }).await;
    let mut killed = TestMember::join(&cluster, &[CONSUMER, ("client.id", "killed")]).await;
    await_assignment(&mut [&mut killed], &[("t", 6)]).await;
    let id = killed.group.group_metadata().member_id;
    tokio::time::sleep(ms(3_000)).await;
    assert!(warnings().is_empty(), "it has all of its partitions");
    drop(killed);
    let began = Instant::now();
    let mut next = TestMember::join(&cluster, &[CONSUMER]).await;
    until(|| !warnings().is_empty()).await;
    assert_took(began, ms(1_000), ms(2_000));
    await_assignment(&mut [&mut next], &[("t", 6)]).await;
    until(|| !lines("the wait for partitions of other members is over").is_empty()).await;
    let warnings = warnings();
    assert_eq!(warnings.len(), 2, "at the beginning, and ten seconds later: {warnings:?}");
    for text in ["WARN", "3 of its 3 partitions, such as t-", "killed on ", &format!("(member {id})")] {
        assert!(warnings[0].contains(text), "{text}: {}", warnings[0]);
    }
    assert!(warnings[0].contains("until its session expires"), "{}", warnings[0]);
    let ends = lines("the wait for partitions of other members is over");
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert!(ends[0].starts_with("INFO"), "{ends:?}");
    assert!(cluster.request_count(None, ApiKey::ConsumerGroupDescribe) <= 6, "with pauses");
}

#[tokio::test(start_paused = true)]
async fn a_member_that_has_some_partitions_reports_those_that_it_lacks() {
    capture_log();
    let cluster = group_cluster(fast_heartbeats()).await;
    let mut alive = TestMember::join(&cluster, &[CONSUMER]).await;
    let mut killed = TestMember::join(&cluster, &[CONSUMER, ("client.id", "killed")]).await;
    await_assignment(&mut [&mut alive, &mut killed], &[("t", 6)]).await;
    drop(killed);
    let mut next = TestMember::join(&cluster, &[CONSUMER]).await;
    until(|| {
        alive.poll();
        next.poll();
        !warnings().is_empty()
    })
    .await;
    assert_eq!(next.owned.len(), 1);
    assert!(warnings()[0].contains("1 of its 2 partitions"), "{:?}", warnings());
    assert!(warnings()[0].contains(": killed on "), "{:?}", warnings());
}

/// It has no assigned partition in common with the others: the coordinator leaves out what it gives up.
#[tokio::test(start_paused = true)]
async fn a_member_whose_application_does_not_poll_is_named() {
    capture_log();
    let cluster = group_cluster(fast_heartbeats()).await;
    let mut busy = TestMember::join(&cluster, &[CONSUMER, ("client.id", "busy")]).await;
    await_assignment(&mut [&mut busy], &[("t", 6)]).await;
    let began = Instant::now();
    let _next = TestMember::join(&cluster, &[CONSUMER]).await;
    until(|| !warnings().is_empty()).await;
    assert_took(began, ms(1_000), ms(2_000));
    assert!(warnings()[0].contains(": busy on "), "{:?}", warnings());
}

#[tokio::test(start_paused = true)]
async fn a_group_with_more_members_than_partitions_is_quiet() {
    capture_log();
    let cluster = group_cluster(fast_heartbeats()).await;
    let mut members = Vec::new();
    for _ in 0..8 {
        members.push(TestMember::join(&cluster, &[CONSUMER]).await);
    }
    let began = Instant::now();
    while began.elapsed() < ms(30_000) {
        members.iter_mut().for_each(TestMember::poll);
        tokio::time::sleep(ms(20)).await;
    }
    assert_eq!(members.iter().map(|member| member.owned.len()).sum::<usize>(), 6);
    assert!(warnings().is_empty() && lines("has no partitions").is_empty(), "{:?}", captured_log());
    assert!(cluster.request_count(None, ApiKey::ConsumerGroupDescribe) <= 16, "once or twice each");
}

#[tokio::test(start_paused = true)]
async fn a_refused_description_is_no_error() {
    capture_log();
    let cluster = group_cluster(fast_heartbeats()).await;
    let describe = Match::api(ApiKey::ConsumerGroupDescribe);
    cluster.inject(Fault::new(describe, Reaction::Error(ErrorCode::GroupAuthorizationFailed)));
    let mut killed = TestMember::join(&cluster, &[CONSUMER]).await;
    await_assignment(&mut [&mut killed], &[("t", 6)]).await;
    drop(killed);
    let mut next = TestMember::join(&cluster, &[CONSUMER]).await;
    await_assignment(&mut [&mut next], &[("t", 6)]).await;
    assert!(warnings().is_empty());
    let unknown = lines("this member has no partitions");
    assert_eq!(unknown.len(), 1, "{unknown:?}");
    assert!(
        unknown[0].starts_with("INFO") && unknown[0].contains("GROUP_AUTHORIZATION_FAILED"),
        "{unknown:?}"
    );
}
