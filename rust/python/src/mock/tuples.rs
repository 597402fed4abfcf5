//! The plain values of groups and offsets, which `ottla.testing` wraps in dataclasses.

use std::collections::BTreeMap;

use ottla_mock::{CommittedOffset, GroupInfo, MemberInfo};

/// Id, instance id, client id, epoch, partitions.
type MemberTuple = (String, Option<String>, String, i32, Vec<(String, i32)>);
/// State, kind, assignor, generation, leader, members.
pub(super) type GroupTuple = (String, String, Option<String>, i32, Option<String>, Vec<MemberTuple>);
/// OffsetMap by topic and partition.
pub(super) type OffsetMap = BTreeMap<(String, i32), i64>;

pub(super) fn group(group: GroupInfo) -> GroupTuple {
    let member = |m: MemberInfo| (m.id, m.instance_id, m.client_id, m.epoch, m.assignment);
    let members = group.members.into_iter().map(member).collect();
    (group.state, group.kind, group.protocol, group.generation, group.leader, members)
}

pub(super) fn offsets(committed: BTreeMap<(String, i32), CommittedOffset>) -> OffsetMap {
    committed.into_iter().map(|(partition, committed)| (partition, committed.offset)).collect()
}
