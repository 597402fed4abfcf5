//! Proves: the sticky assignors balance as evenly as subscriptions allow, move no more than necessary
//! (never more than Java's), understand the user data of Java's members, and let members keep reading the
//! partitions that stay.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::support::assignments::{Row, rows};
use ottla_client::TopicPartition;
use ottla_client::consumer::assignor::{
    GroupAssignment, LastAssignment, MemberSubscription, PartitionInfo, Subscriptions, Topics, by_name,
    decode_assignment, plan,
};

type Assignment = BTreeMap<Arc<str>, Vec<TopicPartition>>;

fn assign(name: &str, topics: &Topics, members: &[MemberSubscription]) -> Assignment {
    let assigned: GroupAssignment = by_name(name).unwrap().assign(topics, members).unwrap();
    assigned.into_iter().map(|(id, assigned)| (id, assigned.partitions)).collect()
}

/// Decodes Java's format by hand: topics with partitions, then the generation.
fn previous(user_data: &[u8]) -> LastAssignment {
    let mut at = 0;
    let mut number = |size: usize| {
        let bytes = &user_data[at..at + size];
        at += size;
        bytes.iter().fold(0_i64, |number, byte| number << 8 | i64::from(*byte))
    };
    let mut partitions = Vec::new();
    for _ in 0..number(4) {
        let length = number(2);
        let name: String = (0..length).map(|_| char::from(u8::try_from(number(1)).unwrap())).collect();
        let name: Arc<str> = name.into();
        for _ in 0..number(4) {
            partitions.push((Arc::clone(&name), i32::try_from(number(4)).unwrap()));
        }
    }
    partitions.sort();
    LastAssignment { partitions, generation: Some(number(4) as i32) }
}

#[test]
fn user_data_is_javas() {
    let (sticky, cooperative) = (by_name("sticky").unwrap(), by_name("cooperative-sticky").unwrap());
    let (mut same_bytes, mut all) = (0, 0);
    for row in rows() {
        for member in &row.members {
            match (&*row.assignor, &member.user_data) {
                ("sticky", Some(theirs)) => {
                    let last = previous(theirs);
                    let ours = sticky.user_data(&member.topics, &last).unwrap();
                    assert_eq!(previous(&ours), last);
                    // Java orders the topics by their hash.
                    same_bytes += u32::from(ours == *theirs);
                    all += 1;
                }
                ("cooperative-sticky", theirs) => {
                    let generation = (member.generation >= 0).then_some(member.generation);
                    let last = LastAssignment { partitions: vec![], generation };
                    assert_eq!(cooperative.user_data(&member.topics, &last), *theirs);
                }
                _ => {}
            }
        }
    }
    assert!(all > 1_000 && same_bytes > all / 5, "{same_bytes} of {all}");
    assert_eq!(sticky.user_data(&[], &LastAssignment::default()), None);
}

/// The previous owners by Java's rules: the latest generation that reports a partition wins.
fn owners(row: &Row) -> HashMap<TopicPartition, Arc<str>> {
    let mut latest: HashMap<TopicPartition, (i32, BTreeSet<Arc<str>>)> = HashMap::new();
    for member in &row.members {
        let (partitions, generation) = match (&*row.assignor, &member.user_data) {
            ("sticky", Some(user_data)) => {
                (previous(user_data).partitions, previous(user_data).generation.unwrap())
            }
            _ => (member.owned.clone(), member.generation),
        };
        for partition in partitions.into_iter().filter(|(topic, partition)| {
            let exists =
                row.topics.get(topic).is_some_and(|all| all.len() > usize::try_from(*partition).unwrap());
            exists && member.topics.contains(topic)
        }) {
            let reported = latest.entry(partition).or_default();
            if reported.1.is_empty() || reported.0 < generation {
                *reported = (generation, BTreeSet::new());
            }
            if reported.0 == generation {
                reported.1.insert(Arc::clone(&member.member_id));
            }
        }
    }
    latest
        .into_iter()
        .filter(|(_, (_, ids))| ids.len() == 1)
        .map(|(tp, (_, ids))| (tp, ids.into_iter().next().unwrap()))
        .collect()
}

