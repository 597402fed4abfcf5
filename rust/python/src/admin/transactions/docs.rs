//! The docstrings of the methods of `Admin` and `AsyncAdmin` on transactions.
//!
//! `#[doc = docs!(name)]` is the docstring of a method; lines in `///` may follow or precede it.

macro_rules! docs {
    (list_transactions) => {
        "Return the transactional ids of all coordinators, and the errors of brokers that listed none.

The arguments are those of ``list_transactions``, which reports partitions without leader, too.

Args:
    states: only these states.
    producer_ids: only the ids of these producers.
    running_longer_than: only transactions that have been open for more than these seconds.
    id_pattern: a regular expression that must match the whole transactional id.
    timeout: seconds.

Returns:
    The ids, sorted, and the errors.

Raises:
    ConfigError: a state is unknown, or the pattern is invalid.
    KafkaError: no broker could be asked which brokers there are."
    };
    (describe_transactions) => {
        r#"Describe the transactions of transactional ids (KIP-664).

Args:
    transactional_ids: the ids.
    errors: what to do with the error of one id: ``"raise"`` the first one, or ``"return"``
        each in place of the description.
    timeout: seconds. Default: ``default.api.timeout.ms``.

Returns:
    The description by transactional id.

Raises:
    AuthorizationError: the principal may not describe the id.
    BrokerError: the coordinator does not know the id (``code`` 105), or does not support
        the request (before Kafka 3.0).
    TimeoutError: a coordinator did not respond in time."#
    };
    (describe_producers) => {
        "Describe the producers with ids that partition leaders know (KIP-664).

Args:
    partitions: the partitions, as ``(topic, partition)``.
    timeout: seconds. Default: ``default.api.timeout.ms``.

Returns:
    The producers by ``(topic, partition)``.

Raises:
    AuthorizationError: the principal may not read the topic.
    BrokerError: a broker does not support the request (before Kafka 2.8).
    TimeoutError: a leader did not respond in time.
    UnknownTopicError: a topic or a partition does not exist."
    };
    (list_open_transactions) => {
        "List the transactions that are open in the partitions of topics.

An open transaction keeps the last stable offset of its partitions back: consumers with
``isolation.level=read_committed`` read nothing from its first record on. One that hangs
does so until it is aborted.

Args:
    topics: the topics.
    timeout: seconds for each kind of request. Default: ``default.api.timeout.ms``.

Returns:
    The open transactions, in the order of partitions and offsets.

Raises:
    AuthorizationError: the principal may not read a topic.
    BrokerError: a broker does not support the requests (before Kafka 3.0).
    TimeoutError: a broker did not respond in time.
    UnknownTopicError: a topic does not exist."
    };
    (fence_producers) => {
        r#"Fence the producers with transactional ids and abort their open transactions.

This is what a new producer with the same id does to older ones. A coordinator that does
not know an id creates it.

Args:
    transactional_ids: the ids.
    errors: what to do with the error of one id: ``"raise"`` the first one, or ``"return"``
        each in place of the result.
    timeout: seconds. Default: ``default.api.timeout.ms``.

Returns:
    The new producer id and epoch by transactional id.

Raises:
    AuthorizationError: the principal may not write with the id.
    TimeoutError: a coordinator did not respond, or did not end the transaction, in time."#
    };
    (end_prepared_transactions) => {
        r#"Commit or abort transactions that their producers have prepared.

See ``Producer.prepare_transaction``. Repeating it is safe: an end that was made is
confirmed, until a newer producer uses the transactional id.

Args:
    transactions: the transactions.
    commit: whether to commit them; else they are aborted.
    errors: what to do with the error of one transaction: ``"raise"`` the first one, or
        ``"return"`` each in place of None.
    timeout: seconds. Default: ``default.api.timeout.ms``.

Returns:
    None, for success, by transactional id.

Raises:
    AuthorizationError: the principal may not write with the id.
    BrokerError: the transaction has ended otherwise (``code`` 48 or 49), or its
        transactional id has expired.
    FencedError: its time was over and the brokers have aborted it, or a newer producer
        with the id has taken over.
    TimeoutError: the outcome is not known; call it again."#
    };
    (abort_hanging_transaction) => {
        "Abort a hanging transaction in one partition.

The partition's leader writes an abort marker (WriteTxnMarkers).

Args:
    topic: the topic.
    partition: the partition.
    start_offset: the first offset of the transaction; see ``list_open_transactions``.
    timeout: seconds for each kind of request. Default: ``default.api.timeout.ms``.

Raises:
    AuthorizationError: the principal needs ``ClusterAction`` on the cluster.
    FencedError: the producer or a coordinator has written with a newer epoch meanwhile.
    StateError: no open transaction starts at this offset, or it does not hang: its
        coordinator will end it, and ``fence_producers`` aborts it at once.
    TimeoutError: a broker did not respond in time.
    UnknownTopicError: the topic or the partition does not exist."
    };
}

pub(crate) use docs;
