//! The share partitions of all groups, and how they follow leaders and logs.
//!
//! Invariant: a share partition is used only after [`ClusterState::enter_share_partition`], so that its locks, its
//! leader epoch and its log are current.

use std::collections::BTreeMap;

use ottla_protocol::wire::Uuid;
use tokio::time::Instant;

use super::ClusterState;
use super::share_sessions::TopicPartition;
use crate::config::ShareGroupConfig;
use crate::log::PartitionLog;
use crate::share_partition::SharePartition;

/// All share partitions, by group and partition.
#[derive(Debug, Default)]
pub(crate) struct SharePartitions {
    groups: BTreeMap<String, BTreeMap<TopicPartition, SharePartition>>,
}

impl SharePartitions {
    pub(crate) fn get(&self, group: &str, partition: TopicPartition) -> Option<&SharePartition> {
        self.groups.get(group)?.get(&partition)
    }

    pub(crate) fn get_mut(&mut self, group: &str, partition: TopicPartition) -> Option<&mut SharePartition> {
        self.groups.get_mut(group)?.get_mut(&partition)
    }

    /// The share partitions of a group.
    pub(crate) fn of_group(&self, group: &str) -> impl Iterator<Item = (&TopicPartition, &SharePartition)> {
        self.groups.get(group).into_iter().flatten()
    }

    pub(crate) fn set(&mut self, group: &str, partition: TopicPartition, share: SharePartition) {
        self.groups.entry(group.to_owned()).or_default().insert(partition, share);
    }

    pub(crate) fn delete_group(&mut self, group: &str) {
        self.groups.remove(group);
    }

    /// Deletes what a group knows of a topic; returns whether it knew anything.
    pub(crate) fn delete_group_topic(&mut self, group: &str, topic: Uuid) -> bool {
        let Some(partitions) = self.groups.get_mut(group) else { return false };
        let before = partitions.len();
        partitions.retain(|(id, _), _| *id != topic);
        partitions.len() < before
    }

    /// Deletes what all groups know of a deleted topic.
    pub(super) fn delete_topic(&mut self, topic: Uuid) {
        for partitions in self.groups.values_mut() {
            partitions.retain(|(id, _), _| *id != topic);
        }
    }
}

impl ClusterState {
    /// Brings a share partition up to date, on the leader of its partition; creates it if necessary.
    pub(crate) fn enter_share_partition(
        &mut self,
        group: &str,
        (name, partition): (&str, TopicPartition),
        (now, wall_clock): (Instant, i64),
    ) -> bool {
        let config = &self.groups.config_of(group).share;
        let topic = self.topics.get(name);
        let found = topic.and_then(|topic| topic.partitions.get(usize::try_from(partition.1).ok()?));
        let Some(found) = found else { return false };
        let (epoch, log) = (found.leader_epoch, &found.log);
        let shares = self.share_partitions.groups.entry(group.to_owned()).or_default();
        let start = || SharePartition::new(initial_offset(config, log, wall_clock), epoch);
        let share = shares.entry(partition).or_insert_with(start);
        let released = share.advance(config, now);
        if !share.load(epoch) {
            *share = start();
        }
        share.follow_log(log.start_offset(), log.high_watermark());
        released
    }

    /// Closes the share sessions that match, and releases the records of their members in partitions that the broker
    /// still leads; returns whether there were any.
    pub(crate) fn close_share_sessions(
        &mut self,
        which: impl Fn(&super::share_sessions::ShareSession) -> bool,
    ) -> bool {
        let closed = self.share_sessions.take(which);
        for session in &closed {
            for partition in
                session.partitions.iter().filter(|it| self.leads(session.broker, **it)).collect::<Vec<_>>()
            {
                self.release_records(&session.group, *partition, &session.member_id);
            }
        }
        !closed.is_empty()
    }

    fn leads(&self, broker: i32, (topic, index): TopicPartition) -> bool {
        let name = self.topic_name("", topic, true);
        name.and_then(|name| self.partition(&name, index).map(|it| it.leader == broker)).unwrap_or(false)
    }

    fn release_records(&mut self, group: &str, partition: TopicPartition, member_id: &str) {
        let config = &self.groups.config_of(group).share;
        if let Some(share) = self.share_partitions.get_mut(group, partition) {
            share.release(member_id, config);
        }
    }
}

/// Where a group begins that has no start offset.
fn initial_offset(config: &ShareGroupConfig, log: &PartitionLog, wall_clock: i64) -> i64 {
    match config.auto_offset_reset.as_str() {
        "earliest" => log.start_offset(),
        reset => match reset.strip_prefix("by_duration:").and_then(duration_millis) {
            Some(ago) => log
                .find_timestamp(wall_clock.saturating_sub(ago))
                .map_or_else(|| log.high_watermark(), |found| found.offset),
            None => log.high_watermark(),
        },
    }
}

/// The milliseconds of a duration in ISO 8601, such as `P1DT2H3M4.5S`.
fn duration_millis(text: &str) -> Option<i64> {
    let (days, time) = text.strip_prefix('P')?.split_once('T').unwrap_or((text.strip_prefix('P')?, ""));
    let mut seconds = 0.0;
    for (part, units) in
        [(days, &[('D', 86_400.0)][..]), (time, &[('H', 3_600.0), ('M', 60.0), ('S', 1.0)][..])]
    {
        let mut rest = part;
        for (unit, factor) in units {
            if let Some((number, after)) = rest.split_once(*unit) {
                seconds += number.parse::<f64>().ok()? * factor;
                rest = after;
            }
        }
        if !rest.is_empty() {
            return None;
        }
    }
    i64::try_from(std::time::Duration::try_from_secs_f64(seconds).ok()?.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::duration_millis;

    #[test]
    fn durations_are_read() {
        assert_eq!(duration_millis("P1DT2H3M4.5S"), Some(93_784_500));
        assert_eq!(duration_millis("PT10M"), Some(600_000));
        assert_eq!(duration_millis("P7D"), Some(604_800_000));
        for text in ["", "1D", "P1X", "PT1D"] {
            assert_eq!(duration_millis(text), None, "{text}");
        }
    }
}
