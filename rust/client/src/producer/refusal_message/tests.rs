use std::sync::Arc;

use ottla_protocol::messages::metadata::{
    MetadataResponse, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::wire::Uuid;

use super::*;

/// The metadata of t-0 with these replicas.
fn snapshot(replicas: &[i32], isr: &[i32], offline: &[i32]) -> Snapshot {
    let partition = MetadataResponsePartition {
        replica_nodes: replicas.to_vec(),
        isr_nodes: isr.to_vec(),
        offline_replicas: offline.to_vec(),
        ..Default::default()
    };
    let topic = MetadataResponseTopic {
        name: Some("t".to_owned()),
        topic_id: Uuid([1; 16]),
        partitions: vec![partition],
        ..Default::default()
    };
    Snapshot::default().updated(MetadataResponse { topics: vec![topic], ..Default::default() }, true)
}

fn message(snapshot: &Snapshot, code: ErrorCode, message: Option<&str>) -> String {
    refusal(snapshot, &(Arc::from("t"), 0), (code, message), 1).to_string()
}

#[test]
fn missing_replicas_are_named_with_their_state() {
    let code = ErrorCode::NotEnoughReplicas;
    for (replicas, isr, offline, expected) in [
        (
            &[3, 1, 2][..],
            &[1][..],
            &[3][..],
            "1 of 3 replicas is in sync, fewer than the topic's min.insync.replicas (broker 2 not in sync, broker 3 offline). Bring them back, or lower min.insync.replicas",
        ),
        (
            &[1, 2, 3],
            &[1, 3],
            &[],
            "2 of 3 replicas are in sync, fewer than the topic's min.insync.replicas (broker 2 not in sync). Bring it back, or lower",
        ),
        (&[1], &[1], &[], "it has one replica, and the topic's min.insync.replicas is higher"),
        (&[1, 2], &[1, 2], &[], "although all 2 were when the metadata was last read"),
        (&[], &[], &[], "Bring the brokers of the missing replicas back"),
    ] {
        let text = message(&snapshot(replicas, isr, offline), code, None);
        assert!(text.starts_with("NOT_ENOUGH_REPLICAS (19): ") && text.contains(expected), "{text}");
    }
    let text = message(&Snapshot::default(), code, None);
    assert!(text.contains("fewer replicas are in sync than the topic's min.insync.replicas"), "{text}");
    let many: Vec<i32> = (1..=100).collect();
    let text = message(&snapshot(&many, &[1], &[]), code, None);
    assert!(text.contains("broker 11 not in sync and 89 more)"), "{text}");
}

/// A broker that cannot verify a transaction responds with this code, too, and says so.
#[test]
fn the_brokers_own_message_is_kept() {
    let why = "Unable to verify the partition has been added to the transaction.";
    let text = message(&snapshot(&[1, 2], &[1], &[2]), ErrorCode::NotEnoughReplicas, Some(why));
    assert!(text.starts_with(&format!("{why}: NOT_ENOUGH_REPLICAS")) && !text.contains("1 of 2"), "{text}");
}

#[test]
fn other_codes_say_what_they_mean_for_a_write() {
    let snapshot = snapshot(&[1, 2], &[1, 2], &[]);
    for (code, expected) in [
        (
            ErrorCode::NotEnoughReplicasAfterAppend,
            "NOT_ENOUGH_REPLICAS_AFTER_APPEND (20): written to the leader only: ",
        ),
        (ErrorCode::KafkaStorageError, "KAFKA_STORAGE_ERROR (56): a log directory of broker 1 is offline"),
        (
            ErrorCode::RequestTimedOut,
            "REQUEST_TIMED_OUT (7): the in-sync replicas (broker 1, broker 2) did not confirm",
        ),
        (ErrorCode::NotLeaderOrFollower, "NOT_LEADER_OR_FOLLOWER (6): the broker is no longer the leader"),
    ] {
        let text = message(&snapshot, code, None);
        assert!(text.starts_with(expected), "{text}");
    }
}
