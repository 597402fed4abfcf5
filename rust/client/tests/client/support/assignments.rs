//! Reads the assignments that Java's assignors made for random groups (`tests/java/Assignments.java`).

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use ottla_client::TopicPartition;
use ottla_client::consumer::assignor::{
    MemberSubscription, PartitionInfo, Topics, decode_assignment, decode_subscription,
};

/// One assignment.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) group: u64,
    pub(crate) assignor: String,
    pub(crate) topics: Topics,
    pub(crate) members: Vec<MemberSubscription>,
    /// The encoded subscriptions, in the order of the members.
    pub(crate) subscriptions: Vec<Bytes>,
    pub(crate) assigned: BTreeMap<Arc<str>, Vec<TopicPartition>>,
    /// The encoded assignments.
    pub(crate) assignments: BTreeMap<Arc<str>, Bytes>,
}

fn from_hex(text: &str) -> Bytes {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn racks(replicas: &serde_json::Value) -> Vec<Arc<str>> {
    let mut racks: Vec<Arc<str>> =
        replicas.as_array().unwrap().iter().map(|rack| rack.as_str().unwrap().into()).collect();
    racks.sort();
    racks.dedup();
    racks
}

fn row(line: &str) -> Row {
    let row: serde_json::Value = serde_json::from_str(line).unwrap();
    let topic = |(name, partitions): (&String, &serde_json::Value)| {
        let infos = (0..).zip(partitions.as_array().unwrap());
        let infos = infos.map(|(partition, replicas)| PartitionInfo { partition, racks: racks(replicas) });
        (name.as_str().into(), infos.collect())
    };
    let sent = row["members"].as_array().unwrap();
    let subscriptions: Vec<Bytes> =
        sent.iter().map(|sent| from_hex(sent["subscription"].as_str().unwrap())).collect();
    let members = sent.iter().zip(&subscriptions).map(|(sent, bytes)| {
        let instance = sent["instance"].as_str().map(Arc::from);
        decode_subscription(sent["id"].as_str().unwrap().into(), instance, bytes.clone()).unwrap()
    });
    let assignments: BTreeMap<Arc<str>, Bytes> = row["assigned"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(id, bytes)| (id.as_str().into(), from_hex(bytes.as_str().unwrap())))
        .collect();
    let partitions = |bytes: &Bytes| decode_assignment(bytes.clone()).unwrap().partitions;
    Row {
        group: row["group"].as_u64().unwrap(),
        assignor: row["assignor"].as_str().unwrap().to_owned(),
        topics: row["topics"].as_object().unwrap().iter().map(topic).collect(),
        members: members.collect(),
        assigned: assignments.iter().map(|(id, bytes)| (Arc::clone(id), partitions(bytes))).collect(),
        subscriptions,
        assignments,
    }
}

/// Reads all assignments.
pub(crate) fn rows() -> impl Iterator<Item = Row> {
    let Ok(dir) = std::env::var("OTTLA_ORACLE_DIR") else {
        panic!("OTTLA_ORACLE_DIR is not set: run `make test`, which runs Kafka's Java classes");
    };
    let path = std::path::Path::new(&dir).join("assignments.jsonl");
    let lines = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let rows: Vec<Row> = lines.lines().map(row).collect();
    rows.into_iter()
}
