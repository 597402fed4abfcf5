//! Tests what a producer reports once its epoch is refused, with both versions of the protocol: the first error
//! has the advice that holds for every later call.

use crate::support::transactions::*;
use crate::support::*;
use ottla_client::Kind;
use ottla_client::group_offsets::CommittedOffset;
use ottla_client::group_offsets::ConsumerGroupMetadata;
use ottla_client::producer::Producer;
use ottla_mock::{Fault, Match, Reaction};
use ottla_protocol::{ApiKey, ErrorCode};

fn once(api: ApiKey, reaction: Reaction) -> Fault {
    Fault::once(Match::api(api), reaction)
}

#[tokio::test(start_paused = true)]
async fn a_fenced_producer_gets_a_fatal_error_and_none_of_its_records_is_visible() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let zombie = initialized(&cluster, &[]).await;
        for delivery in begin(&zombie, &["z1", "z2"]).await {
            offset_of(&delivery).await.expect("written");
        }
        let newer = initialized(&cluster, &[]).await;
        begin(&newer, &["n"]).await;
        // Sent or not, the record of a zombie is never visible.
        let late = zombie.send("t", Some(2), &record(b"z3")).await;
        // The first error is final, whether the record or the commit was refused first.
        let error = commit(&zombie).await.expect_err("fenced");
        assert!(error.is_fatal() && error.kind() == Kind::Fenced, "level {level}: {error}");
        drop(late);
        for error in [
            zombie.begin_transaction().expect_err("fatal"),
            commit(&zombie).await.expect_err("fatal"),
            abort(&zombie).await.expect_err("fatal"),
            zombie.send("t", Some(0), &record(b"z4")).await.expect_err("fatal"),
        ] {
            assert!(error.is_fatal() && error.kind() == Kind::Fenced, "{error}");
            assert!(error.message().contains("close this producer, and create another one"), "{error}");
        }
        within_deadline(zombie.close(ms(1_000))).await.expect("its error was returned before");
        commit(&newer).await.expect("committed");
        assert_eq!(visible_values(&cluster).await, ["n"], "level {level}");
    }
}

/// Nothing but the response tells the sender that it must ask the coordinator, or register the partition.
#[tokio::test(start_paused = true)]
async fn a_record_alone_is_reported_at_once_whether_it_is_written_or_fenced() {
    for level in LEVELS {
        let cluster = cluster_at(level).await;
        let zombie = initialized(&cluster, &[("linger.ms", "0")]).await;
        // The connection to the leader is open from then on, so that the next request needs no task.
        begin(&zombie, &["first"]).await;
        commit(&zombie).await.expect("committed");
        let began = tokio::time::Instant::now();
        for delivery in begin(&zombie, &["second"]).await {
            offset_of(&delivery).await.expect("written");
        }
        commit(&zombie).await.expect("committed");
        initialized(&cluster, &[]).await;
        for delivery in begin(&zombie, &["third"]).await {
            let error = offset_of(&delivery).await.expect_err("fenced");
            assert_eq!(error.kind(), Kind::Fenced, "level {level}: {error}");
        }
        assert!(began.elapsed() < ms(500), "level {level}: it took {:?}", began.elapsed());
    }
}

/// The calls that may notice first that the brokers have aborted a transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Noticing {
    Send,
    SendToAnotherPartition,
    SendOffsets,
    Commit,
    Abort,
    Close,
}

/// Runs a call after the transaction of `producer` has timed out.
async fn notice(producer: &Producer, call: Noticing) -> ottla_client::Result<()> {
    let sent = async |partition| offset_of(&send(producer, partition, "late").await).await.map(drop);
    match call {
        Noticing::Send => sent(0).await,
        Noticing::SendToAnotherPartition => sent(1).await,
        Noticing::SendOffsets => {
            let offset = CommittedOffset { offset: 1, ..CommittedOffset::default() };
            let offsets = [(("t".into(), 0), offset)];
            let group = ConsumerGroupMetadata::without_member("g");
            within_deadline(producer.send_offsets_to_transaction(offsets.into(), &group)).await
        }
        Noticing::Commit => commit(producer).await,
        Noticing::Abort => abort(producer).await,
        Noticing::Close => within_deadline(producer.close(ms(5_000))).await,
    }
}