/// The imbalance, the number of partitions far away, and the number of moves.
fn cost(
    topics: &Topics,
    members: &[MemberSubscription],
    owners: &HashMap<TopicPartition, Arc<str>>,
    assigned: &Assignment,
) -> (usize, usize, usize) {
    let uneven = assigned.values().map(|all| all.len() * all.len()).sum();
    let far = members.iter().map(|member| {
        let is_far = |(topic, partition): &&TopicPartition| {
            let info = topics[topic].iter().find(|info| info.partition == *partition).unwrap();
            member.rack.as_ref().is_some_and(|rack| !info.racks.contains(rack))
        };
        assigned[&member.member_id].iter().filter(is_far).count()
    });
    let all = assigned.iter().flat_map(|(id, all)| all.iter().map(move |partition| (id, partition)));
    let moved = all.filter(|(id, partition)| owners.get(*partition).is_some_and(|owner| owner != *id));
    (uneven, far.sum(), moved.count())
}

/// Each partition of a subscribed topic is assigned to exactly one member, which subscribes to the topic.
fn check(topics: &Topics, members: &[MemberSubscription], assigned: &Assignment) {
    assert_eq!(assigned.len(), members.len());
    let mut seen = BTreeSet::new();
    for member in members {
        for partition in &assigned[&member.member_id] {
            assert!(member.topics.contains(&partition.0), "{member:?} {partition:?}");
            assert!(seen.insert(partition.clone()), "{partition:?} twice");
        }
    }
    let read = topics.iter().filter(|(name, _)| members.iter().any(|member| member.topics.contains(name)));
    assert_eq!(seen.len(), read.map(|(_, infos)| infos.len()).sum::<usize>());
}

#[test]
fn assignments_are_as_even_as_javas_and_move_less() {
    let (mut total, mut javas, mut alike_rows) = ((0, 0, 0), (0, 0, 0), 0);
    for row in rows().filter(|row| row.assignor == "sticky") {
        let assigned = assign("sticky", &row.topics, &row.members);
        check(&row.topics, &row.members, &assigned);
        let owners = owners(&row);
        let (uneven, far, moved) = cost(&row.topics, &row.members, &owners, &assigned);
        let theirs = cost(&row.topics, &row.members, &owners, &row.assigned);
        assert!(uneven <= theirs.0, "group {} {assigned:?} {:?}", row.group, row.assigned);
        let alike = row.members.iter().all(|member| member.topics == row.members[0].topics);
        let racks = row.members.iter().any(|member| member.rack.is_some());
        if alike && !racks {
            assert!(moved <= theirs.2, "group {}: {moved} moved, {} by Java's", row.group, theirs.2);
            if owners.is_empty() {
                // Then there is only one solution.
                assert_eq!(assigned, row.assigned, "group {}", row.group);
                alike_rows += 1;
            }
        }
        total = (total.0 + uneven, total.1 + far, total.2 + moved);
        javas = (javas.0 + theirs.0, javas.1 + theirs.1, javas.2 + theirs.2);
    }
    println!("uneven, far, moved: {total:?}; by Java's assignor {javas:?}");
    assert!(total.0 < javas.0 && total.1 < javas.1 && total.2 < javas.2);
    assert!(alike_rows > 50, "{alike_rows}");
}

fn infos(partitions: i32) -> Vec<PartitionInfo> {
    (0..partitions).map(|partition| PartitionInfo { partition, racks: Vec::new() }).collect()
}

fn member(id: usize, topics: &[Arc<str>], owned: Vec<TopicPartition>) -> MemberSubscription {
    let member_id = format!("m{id:04}").into();
    MemberSubscription { member_id, topics: topics.to_vec(), owned, generation: 1, ..Default::default() }
}

