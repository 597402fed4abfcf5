//! Proves: writes that leaders refuse for lack of in-sync replicas are one warning within two seconds, with the
//! partition, the missing brokers and the remedy, and one line when it is over; the error of the records says
//! the same.

use ottla_client::Kind;
use ottla_mock::{Fault, Match, MockCluster, Reaction, TopicSpec};
use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Instant;

use crate::support::panics::{capture_log, captured_log};
use crate::support::*;

const PARTITIONS: i32 = 20;

/// Three brokers and the topic `r`, whose min.insync.replicas is 2.
async fn guarded_cluster() -> MockCluster {
    let cluster = cluster(1).await;
    let spec = TopicSpec::new("r").partitions(PARTITIONS).config("min.insync.replicas", "2");
    cluster.create_topic(spec).unwrap();
    cluster
}

/// Stops all brokers but the leader of r-0. Returns the leader and the others.
async fn stop_all_but_leader(cluster: &MockCluster) -> (i32, Vec<i32>) {
    let leader = cluster.leader("r", 0).unwrap();
    let others: Vec<i32> = (1..=3).filter(|id| *id != leader).collect();
    for id in &others {
        cluster.stop_broker(*id).await.unwrap();
    }
    (leader, others)
}

/// The lines that contain a text.
fn lines(text: &str) -> Vec<String> {
    captured_log().into_iter().filter(|line| line.contains(text)).collect()
}

async fn send_to_all(producer: &ottla_client::producer::Producer) -> Vec<ottla_client::producer::Delivery> {
    let mut sent = Vec::new();
    for partition in 0..PARTITIONS {
        let record = record(b"v");
        sent.push(producer.send("r", Some(partition), &record).await.expect("accepted"));
    }
    sent
}

/// Regression: the warning came too late and named neither partition nor brokers, and the end of the condition was
/// not reported.
#[tokio::test(start_paused = true)]
async fn a_lack_of_in_sync_replicas_is_one_warning_and_one_end() {
    capture_log();
    let cluster = guarded_cluster().await;
    let producer = producer(&cluster, &[("linger.ms", "0")]).await;
    for delivery in send_to_all(&producer).await {
        offset_of(&delivery).await.expect("written");
    }
    let (_, others) = stop_all_but_leader(&cluster).await;
    let began = Instant::now();
    let sent = send_to_all(&producer).await;
    until(|| !lines("has been refused").is_empty()).await;
    assert_took(began, ms(1_000), ms(2_000));
    tokio::time::sleep(ms(7_000)).await;
    let warnings = lines("has been refused");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let warning = &warnings[0];
    let [first, second] = others[..] else { panic!("{others:?}") };
    for text in [
        "WARN",
        "writing to 20 partitions, such as r-",
        "records wait for delivery.timeout.ms (120000 ms), then fail",
        "NOT_ENOUGH_REPLICAS (19)",
        "1 of 3 replicas is in sync, fewer than the topic's min.insync.replicas",
    ] {
        assert!(warning.contains(text), "{text}: {warning}");
    }
    for broker in [first, second] {
        assert!(warning.contains(&format!("broker {broker} offline")), "{warning}");
    }
    assert!(warning.contains("Bring them back, or lower min.insync.replicas"), "{warning}");
    assert!(lines("has been failing").is_empty(), "{:?}", lines("has been failing"));

    cluster.start_broker(first).await.unwrap();
    for delivery in sent {
        offset_of(&delivery).await.expect("written");
    }
    let ends = lines("recovered after");
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert!(ends[0].starts_with("INFO") && ends[0].contains("writing to 20 partitions"), "{ends:?}");
}

#[tokio::test(start_paused = true)]
async fn the_error_of_refused_records_names_the_missing_replicas() {
    let cluster = guarded_cluster().await;
    let timeouts = [("delivery.timeout.ms", "3000"), ("request.timeout.ms", "1000"), ("linger.ms", "0")];
    let producer = producer(&cluster, &timeouts).await;
    let (leader, others) = stop_all_but_leader(&cluster).await;
    let sent = producer.send("r", Some(0), &record(b"v")).await.expect("accepted");
    let error = offset_of(&sent).await.expect_err("refused");
    assert_eq!((error.kind(), error.code()), (Kind::Timeout, Some(ErrorCode::NotEnoughReplicas)));
    let text = error.to_string();
    let expected = format!(
        "not acknowledged within delivery.timeout.ms (3000 ms): NOT_ENOUGH_REPLICAS (19): 1 of 3 replicas is in sync, fewer than the topic's min.insync.replicas (broker {0} offline, broker {1} offline). Bring them back, or lower min.insync.replicas",
        others[0], others[1]
    );
    assert!(text.contains(&expected), "{text}\n{expected}");
    assert!(text.contains(&format!("broker {leader}")), "{text}");
}

/// No connection is lost and no leader moves: only a refresh shows the replicas that are left.
#[tokio::test(start_paused = true)]
async fn the_metadata_is_refreshed_before_the_warning() {
    capture_log();
    let cluster = guarded_cluster().await;
    let producer = producer(&cluster, &[("linger.ms", "0")]).await;
    let first = producer.send("r", Some(0), &record(b"v")).await.expect("accepted");
    offset_of(&first).await.expect("written");
    let leader = cluster.leader("r", 0).unwrap();
    (1..=3).filter(|id| *id != leader).for_each(|id| cluster.fence_broker(id).unwrap());
    let _sent = producer.send("r", Some(0), &record(b"v")).await.expect("accepted");
    until(|| !lines("has been refused").is_empty()).await;
    assert!(lines("has been refused")[0].contains("1 of 3 replicas is in sync"), "{:?}", lines("writing to"));
}

#[tokio::test(start_paused = true)]
async fn other_lasting_refusals_say_what_they_mean() {
    for (code, meaning) in [
        (ErrorCode::KafkaStorageError, "a log directory of broker 1 is offline"),
        (ErrorCode::NotEnoughReplicasAfterAppend, "written to the leader only"),
    ] {
        capture_log();
        let cluster = guarded_cluster().await;
        cluster.move_leader("r", 0, 1).unwrap();
        let producer = producer(&cluster, &[("linger.ms", "0"), ("enable.idempotence", "false")]).await;
        let fault = cluster.inject(Fault::new(Match::api(ApiKey::Produce), Reaction::Error(code)));
        let began = Instant::now();
        let sent = producer.send("r", Some(0), &record(b"v")).await.expect("accepted");
        until(|| !lines("writing to r-0 has been refused").is_empty()).await;
        assert_took(began, ms(1_000), ms(2_000));
        assert!(lines("has been refused")[0].contains(meaning), "{:?}", lines("has been refused"));
        cluster.remove_fault(fault);
        offset_of(&sent).await.expect("written");
        assert_eq!(lines(" s: writing to r-0").len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_lack_of_replicas_is_not_reported() {
    capture_log();
    let cluster = guarded_cluster().await;
    let producer = producer(&cluster, &[("linger.ms", "0")]).await;
    let refused = Reaction::Error(ErrorCode::NotEnoughReplicas);
    cluster.inject(Fault { times: Some(3), ..Fault::new(Match::api(ApiKey::Produce), refused) });
    let sent = producer.send("r", Some(0), &record(b"v")).await.expect("accepted");
    offset_of(&sent).await.expect("written");
    tokio::time::sleep(ms(5_000)).await;
    assert!(lines("writing to").is_empty(), "{:?}", captured_log());
}
