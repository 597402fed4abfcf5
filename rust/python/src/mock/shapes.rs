//! Plain values of what a mock cluster shows, which `ottla.testing` gives names.

use std::collections::BTreeMap;

use ottla_mock::{CommittedOffset, GroupInfo, MemberInfo};

/// Id, instance id, client id, epoch, partitions.
type MemberShape = (String, Option<String>, String, i32, Vec<(String, i32)>);
/// State, kind, assignor, generation, leader, members.
pub(super) type GroupShape = (String, String, Option<String>, i32, Option<String>, Vec<MemberShape>);
/// Offsets by topic and partition.
pub(super) type Offsets = BTreeMap<(String, i32), i64>;

pub(super) fn group(group: GroupInfo) -> GroupShape {
    let member = |m: MemberInfo| (m.id, m.instance_id, m.client_id, m.epoch, m.assignment);
    let members = group.members.into_iter().map(member).collect();
    (group.state, group.kind, group.protocol, group.generation, group.leader, members)
}

pub(super) fn offsets(committed: BTreeMap<(String, i32), CommittedOffset>) -> Offsets {
    committed.into_iter().map(|(partition, committed)| (partition, committed.offset)).collect()
}