/// The least cost of all possible assignments.
fn least(
    topics: &Topics,
    members: &[MemberSubscription],
    owners: &HashMap<TopicPartition, Arc<str>>,
) -> (usize, usize, usize) {
    let partitions: Vec<TopicPartition> = topics
        .iter()
        .flat_map(|(name, all)| all.iter().map(|info| (Arc::clone(name), info.partition)))
        .collect();
    let mut least = (usize::MAX, 0, 0);
    for mut choice in 0..members.len().pow(u32::try_from(partitions.len()).unwrap()) {
        let mut assigned: Assignment =
            members.iter().map(|member| (Arc::clone(&member.member_id), vec![])).collect();
        let whole = partitions.iter().all(|partition| {
            let member = &members[choice % members.len()];
            choice /= members.len();
            assigned.get_mut(&member.member_id).unwrap().push(partition.clone());
            member.topics.contains(&partition.0)
        });
        if whole {
            least = least.min(cost(topics, members, owners, &assigned));
        }
    }
    least
}

#[test]
fn no_assignment_is_more_even_and_hardly_any_moves_less() {
    let mut random = fastrand::Rng::with_seed(11);
    let (mut more, mut tried) = (0, 0);
    for _ in 0..400 {
        let names: Vec<Arc<str>> = (0..3).map(|at| format!("t{at}").into()).collect();
        let topics: Topics = names.iter().map(|name| (Arc::clone(name), infos(random.i32(1..=3)))).collect();
        let mut members: Vec<MemberSubscription> = (0..random.usize(2..=3))
            .map(|id| {
                let reads: Vec<_> = names.iter().filter(|_| random.u8(..3) > 0).cloned().collect();
                member(id, &reads, vec![])
            })
            .collect();
        let mut owners = HashMap::new();
        for (name, all) in &topics {
            for info in all {
                let owner = random.choose_multiple(members.iter_mut(), 1).pop().unwrap();
                if owner.topics.contains(name) && random.bool() {
                    owner.owned.push((Arc::clone(name), info.partition));
                    owners.insert((Arc::clone(name), info.partition), Arc::clone(&owner.member_id));
                }
            }
        }
        if topics.keys().any(|topic| !members.iter().any(|member| member.topics.contains(topic))) {
            continue;
        }
        let assigned = assign("cooperative-sticky", &topics, &members);
        check(&topics, &members, &assigned);
        let (got, least) = (cost(&topics, &members, &owners, &assigned), least(&topics, &members, &owners));
        assert_eq!(got.0, least.0, "{topics:?} {members:?} {assigned:?}");
        more += got.2 - least.2;
        tried += 1;
    }
    println!("{more} moves more than the least in {tried} groups");
    assert!(tried > 200 && more <= tried / 50, "{more} moves too many in {tried} groups");
}

#[test]
fn the_latest_generation_owns_a_partition_and_conflicting_owners_lose_it() {
    let names: Vec<Arc<str>> = vec!["t".into()];
    let topics: Topics = [("t".into(), infos(4))].into();
    let tp = |partition| ("t".into(), partition);
    let mut members =
        vec![member(0, &names, vec![tp(0), tp(1)]), member(1, &names, vec![tp(2), tp(3), tp(0)])];
    (members[0].generation, members[1].generation) = (3, 4);
    let assigned = assign("cooperative-sticky", &topics, &members);
    assert_eq!(assigned["m0000"].len(), 2);
    assert!(assigned["m0000"].contains(&tp(1)), "{assigned:?}");
    // Reported only in the user data, as by members without a generation in their subscription.
    members[0].user_data = Some(vec![0, 0, 0, 9].into());
    (members[0].generation, members[1].generation) = (-1, 4);
    assert_eq!(assign("cooperative-sticky", &topics, &members)["m0000"], [tp(0), tp(1)]);
    // The topic was recreated with fewer partitions.
    members[0].owned.push(tp(17));
    check(&topics, &members, &assign("cooperative-sticky", &topics, &members));
    for damaged in [&b""[..], b"\0\0", b"\x7f\xff\xff\xff", b"\0\0\0\x01\0\x01t\x7f\0\0\0"] {
        for member in &mut members {
            member.user_data = Some(bytes::Bytes::copy_from_slice(damaged));
        }
        for name in ["sticky", "cooperative-sticky"] {
            check(&topics, &members, &assign(name, &topics, &members));
        }
    }
}

