//! Proves, for random schedules of members that join, leave and die, coordinators that move, and requests
//! that fail or lose their responses: no partition ever has two readers, no live member is removed, and in
//! the end all partitions are read, evenly. A failure prints its seed: `OTTLA_SEED=n cargo test -p
//! ottla-client --test client group_schedules::`.

use std::collections::BTreeSet;

use ottla_mock::{Fault, Match, MockCluster, Reaction, When};
use ottla_protocol::{ApiKey, ErrorCode};

use crate::support::application::*;
use crate::support::*;

const SEEDS: u64 = 20;
const STEPS: usize = 120;
const MEMBERS: usize = 4;

const APIS: [ApiKey; 6] = [
    ApiKey::JoinGroup,
    ApiKey::SyncGroup,
    ApiKey::Heartbeat,
    ApiKey::LeaveGroup,
    ApiKey::ConsumerGroupHeartbeat,
    ApiKey::FindCoordinator,
];

fn fault(random: &mut fastrand::Rng) -> Fault {
    let on = Match::api(APIS[random.usize(..APIS.len())]).skip(random.u64(..3));
    let then = match random.u8(..9) {
        6 => Reaction::ErrorAfterHandling(ErrorCode::NotCoordinator),
        7 => Reaction::ErrorAfterHandling(ErrorCode::CoordinatorNotAvailable),
        8 => Reaction::ErrorAfterHandling(ErrorCode::CoordinatorLoadInProgress),
        0 => Reaction::Error(ErrorCode::CoordinatorLoadInProgress),
        1 => Reaction::Error(ErrorCode::NotCoordinator),
        2 => Reaction::Error(ErrorCode::CoordinatorNotAvailable),
        3 => Reaction::Disconnect(When::BeforeHandling),
        4 => Reaction::Disconnect(When::AfterHandling),
        _ => Reaction::Delay(ms(random.u64(1..100))),
    };
    Fault::once(on, then)
}

/// Adds, removes or kills a member, or injects a fault.
async fn disrupt(
    cluster: &MockCluster,
    random: &mut fastrand::Rng,
    members: &mut Vec<TestMember>,
    pairs: &[(&str, &str)],
) {
    match random.u8(..10) {
        0 | 1 if members.len() < MEMBERS => members.push(TestMember::join(cluster, pairs).await),
        2 if members.len() > 1 => {
            let mut leaver = members.swap_remove(random.usize(..members.len()));
            leaver.group.unsubscribe();
            leaver.poll();
            within_deadline(leaver.group.leave(CALL_TIMEOUT)).await.expect("left");
        }
        // It dies without leaving, and its session expires later.
        3 if members.len() > 1 => drop(members.swap_remove(random.usize(..members.len()))),
        4 => cluster.move_coordinator("g", random.i32(1..=3)).expect("moved"),
        5..8 => drop(cluster.inject(fault(random))),
        _ => {}
    }
}

fn no_partition_twice(members: &[TestMember]) {
    let mut seen = BTreeSet::new();
    for partition in members.iter().flat_map(|member| &member.owned) {
        assert!(seen.insert(partition), "{partition:?} has two readers");
    }
}

async fn run(seed: u64, pairs: &[(&str, &str)]) {
    let mut random = fastrand::Rng::with_seed(seed);
    let groups = ottla_mock::GroupConfig { consumer_session_timeout: ms(2_000), ..fast_heartbeats() };
    let cluster = group_cluster(groups).await;
    let mut members = vec![TestMember::join(&cluster, pairs).await];
    for _ in 0..STEPS {
        if random.u8(..4) == 0 {
            disrupt(&cluster, &mut random, &mut members, pairs).await;
        }
        for member in &mut members {
            // Some applications are slow.
            if random.bool() {
                member.poll();
            }
        }
        no_partition_twice(&members);
        tokio::time::sleep(ms(random.u64(..15))).await;
    }
    cluster.clear_faults();
    let mut all: Vec<&mut TestMember> = members.iter_mut().collect();
    await_assignment(&mut all, &[("t", 6)]).await;
    for member in &members {
        assert_eq!(member.lost, 0, "it was alive throughout");
    }
}

async fn with_every_seed(pairs: &[(&str, &str)]) {
    every_seed(SEEDS, async |seed| run(seed, pairs).await).await;
}

#[tokio::test(start_paused = true)]
async fn eager() {
    with_every_seed(&[CLASSIC]).await;
}

#[tokio::test(start_paused = true)]
async fn cooperative() {
    with_every_seed(&[CLASSIC, COOPERATIVE]).await;
}

#[tokio::test(start_paused = true)]
async fn consumer_protocol() {
    with_every_seed(&[CONSUMER]).await;
}
