//! The keys of groups, with the keys of brokers that have their defaults.

use super::key::ConfigKey;
use super::key::ConfigType::{Boolean, Int, List, String};
use super::key::Valid::{Any, AtLeast, OffsetReset, OneOf};

/// The keys of groups, sorted.
pub(super) const GROUP_KEYS: &[ConfigKey] = &[
    ConfigKey::new("consumer.assignment.interval.ms", Int, "1000", AtLeast(0))
        .of_broker("group.consumer.assignment.interval.ms"),
    ConfigKey::new("consumer.heartbeat.interval.ms", Int, "5000", AtLeast(1))
        .of_broker("group.consumer.heartbeat.interval.ms"),
    ConfigKey::new("consumer.session.timeout.ms", Int, "45000", AtLeast(1))
        .of_broker("group.consumer.session.timeout.ms"),
    ConfigKey::new("errors.deadletterqueue.copy.record.enable", Boolean, "false", Any),
    ConfigKey::new("errors.deadletterqueue.topic.name", String, "", Any),
    ConfigKey::new("share.assignment.interval.ms", Int, "1000", AtLeast(0))
        .of_broker("group.share.assignment.interval.ms"),
    ConfigKey::new("share.auto.offset.reset", String, "latest", OffsetReset),
    ConfigKey::new("share.delivery.count.limit", Int, "5", AtLeast(2))
        .of_broker("group.share.delivery.count.limit"),
    ConfigKey::new("share.heartbeat.interval.ms", Int, "5000", AtLeast(1))
        .of_broker("group.share.heartbeat.interval.ms"),
    ConfigKey::new(
        "share.isolation.level",
        String,
        "read_uncommitted",
        OneOf(&["read_committed", "read_uncommitted"]),
    ),
    ConfigKey::new("share.partition.max.record.locks", Int, "2000", AtLeast(100))
        .of_broker("group.share.partition.max.record.locks"),
    ConfigKey::new("share.record.lock.duration.ms", Int, "30000", AtLeast(1_000))
        .of_broker("group.share.record.lock.duration.ms"),
    ConfigKey::new("share.renew.acknowledge.enable", Boolean, "true", Any),
    ConfigKey::new("share.session.timeout.ms", Int, "45000", AtLeast(1))
        .of_broker("group.share.session.timeout.ms"),
    ConfigKey::new("streams.assignment.interval.ms", Int, "1000", AtLeast(0))
        .of_broker("group.streams.assignment.interval.ms"),
    ConfigKey::new("streams.assignor.name", String, "sticky", Any),
    ConfigKey::new("streams.heartbeat.interval.ms", Int, "5000", AtLeast(1))
        .of_broker("group.streams.heartbeat.interval.ms"),
    ConfigKey::new("streams.initial.rebalance.delay.ms", Int, "3000", AtLeast(0))
        .of_broker("group.streams.initial.rebalance.delay.ms"),
    ConfigKey::new("streams.num.standby.replicas", Int, "0", AtLeast(0))
        .of_broker("group.streams.num.standby.replicas"),
    ConfigKey::new("streams.rack.aware.assignment.tags", List, "", Any),
    ConfigKey::new("streams.session.timeout.ms", Int, "45000", AtLeast(1))
        .of_broker("group.streams.session.timeout.ms"),
];
