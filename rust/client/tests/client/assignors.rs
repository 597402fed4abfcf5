//! Proves: range and roundrobin give what Java's give, with and without racks; what members tell each
//! other is written as Java writes it; no assignor, a user's own included, gives a partition to two
//! members or takes it from an owner who does not know yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::assignments::{Row, rows};
use bytes::Bytes;
use ottla_client::consumer::assignor::{
    Assignor, GroupAssignment, MemberAssignment, MemberSubscription, PartitionInfo, Subscriptions, Topics,
    by_name, decode_assignment, decode_subscription, encode_assignment, encode_subscription, plan,
};
use ottla_client::{Error, Kind, TopicPartition};

fn by_javas(name: &str) -> usize {
    let assignor = by_name(name).unwrap();
    let mut checked = 0;
    for row in rows().filter(|row| row.assignor == name) {
        let given = assignor.assign(&row.topics, &row.members).unwrap();
        let given: BTreeMap<_, _> = given.into_iter().map(|(id, given)| (id, given.partitions)).collect();
        assert_eq!(given, row.assigned, "group {} {:#?} {:#?}", row.group, row.topics, row.members);
        checked += 1;
    }
    checked
}

#[test]
fn range_gives_what_javas_gives() {
    assert!(by_javas("range") >= 400);
    assert!(rows().any(|row| row.assignor == "range" && row.members.iter().any(|m| m.rack.is_some())));
}

#[test]
fn roundrobin_gives_what_javas_gives() {
    assert!(by_javas("roundrobin") >= 400);
}

#[test]
fn subscriptions_and_assignments_are_written_as_java_writes_them() {
    for row in rows() {
        for (member, bytes) in row.members.iter().zip(&row.subscriptions) {
            assert_eq!(&encode_subscription(member).unwrap(), bytes, "{member:?}");
        }
        for (id, bytes) in &row.assignments {
            let partitions = row.assigned[id].clone();
            let given = MemberAssignment { partitions, user_data: None };
            assert_eq!(&encode_assignment(&given).unwrap(), bytes, "{given:?}");
        }
    }
}

fn subscription(bytes: &'static [u8]) -> Result<MemberSubscription, Error> {
    decode_subscription("m".into(), None, Bytes::from_static(bytes))
}

#[test]
fn versions_older_and_newer_than_ours_are_understood() {
    // Version 0: topics and user data alone.
    let member = subscription(b"\0\0\0\0\0\x01\0\x01t\0\0\0\x02hi").unwrap();
    assert_eq!((member.topics, member.generation), (vec![Arc::from("t")], -1));
    assert_eq!(member.user_data, Some(Bytes::from_static(b"hi")));
    // Version 1: owned partitions as well.
    let member =
        subscription(b"\0\x01\0\0\0\0\xff\xff\xff\xff\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\x07").unwrap();
    assert_eq!(member.owned, [tp("t", 7)]);
    // Version 9 has fields of which we know nothing.
    let told = MemberSubscription { topics: vec!["t".into()], generation: 4, ..Default::default() };
    let mut bytes = encode_subscription(&told).unwrap().to_vec();
    bytes[1] = 9;
    bytes.extend(b"more");
    assert_eq!(decode_subscription("".into(), None, bytes.into()).unwrap(), told);
    assert_eq!(decode_assignment(Bytes::new()).unwrap(), MemberAssignment::default());
}

