//! Proves: range and roundrobin assign as Java's do, with and without racks; subscriptions and assignments
//! are encoded as by Java; no assignor, custom ones included, assigns a partition to two members or takes
//! it from an owner before it is revoked.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::assignments::{Row, rows};
use bytes::Bytes;
use ottla_client::consumer::assignor::{
    Assignor, GroupAssignment, MemberAssignment, MemberSubscription, PartitionInfo, Subscriptions, Topics,
    by_name, decode_assignment, decode_subscription, encode_assignment, encode_subscription, plan,
};
use ottla_client::{Error, Kind, TopicPartition};

fn matching_rows(name: &str) -> usize {
    let assignor = by_name(name).unwrap();
    let mut checked = 0;
    for row in rows().filter(|row| row.assignor == name) {
        let assigned = assignor.assign(&row.topics, &row.members).unwrap();
        let assigned: BTreeMap<_, _> =
            assigned.into_iter().map(|(id, assigned)| (id, assigned.partitions)).collect();
        assert_eq!(assigned, row.assigned, "group {} {:#?} {:#?}", row.group, row.topics, row.members);
        checked += 1;
    }
    checked
}

#[test]
fn range_assigns_as_javas() {
    assert!(matching_rows("range") >= 400);
    assert!(rows().any(|row| row.assignor == "range" && row.members.iter().any(|m| m.rack.is_some())));
}

#[test]
fn roundrobin_assigns_as_javas() {
    assert!(matching_rows("roundrobin") >= 400);
}

#[test]
fn subscriptions_and_assignments_are_encoded_as_by_java() {
    for row in rows() {
        for (member, bytes) in row.members.iter().zip(&row.subscriptions) {
            assert_eq!(&encode_subscription(member).unwrap(), bytes, "{member:?}");
        }
        for (id, bytes) in &row.assignments {
            let partitions = row.assigned[id].clone();
            let assigned = MemberAssignment { partitions, user_data: None };
            assert_eq!(&encode_assignment(&assigned).unwrap(), bytes, "{assigned:?}");
        }
    }
}

fn subscription(bytes: &'static [u8]) -> Result<MemberSubscription, Error> {
    decode_subscription("m".into(), None, Bytes::from_static(bytes))
}

#[test]
fn older_and_newer_versions_are_decoded() {
    // Version 0: topics and user data only.
    let member = subscription(b"\0\0\0\0\0\x01\0\x01t\0\0\0\x02hi").unwrap();
    assert_eq!((member.topics, member.generation), (vec![Arc::from("t")], -1));
    assert_eq!(member.user_data, Some(Bytes::from_static(b"hi")));
    // Version 1: owned partitions as well.
    let member =
        subscription(b"\0\x01\0\0\0\0\xff\xff\xff\xff\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\x07").unwrap();
    assert_eq!(member.owned, [tp("t", 7)]);
    // Version 9 has unknown fields.
    let subscription = MemberSubscription { topics: vec!["t".into()], generation: 4, ..Default::default() };
    let mut bytes = encode_subscription(&subscription).unwrap().to_vec();
    bytes[1] = 9;
    bytes.extend(b"more");
    assert_eq!(decode_subscription("".into(), None, bytes.into()).unwrap(), subscription);
    assert_eq!(decode_assignment(Bytes::new()).unwrap(), MemberAssignment::default());
}

#[test]
fn a_malformed_subscription_is_an_error_with_the_member_id() {
    for bytes in [&b""[..], b"\0", b"\xff\xff\0\0\0\0", b"\0\x03\x7f\xff\xff\xff", b"\0\0\0\0\0\x01\0\xff"] {
        let error = subscription(bytes).unwrap_err();
        assert_eq!(error.kind(), Kind::Protocol);
        assert!(error.message().contains("member m"), "{error}");
    }
    decode_assignment(Bytes::from_static(b"\0\0\0\0\0\x01")).unwrap_err();
}

fn tp(topic: &str, partition: i32) -> TopicPartition {
    (topic.into(), partition)
}

fn topics(all: &[(&str, i32)]) -> Topics {
    let infos = |count| (0..count).map(|partition| PartitionInfo { partition, racks: Vec::new() }).collect();
    all.iter().map(|(topic, count)| ((*topic).into(), infos(*count))).collect()
}

fn member(id: &str, topics: &[&str], owned: &[TopicPartition]) -> MemberSubscription {
    MemberSubscription {
        member_id: id.into(),
        topics: topics.iter().map(|topic| Arc::from(*topic)).collect(),
        owned: owned.to_vec(),
        generation: 1,
        ..Default::default()
    }
}

