//! The docstrings that `Consumer` and `AsyncConsumer` share.
//!
//! `#[doc = docs!(name)]` is the docstring of a method; lines in `///` may follow or precede it.

macro_rules! docs {
    (position) => {
        "Return a partition's position, the offset of the next record, once it is known.

Args:
    topic: the topic.
    partition: the partition.
    timeout: seconds. Default: ``default.api.timeout.ms``.

Raises:
    OffsetError: there is no committed offset, and ``auto.offset.reset`` is ``none``.
    StateError: the partition is not assigned.
    TimeoutError: the position was not determined in time."
    };
    (commit) => {
        "Args:
    offsets: a record that was processed; or the offset of the next record to read, or an
        ``OffsetAndMetadata``, by ``(topic, partition)``. Default: the positions of all
        assigned partitions at the time of the call.
    timeout: seconds. Default: ``default.api.timeout.ms``.

Raises:
    AuthorizationError: the principal may not commit for the group or a topic.
    CommitFailedError: the group is rebalancing or removed this member; other members may
        own its partitions.
    ConfigError: there is no ``group.id``, or an offset is negative.
    TimeoutError: the group's coordinator did not respond in time."
    };
    (committed) => {
        "Return the offsets that the group has committed.

Args:
    partitions: pairs of a topic and a number. Default: all assigned partitions.
    timeout: seconds. Default: ``default.api.timeout.ms``.

Returns:
    The offsets by ``(topic, partition)``; None for a partition without one.

Raises:
    AuthorizationError: the principal may not read the group's offsets.
    ConfigError: there is no ``group.id``.
    TimeoutError: the group's coordinator did not respond in time."
    };
    (offsets_for_times) => {
        "Look up the first record at or after a timestamp, by partition.

Args:
    timestamps: milliseconds since 1970 or an aware ``datetime``, by ``(topic, partition)``.
    timeout: seconds. Default: ``default.api.timeout.ms``.

Returns:
    Offset and timestamp by ``(topic, partition)``; None if all records are older.

Raises:
    UnknownTopicError: a topic or a partition does not exist.
    TimeoutError: a leader did not respond in time."
    };
    (beginning_offsets) => {
        "Look up the first offset of partitions.

Args:
    partitions: pairs of a topic and a number. Default: all assigned partitions.
    timeout: seconds. Default: ``default.api.timeout.ms``.

Raises:
    UnknownTopicError: a topic or a partition does not exist.
    TimeoutError: a leader did not respond in time."
    };
    (end_offsets) => {
        "Look up the end offset of partitions: the offset of the next record to be written.

With ``read_committed`` it is the last stable offset, else the high watermark.

Args:
    partitions: pairs of a topic and a number. Default: all assigned partitions.
    isolation_level: ``read_committed`` or ``read_uncommitted``. Default:
        ``isolation.level``.
    timeout: seconds. Default: ``default.api.timeout.ms``.

Raises:
    UnknownTopicError: a topic or a partition does not exist.
    TimeoutError: a leader did not respond in time."
    };
}

pub(crate) use docs;