#[test]
fn what_makes_no_sense_is_an_error_that_names_the_member() {
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

/// A user's own: says what the test wants.
#[derive(Debug)]
struct Says(Vec<(&'static str, Vec<TopicPartition>)>, bool);

impl Assignor for Says {
    fn name(&self) -> &'static str {
        "says"
    }

    fn cooperative(&self) -> bool {
        self.1
    }

    fn assign(&self, _: &Topics, _: &[MemberSubscription]) -> Result<GroupAssignment, Error> {
        let given = self.0.iter().map(|(id, partitions)| {
            (Arc::from(*id), MemberAssignment { partitions: partitions.clone(), user_data: None })
        });
        Ok(given.collect())
    }
}

fn planned(says: Says, members: Vec<MemberSubscription>) -> Result<Vec<Vec<TopicPartition>>, Error> {
    let told = plan(&says, &topics(&[("t", 4), ("u", 1)]), &Subscriptions { members })?;
    Ok(told.into_iter().map(|told| decode_assignment(told.assignment).unwrap().partitions).collect())
}

#[test]
fn what_another_still_owns_is_held_back() {
    let moved = vec![("a", vec![tp("t", 0), tp("t", 2)]), ("b", vec![tp("t", 1), tp("t", 3)])];
    let members = vec![
        member("a", &["t"], &[tp("t", 0), tp("t", 1)]),
        // It claims what the other has as well: that one keeps it until it lets go.
        member("b", &["t"], &[tp("t", 3), tp("t", 0)]),
    ];
    let held = planned(Says(moved.clone(), true), members.clone()).unwrap();
    assert_eq!(held, [vec![tp("t", 0), tp("t", 2)], vec![tp("t", 3)]]);
    // An eager group has given up everything by then.
    let eager = planned(Says(moved.clone(), false), members).unwrap();
    assert_eq!(eager, [moved[0].1.clone(), moved[1].1.clone()]);
}

#[test]
fn an_assignors_mistakes_are_errors_that_name_it() {
    let members = || vec![member("a", &["t"], &[]), member("b", &["t"], &[])];
    for (says, words) in [
        (vec![("a", vec![tp("t", 0)]), ("b", vec![tp("t", 0)])], "t-0 is assigned to two members"),
        (vec![("a", vec![tp("t", 1), tp("t", 1)])], "t-1 is assigned to two members"),
        (vec![("a", vec![tp("t", 9)])], "partition t-9 does not exist"),
        (vec![("a", vec![tp("u", 0)])], "u-0 is assigned to a, which does not subscribe to u"),
        (vec![("c", vec![tp("t", 0)])], "the group has no member c"),
    ] {
        let error = planned(Says(says, true), members()).unwrap_err();
        assert_eq!(error.message(), format!("the assignor says: {words}"));
    }
    // Who is left out is told so.
    assert_eq!(planned(Says(vec![], true), members()).unwrap(), [vec![], vec![]]);
}

#[test]
fn a_topic_that_does_not_exist_or_has_no_readers_goes_to_nobody() {
    for name in ["range", "roundrobin", "sticky", "cooperative-sticky"] {
        let members = [member("a", &["t", "gone"], &[]), member("b", &[], &[])];
        let given = by_name(name).unwrap().assign(&topics(&[("t", 2), ("u", 3)]), &members).unwrap();
        assert_eq!(given["a"].partitions, [tp("t", 0), tp("t", 1)], "{name}");
        assert_eq!(given["b"].partitions, [], "{name}");
        assert!(by_name(name).unwrap().assign(&topics(&[("t", 2)]), &[]).unwrap().is_empty());
    }
}

#[test]
fn assignors_are_known_by_kafkas_names_and_javas() {
    let range = by_name("org.apache.kafka.clients.consumer.RangeAssignor").unwrap();
    assert_eq!((range.name(), range.cooperative()), ("range", false));
    assert!(by_name("Range").is_none() && by_name("org.apache.kafka.clients.consumer.range2").is_none());
}

/// All that the leader gets from the coordinator, and what it gives back.
#[test]
fn a_leader_plans_from_what_the_coordinator_hands_it() {
    let row: Row = rows().find(|row| row.assignor == "range" && row.members.len() > 3).unwrap();
    let answer: Vec<_> = row
        .members
        .iter()
        .zip(&row.subscriptions)
        .map(|(member, bytes)| ottla_protocol::messages::join_group::JoinGroupResponseMember {
            member_id: member.member_id.to_string(),
            group_instance_id: member.instance_id.as_deref().map(str::to_owned),
            metadata: bytes.clone(),
        })
        .collect();
    let subscriptions = Subscriptions::decode(&answer).unwrap();
    assert!(row.topics.keys().all(|topic| subscriptions.topics().contains(topic)));
    let told = plan(&*by_name("range").unwrap(), &row.topics, &subscriptions).unwrap();
    assert_eq!(told.len(), row.members.len());
    for told in told {
        assert_eq!(told.assignment, row.assignments[&*told.member_id]);
    }
}
