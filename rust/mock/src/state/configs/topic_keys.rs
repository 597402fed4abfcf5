//! The keys of topics, with the keys of brokers that have their defaults.

use super::key::ConfigKey;
use super::key::ConfigType::{Boolean, Double, Int, List, Long, String};
use super::key::Valid::{Any, AtLeast, Between, GzipLevel, OneOf, ThrottledReplicas};

/// The keys of topics, sorted.
pub(super) const TOPIC_KEYS: &[ConfigKey] = &[
    ConfigKey::new("cleanup.policy", List, "delete", OneOf(&["compact", "delete"]))
        .of_broker("log.cleanup.policy"),
    ConfigKey::new("compression.gzip.level", Int, "-1", GzipLevel).of_broker("compression.gzip.level"),
    ConfigKey::new("compression.lz4.level", Int, "9", Between(1, 17)).of_broker("compression.lz4.level"),
    ConfigKey::new(
        "compression.type",
        String,
        "producer",
        OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]),
    )
    .of_broker("compression.type"),
    ConfigKey::new("compression.zstd.level", Int, "3", Between(-131_072, 22))
        .of_broker("compression.zstd.level"),
    ConfigKey::new("delete.retention.ms", Long, "86400000", AtLeast(0))
        .of_broker("log.cleaner.delete.retention.ms"),
    ConfigKey::new("errors.deadletterqueue.group.enable", Boolean, "false", Any),
    ConfigKey::new("file.delete.delay.ms", Long, "60000", AtLeast(0))
        .of_broker("log.segment.delete.delay.ms"),
    ConfigKey::new("flush.messages", Long, "9223372036854775807", AtLeast(1))
        .of_broker("log.flush.interval.messages"),
    ConfigKey::new("flush.ms", Long, "9223372036854775807", AtLeast(0)).of_broker("log.flush.interval.ms"),
    ConfigKey::new("follower.replication.throttled.replicas", List, "", ThrottledReplicas),
    ConfigKey::new("index.interval.bytes", Int, "4096", AtLeast(0)).of_broker("log.index.interval.bytes"),
    ConfigKey::new("leader.replication.throttled.replicas", List, "", ThrottledReplicas),
    ConfigKey::new("local.retention.bytes", Long, "-2", AtLeast(-2)).of_broker("log.local.retention.bytes"),
    ConfigKey::new("local.retention.ms", Long, "-2", AtLeast(-2)).of_broker("log.local.retention.ms"),
    ConfigKey::new("max.compaction.lag.ms", Long, "9223372036854775807", AtLeast(1))
        .of_broker("log.cleaner.max.compaction.lag.ms"),
    ConfigKey::new("max.decompressed.message.bytes", Int, "2147483639", Between(1, 2_147_483_639))
        .of_broker("max.decompressed.message.bytes"),
    ConfigKey::new("max.message.bytes", Int, "1048588", AtLeast(0)).of_broker("message.max.bytes"),
    ConfigKey::new("message.timestamp.after.max.ms", Long, "3600000", AtLeast(0))
        .of_broker("log.message.timestamp.after.max.ms"),
    ConfigKey::new("message.timestamp.before.max.ms", Long, "9223372036854775807", AtLeast(0))
        .of_broker("log.message.timestamp.before.max.ms"),
    ConfigKey::new("message.timestamp.type", String, "CreateTime", OneOf(&["CreateTime", "LogAppendTime"]))
        .of_broker("log.message.timestamp.type"),
    ConfigKey::new("min.cleanable.dirty.ratio", Double, "0.5", Between(0, 1))
        .of_broker("log.cleaner.min.cleanable.ratio"),
    ConfigKey::new("min.compaction.lag.ms", Long, "0", AtLeast(0))
        .of_broker("log.cleaner.min.compaction.lag.ms"),
    ConfigKey::new("min.insync.replicas", Int, "1", AtLeast(1)).of_broker("min.insync.replicas"),
    ConfigKey::new("preallocate", Boolean, "false", Any).of_broker("log.preallocate"),
    ConfigKey::new("remote.copy.lag.bytes", Long, "-1", AtLeast(-1)).of_broker("log.remote.copy.lag.bytes"),
    ConfigKey::new("remote.copy.lag.ms", Long, "0", AtLeast(-1)).of_broker("log.remote.copy.lag.ms"),
    ConfigKey::new("remote.log.copy.disable", Boolean, "false", Any),
    ConfigKey::new("remote.log.delete.on.disable", Boolean, "false", Any),
    ConfigKey::new("remote.storage.enable", Boolean, "false", Any),
    ConfigKey::new("retention.bytes", Long, "-1", Any).of_broker("log.retention.bytes"),
    ConfigKey::new("retention.ms", Long, "604800000", AtLeast(-1)).of_broker("log.retention.ms"),
    ConfigKey::new("segment.bytes", Int, "1073741824", AtLeast(1_048_576)).of_broker("log.segment.bytes"),
    ConfigKey::new("segment.index.bytes", Int, "10485760", AtLeast(4)).of_broker("log.index.size.max.bytes"),
    ConfigKey::new("segment.jitter.ms", Long, "0", AtLeast(0)).of_broker("log.roll.jitter.ms"),
    ConfigKey::new("segment.ms", Long, "604800000", AtLeast(1)).of_broker("log.roll.ms"),
    ConfigKey::new("unclean.leader.election.enable", Boolean, "false", Any)
        .of_broker("unclean.leader.election.enable"),
];
