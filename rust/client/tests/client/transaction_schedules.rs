//! Tests random schedules of transactions: with lost, late and failed requests, moving leaders and
//! coordinators and upgrades, each record of a committed transaction is visible once and in order, and no
//! other record is. `OTTLA_SEEDS` sets the number of schedules, `OTTLA_SEED` replays one.

use crate::support::transactions::*;
use crate::support::*;
use ottla_client::Kind;
use ottla_client::producer::Producer;
use ottla_mock::{Fault, Match, MockCluster, MockConfig, Reaction, When};
use ottla_protocol::{ApiKey, ErrorCode};

const TRANSACTIONS: usize = 12;

/// A fault that hits one request.
fn fault(random: &mut fastrand::Rng) -> Fault {
    use ErrorCode as E;
    let apis = [
        ApiKey::Produce,
        ApiKey::Produce,
        ApiKey::EndTxn,
        ApiKey::EndTxn,
        ApiKey::AddPartitionsToTxn,
        ApiKey::InitProducerId,
        ApiKey::FindCoordinator,
    ];
    let api = apis[random.usize(..apis.len())];
    let transient = match api {
        ApiKey::Produce => [E::NotLeaderOrFollower, E::NotEnoughReplicasAfterAppend, E::NotEnoughReplicas],
        ApiKey::FindCoordinator => [E::CoordinatorNotAvailable; 3],
        _ => [E::ConcurrentTransactions, E::NotCoordinator, E::CoordinatorNotAvailable],
    };
    let code = transient[random.usize(..transient.len())];
    let reaction = match random.usize(..7) {
        0 => Reaction::Disconnect(When::BeforeHandling),
        1 => Reaction::Disconnect(When::AfterHandling),
        // A registration that arrives between the end and the next epoch makes the coordinator fence this
        // producer (docs/design/transactions.md).
        2 if api != ApiKey::AddPartitionsToTxn => Reaction::Delay(ms(random.u64(100..3_000))),
        3 => Reaction::ErrorAfterHandling(code),
        4 if api == ApiKey::EndTxn => Reaction::ErrorAfterHandling(E::UnknownServerError),
        5 => Reaction::TruncateFrame,
        _ => Reaction::Error(code),
    };
    Fault::once(Match::api(api).skip(random.u64(..3)), reaction)
}

fn disturb(cluster: &MockCluster, random: &mut fastrand::Rng) {
    for _ in 0..random.usize(..3) {
        cluster.inject(fault(random));
    }
    if random.u8(..4) == 0 {
        // Later batches are in flight when the broker refuses one.
        cluster.inject(Fault::once(Match::api(ApiKey::Produce), Reaction::Delay(ms(50))));
        cluster
            .inject(Fault::once(Match::api(ApiKey::Produce), Reaction::Error(ErrorCode::NotEnoughReplicas)));
    }
    if random.u8(..6) == 0 {
        cluster.move_coordinator(ID, random.i32(1..4)).expect("moved");
    }
    if random.u8(..6) == 0 {
        cluster.move_leader("t", random.i32(0..PARTITIONS), random.i32(1..4)).expect("moved");
    }
    if random.u8(..12) == 0 {
        cluster.set_transaction_version(random.i16(0..3));
    }
}

/// Ends the transaction and returns whether it was committed.
async fn end(producer: &Producer, random: &mut fastrand::Rng) -> bool {
    let aborts = random.u8(..4) == 0;
    let mut committing = !aborts;
    loop {
        let limit = Some(ms(random.u64(50..5_000)));
        let ended = match committing {
            true => within_deadline(producer.commit_transaction(limit)).await,
            false => within_deadline(producer.abort_transaction(limit)).await,
        };
        match ended {
            Ok(()) => return committing,
            Err(error) if error.kind() == Kind::Timeout => {}
            Err(error) if error.kind() == Kind::TransactionAbortable && committing => committing = false,
            Err(error) => panic!("nothing fences this producer: {error:?}"),
        }
    }
}

async fn schedule(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let cluster = cluster_with(MockConfig {
        transaction_version: Some(random.i16(0..3)),
        transaction_completion_time: ms(random.u64(..40)),
        ..in_memory()
    })
    .await;
    // Batches of one record, or of all that wait.
    let batch_size = if random.bool() { "1" } else { "16384" };
    let config = [
        ("request.timeout.ms", "400"),
        ("delivery.timeout.ms", "20000"),
        ("metadata.max.age.ms", "2000"),
        ("batch.size", batch_size),
    ];
    let producer = initialized(&cluster, &config).await;
    let mut expected = vec![Vec::new(); usize::try_from(PARTITIONS).expect("a number")];
    for transaction in 0..TRANSACTIONS {
        disturb(&cluster, &mut random);
        producer.begin_transaction().expect("begun");
        let mut sent = Vec::new();
        for n in 0..random.usize(..12) {
            let (partition, value) = (random.i32(0..PARTITIONS), format!("{transaction}/{n}"));
            if within_deadline(producer.send("t", Some(partition), &record(value.as_bytes()))).await.is_err()
            {
                // The transaction has failed already.
                break;
            }
            sent.push((partition, value));
            if random.u8(..8) == 0 {
                tokio::time::sleep(ms(random.u64(..600))).await;
            }
        }
        if end(&producer, &mut random).await {
            for (partition, value) in sent {
                expected[usize::try_from(partition).expect("an index")].push(value);
            }
        }
    }
    // Requests that were delayed arrive.
    tokio::time::sleep(ms(5_000)).await;
    assert_eq!(visible(&cluster).await, expected);
}

#[tokio::test(start_paused = true)]
async fn committed_transactions_are_visible_once_in_order_and_no_others() {
    every_seed(60, schedule).await;
}