/// Before Kafka 2.3 members of `sticky` reported no generation.
#[test]
fn user_data_without_a_generation_is_understood() {
    let names: Vec<Arc<str>> = vec!["t".into()];
    let mut members = vec![member(0, &names, vec![]), member(1, &names, vec![])];
    members[1].user_data = Some(b"\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\0".to_vec().into());
    let assigned = assign("sticky", &[("t".into(), infos(2))].into(), &members);
    assert_eq!(assigned["m0001"], [("t".into(), 0)]);
}

/// A cooperative group in which members join and leave: no kept partition is interrupted, no partition ever
/// has two readers, and once members have revoked partitions, all are read.
#[test]
fn a_cooperative_group_settles_in_two_rounds() {
    let assignor = by_name("cooperative-sticky").unwrap();
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let names: Vec<Arc<str>> = (0..3).map(|at| format!("t{at}").into()).collect();
        let mut topics: Topics =
            names.iter().map(|name| (Arc::clone(name), infos(random.i32(1..=8)))).collect();
        let mut members: Vec<MemberSubscription> = vec![member(0, &names, vec![])];
        for change in 1..30 {
            match random.u8(..4) {
                0 | 1 => members.push(member(change, &names, vec![])),
                2 if members.len() > 1 => drop(members.swap_remove(random.usize(..members.len()))),
                _ => {
                    let partitions = topics["t0"].len() as i32 + random.i32(0..3);
                    topics.insert("t0".into(), infos(partitions));
                }
            }
            for round in 0..3 {
                let plans = plan(&*assignor, &topics, &Subscriptions { members: members.clone() }).unwrap();
                let mut readers = HashMap::new();
                let mut has_revoked = false;
                for (member, plan) in members.iter_mut().zip(plans) {
                    let assigned = decode_assignment(plan.assignment).unwrap().partitions;
                    // Until it has revoked the rest it reads that, too.
                    for partition in assigned.iter().chain(&member.owned) {
                        let reader = readers.insert(partition.clone(), plan.member_id.clone());
                        assert!(
                            reader.is_none_or(|reader| reader == plan.member_id),
                            "two read {partition:?}"
                        );
                    }
                    has_revoked |= member.owned.iter().any(|owned| !assigned.contains(owned));
                    member.owned = assigned;
                    member.generation += 1;
                }
                if !has_revoked {
                    let all = members.iter().map(|m| (Arc::clone(&m.member_id), m.owned.clone())).collect();
                    check(&topics, &members, &all);
                    break;
                }
                assert!(round < 2, "it does not settle");
            }
        }
    }
}

#[test]
fn a_large_group_is_balanced_from_any_previous_assignment() {
    let names: Vec<Arc<str>> = (0..100).map(|at| format!("topic-{at}").into()).collect();
    let topics: Topics = names.iter().map(|name| (Arc::clone(name), infos(200))).collect();
    let mut members: Vec<MemberSubscription> = (0..500).map(|id| member(id, &names, vec![])).collect();
    let started = std::time::Instant::now();
    let assigned = assign("cooperative-sticky", &topics, &members);
    for member in &mut members {
        member.owned = assigned[&member.member_id].clone();
    }
    println!("20,000 partitions among 500 members: {:?}", started.elapsed());
    let started = std::time::Instant::now();
    members.extend((500..1000).map(|id| member(id, &names, vec![])));
    let assigned = assign("cooperative-sticky", &topics, &members);
    println!("500 members more: {:?}", started.elapsed());
    assert!(assigned.values().all(|all| all.len() == 20));
    for (at, member) in members.iter_mut().enumerate() {
        member.owned = assigned[&member.member_id].clone();
        member.topics.retain(|topic| at % 7 == 0 || topic.len() % 2 == at % 2);
    }
    let started = std::time::Instant::now();
    check(&topics, &members, &assign("cooperative-sticky", &topics, &members));
    println!("other subscriptions: {:?}", started.elapsed());
}
