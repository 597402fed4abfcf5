//! The docstrings that `Client` and `AsyncClient` share, and those of methods that producers and consumers have, too.
//!
//! `#[doc = docs!(name)]` is the docstring of a method; lines in `///` may follow or precede it.

macro_rules! docs {
    (set_sasl_credentials) => {
        "Replace the user name and the password of PLAIN or SCRAM.

Connections that are opened or authenticated again from now on use them. Others that share
the client use them, too.

Args:
    username: the user name.
    password: the password; it is not printed.

Raises:
    ConfigError: the client uses neither mechanism, or an argument is empty."
    };
    (cluster) => {
        "Return a snapshot of the cluster's metadata.

Args:
    topics: topics that the snapshot must contain. Unknown topics are looked up, and
        refreshed until they were unused for ``metadata.max.idle.ms`` (5 minutes).
    all_topics: whether to look up all topics of the cluster, for this call only.
    refresh: whether to request new metadata even if everything is cached.
    timeout: seconds. Default: ``default.api.timeout.ms``.

Raises:
    UnknownTopicError: a topic does not exist.
    TimeoutError: the cluster did not respond in time."
    };
    (topic_names) => {
        "Return the names of all topics, internal ones included, in alphabetical order.

Args:
    timeout: seconds. Default: ``default.api.timeout.ms``.

Raises:
    TimeoutError: the cluster did not respond in time."
    };
    (partitions_for) => {
        "Return the partitions of a topic, by number.

Args:
    topic: the topic's name. A topic that does not exist is not created.
    timeout: seconds. Default: ``default.api.timeout.ms``.

Returns:
    A dict whose keys are the partitions' numbers, starting at 0.

Raises:
    UnknownTopicError: the topic does not exist; raised within 5 s.
    TimeoutError: no broker responded in time."
    };
    (list_offsets) => {
        r#"Look up offsets of partitions (Kafka's ListOffsets).

Args:
    specs: by ``(topic, partition)``, which offset: ``"earliest"``, ``"latest"``,
        ``"max_timestamp"`` (KIP-734), ``"earliest_local"`` or ``"latest_tiered"`` (tiered
        storage), ``"earliest_pending_upload"`` (KIP-1023), or a time: the first record with
        this time or a later one, as an aware ``datetime`` or in ms since 1970.
    isolation_level: ``read_uncommitted`` or ``read_committed``. With ``read_committed``,
        ``"latest"`` is the last stable offset: the end, or the first record of an open
        transaction. Default: the client's ``isolation.level``.
    errors: what to do with the error of one partition: ``"raise"`` the first one, or
        ``"return"`` each in place of the offset.
    timeout: seconds. Default: ``default.api.timeout.ms``.

Returns:
    The offsets by ``(topic, partition)``; an offset of None means that no record matches.

Raises:
    AuthorizationError: the principal may not describe a topic.
    BrokerError: a broker does not support the name of an offset.
    ConfigError: a specification or the isolation level is invalid.
    UnknownTopicError: a topic or a partition does not exist.
    TimeoutError: a leader did not respond in time."#
    };
    (close) => {
        "Close all connections. Calls that wait for a response fail with ``ClosedError``.

After ``client_instance_id()``, it first pushes the last metrics, for a second at most;
nothing else waits.

Args:
    timeout: seconds for all of this. Default: 30."
    };
    // `$class` is "client", "producer" or "consumer".
    (events, $class:literal) => {
        concat!(
            "Subscribe to changes of the cluster and of the connections.

While the returned object exists, metadata is refreshed every ``events.metadata.max.age.ms``
(5 s), so that an idle client notices changes.

Args:
    all_topics: whether to include all topics, new ones too, instead of only those that this
        ",
            $class,
            " uses. Existing topics cause no events.
    timeout: seconds for looking up the topics. Default: ``default.api.timeout.ms``.

Raises:
    TimeoutError: the cluster did not respond in time."
        )
    };
    // `$class` is "client", "producer" or "consumer".
    (client_instance_id, $class:literal) => {
        concat!(
            "Return the id under which the cluster receives the metrics of this ",
            $class,
            " (KIP-714).

Brokers that support client telemetry assign it. A client without producers and consumers
pushes its metrics from this call on.

Args:
    timeout: seconds. Default: ``default.api.timeout.ms``.

Returns:
    22 characters, as in the brokers' logs and in ``match`` of a subscription.

Raises:
    ConfigError: ``enable.metrics.push`` is false.
    BrokerError: the brokers do not support client telemetry.
    TimeoutError: no broker has assigned an id in time."
        )
    };
}

pub(crate) use docs;