/// A custom assignor with a fixed result.
#[derive(Debug)]
struct FixedAssignor(Vec<(&'static str, Vec<TopicPartition>)>, bool);

impl Assignor for FixedAssignor {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn cooperative(&self) -> bool {
        self.1
    }

    fn assign(&self, _: &Topics, _: &[MemberSubscription]) -> Result<GroupAssignment, Error> {
        let assigned = self.0.iter().map(|(id, partitions)| {
            (Arc::from(*id), MemberAssignment { partitions: partitions.clone(), user_data: None })
        });
        Ok(assigned.collect())
    }
}

fn planned(
    assignor: FixedAssignor,
    members: Vec<MemberSubscription>,
) -> Result<Vec<Vec<TopicPartition>>, Error> {
    let plans = plan(&assignor, &topics(&[("t", 4), ("u", 1)]), &Subscriptions { members })?;
    Ok(plans.into_iter().map(|plan| decode_assignment(plan.assignment).unwrap().partitions).collect())
}

#[test]
fn partitions_that_another_member_owns_are_withheld() {
    let moved = vec![("a", vec![tp("t", 0), tp("t", 2)]), ("b", vec![tp("t", 1), tp("t", 3)])];
    let members = vec![
        member("a", &["t"], &[tp("t", 0), tp("t", 1)]),
        // It reports the other member's partition as its own, too: that one keeps it until it is revoked.
        member("b", &["t"], &[tp("t", 3), tp("t", 0)]),
    ];
    let withheld = planned(FixedAssignor(moved.clone(), true), members.clone()).unwrap();
    assert_eq!(withheld, [vec![tp("t", 0), tp("t", 2)], vec![tp("t", 3)]]);
    // An eager group has revoked everything by then.
    let eager = planned(FixedAssignor(moved.clone(), false), members).unwrap();
    assert_eq!(eager, [moved[0].1.clone(), moved[1].1.clone()]);
}

#[test]
fn an_assignors_mistakes_are_errors_with_its_name() {
    let members = || vec![member("a", &["t"], &[]), member("b", &["t"], &[])];
    for (assignor, message) in [
        (vec![("a", vec![tp("t", 0)]), ("b", vec![tp("t", 0)])], "t-0 is assigned to two members"),
        (vec![("a", vec![tp("t", 1), tp("t", 1)])], "t-1 is assigned to two members"),
        (vec![("a", vec![tp("t", 9)])], "partition t-9 does not exist"),
        (vec![("a", vec![tp("u", 0)])], "u-0 is assigned to a, which does not subscribe to u"),
        (vec![("c", vec![tp("t", 0)])], "the group has no member c"),
    ] {
        let error = planned(FixedAssignor(assignor, true), members()).unwrap_err();
        assert_eq!(error.message(), format!("the assignor fixed: {message}"));
    }
    // A member without an entry gets an empty assignment.
    assert_eq!(planned(FixedAssignor(vec![], true), members()).unwrap(), [vec![], vec![]]);
}

#[test]
fn a_topic_without_partitions_or_subscribers_is_not_assigned() {
    for name in ["range", "roundrobin", "sticky", "cooperative-sticky"] {
        let members = [member("a", &["t", "gone"], &[]), member("b", &[], &[])];
        let assigned = by_name(name).unwrap().assign(&topics(&[("t", 2), ("u", 3)]), &members).unwrap();
        assert_eq!(assigned["a"].partitions, [tp("t", 0), tp("t", 1)], "{name}");
        assert_eq!(assigned["b"].partitions, [], "{name}");
        assert!(by_name(name).unwrap().assign(&topics(&[("t", 2)]), &[]).unwrap().is_empty());
    }
}

#[test]
fn assignors_have_kafkas_names_and_javas() {
    let range = by_name("org.apache.kafka.clients.consumer.RangeAssignor").unwrap();
    assert_eq!((range.name(), range.cooperative()), ("range", false));
    assert!(by_name("Range").is_none() && by_name("org.apache.kafka.clients.consumer.range2").is_none());
}

/// The leader's input from the coordinator and its output.
#[test]
fn a_leader_plans_from_its_join_group_response() {
    let row: Row = rows().find(|row| row.assignor == "range" && row.members.len() > 3).unwrap();
    let members: Vec<_> = row
        .members
        .iter()
        .zip(&row.subscriptions)
        .map(|(member, bytes)| ottla_protocol::messages::join_group::JoinGroupResponseMember {
            member_id: member.member_id.to_string(),
            group_instance_id: member.instance_id.as_deref().map(str::to_owned),
            metadata: bytes.clone(),
        })
        .collect();
    let subscriptions = Subscriptions::decode(&members).unwrap();
    assert!(row.topics.keys().all(|topic| subscriptions.topics().contains(topic)));
    let plans = plan(&*by_name("range").unwrap(), &row.topics, &subscriptions).unwrap();
    assert_eq!(plans.len(), row.members.len());
    for plan in plans {
        assert_eq!(plan.assignment, row.assignments[&*plan.member_id]);
    }
}