/// Protocol 2: the abort that the first error asks for succeeds. Protocol 1: the first error is final.
#[tokio::test(start_paused = true)]
async fn after_a_timeout_on_the_brokers_the_first_error_says_what_works() {
    use Noticing::*;
    for level in LEVELS {
        for first in [Send, SendToAnotherPartition, SendOffsets, Commit, Abort, Close] {
            let cluster = cluster_at(level).await;
            let producer = initialized(&cluster, &[("transaction.timeout.ms", "1000")]).await;
            for delivery in begin(&producer, &["a"]).await {
                offset_of(&delivery).await.expect("written");
            }
            tokio::time::sleep(ms(1_500)).await;
            let context = format!("level {level}, {first:?}");
            let noticed = notice(&producer, first).await;
            if first == Close {
                noticed.unwrap_or_else(|error| panic!("{context}: {error}"));
            } else if level == 2 {
                if first == Abort {
                    noticed.unwrap_or_else(|error| panic!("{context}: {error}"));
                } else {
                    let error = noticed.expect_err("aborted by the brokers");
                    assert_eq!(
                        (error.kind(), error.is_fatal()),
                        (Kind::TransactionAbortable, false),
                        "{context}: {error}"
                    );
                    assert!(error.message().contains("call abort_transaction"), "{context}: {error}");
                    assert!(
                        error.message().contains("transaction.timeout.ms (1000 ms)"),
                        "{context}: {error}"
                    );
                    abort(&producer).await.unwrap_or_else(|error| panic!("{context}: {error}"));
                }
                begin(&producer, &["next"]).await;
                commit(&producer).await.unwrap_or_else(|error| panic!("{context}: {error}"));
            } else {
                let message = noticed.expect_err("fenced").message().to_owned();
                assert!(message.contains("transaction.timeout.ms"), "{context}: {message}");
                assert!(message.contains("close this producer"), "{context}: {message}");
                for call in [Send, Commit, Abort] {
                    let error = match call {
                        Send => producer.send("t", Some(0), &record(b"x")).await.map(drop),
                        call => notice(&producer, call).await,
                    };
                    let error = error.expect_err("final");
                    assert!(error.is_fatal() && error.kind() == Kind::Fenced, "{context}: {error}");
                }
                within_deadline(producer.close(ms(5_000))).await.expect("its error was returned before");
            }
            let visible: &[&str] = if level == 2 && first != Close { &["next"] } else { &[] };
            assert_eq!(visible_values(&cluster).await, visible, "{context}");
        }
    }
}

/// The coordinator cannot say what the refused epoch means, so the producer does not go on.
#[tokio::test(start_paused = true)]
async fn a_refused_epoch_that_nobody_can_explain_is_final() {
    let cluster = cluster_at(2).await;
    let producer = initialized(&cluster, &[]).await;
    cluster.inject(once(ApiKey::Produce, Reaction::Error(ErrorCode::InvalidProducerEpoch)));
    let unauthorized = Reaction::Error(ErrorCode::TransactionalIdAuthorizationFailed);
    cluster.inject(Fault::new(Match::api(ApiKey::DescribeTransactions), unauthorized));
    begin(&producer, &["a"]).await;
    let error = commit(&producer).await.expect_err("refused");
    assert_eq!((error.kind(), error.is_fatal()), (Kind::Fenced, true), "{error}");
    assert!(error.message().contains("close this producer"), "{error}");
}

/// While the coordinator is away, nothing is sent with the refused epoch, and the transaction ends as asked.
#[tokio::test(start_paused = true)]
async fn a_refused_epoch_waits_for_the_coordinator() {
    for committed in [true, false] {
        let cluster = cluster_at(2).await;
        let producer = initialized(&cluster, &[]).await;
        cluster.inject(once(ApiKey::Produce, Reaction::Error(ErrorCode::InvalidProducerEpoch)));
        let loading = Reaction::Error(ErrorCode::CoordinatorLoadInProgress);
        let loading = cluster.inject(Fault::new(Match::api(ApiKey::DescribeTransactions), loading));
        let deliveries = begin(&producer, &["a"]).await;
        tokio::time::sleep(ms(2_000)).await;
        assert_eq!(cluster.request_count(None, ApiKey::Produce), 1);
        if committed {
            cluster.remove_fault(loading);
            let error = commit(&producer).await.expect_err("refused");
            assert_eq!(error.kind(), Kind::TransactionAbortable, "{error}");
        }
        abort(&producer).await.expect("aborted");
        for delivery in deliveries {
            offset_of(&delivery).await.expect_err("not written");
        }
        cluster.clear_faults();
        begin(&producer, &["b"]).await;
        commit(&producer).await.expect("committed");
        assert_eq!(visible_values(&cluster).await, ["b"]);
    }
}
