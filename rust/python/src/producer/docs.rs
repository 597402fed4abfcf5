//! The docstrings that `Producer` and `AsyncProducer` share, and those of `BatchDelivery` and its asyncio twin.
//!
//! `#[doc = docs!(name)]` is the docstring of a method; lines in `///` may follow or precede it.

macro_rules! docs {
    (send_arguments) => {
        "Args:
    topic: the topic.
    value: bytes, text (sent as UTF-8), or None for a tombstone; or what the
        serializer accepts.
    key: bytes, text or None; or what the serializer accepts. Records with the same
        key go to the same partition.
    headers: pairs of a name and a value, or a mapping; a name may occur more than
        once.
    timestamp: milliseconds since 1970, or a ``datetime``. Default: now.
    partition: the partition. Default: the partitioner chooses."
    };
    (purge) => {
        "Give up records that are not acknowledged: they fail with ``PurgedError``.

A transaction with such records can only be aborted.

Args:
    queued: whether to give up records that wait to be sent.
    in_flight: whether to give up records that are being sent; they may be written all the
        same, and ``maybe_done`` of their errors is true.

Returns:
    The number of records."
    };
    (unacknowledged_records) => {
        "The number of records that were accepted, and are neither acknowledged nor failed."
    };
    (send_batch) => {
        r#"Args:
    topic: the topic.
    values: a list of bytes, text or None; or Arrow data: an array of values, or a
        batch or table with the column ``value`` and optionally ``key``, ``headers``,
        ``timestamp`` and ``partition``.
    keys: a list, or an Arrow array, as long as the values.
    headers: the headers of each record of a list.
    timestamps: the timestamp of each record of a list.
    partitions: the partition of each record of a list.
    key_format: how a typed column of keys is encoded, such as
        ``ottla.schema.Avro(registry)``. Default: the producer's serializer, if it is such a
        format.
    value_format: the same for values. A table without a column ``value`` is then itself the
        values.

Returns:
    A future of all records: a ``BatchDelivery`` or an ``AsyncBatchDelivery``. It reports
    records that are too large as failed.

Raises:
    TypeError: a value or a key has a wrong type; nothing is sent.
    SerializationError: a row cannot be encoded; nothing is sent.
    UnknownTopicError: the topic did not appear within ``max.block.ms``.
    TimeoutError: the buffer stayed full for ``max.block.ms``.
    KafkaError: if the call ends before its last record, ``delivery`` holds the
        accepted records, and ``context["index"]`` is the index of the first record to
        send again."#
    };
    (init_transactions) => {
        "Get a producer id for ``transactional.id``; call it once, before the first transaction.

It fences older producers with the same id, and ends the transactions that they left open.
Interrupting or cancelling the call ends the wait alone; call it again to wait for the same
attempt.

Args:
    timeout: seconds to wait. Default: ``max.block.ms``.

Raises:
    AuthorizationError: the principal may not use the id; close the producer.
    BrokerError: ``transaction.timeout.ms`` is above the brokers' maximum, or another fatal
        error; close the producer.
    ConfigError: ``transactional.id`` is not set.
    StateError: the producer is initialized.
    TimeoutError: call it again to wait for the same attempt."
    };
    (send_offsets_to_transaction) => {
        "Commit a consumer's offsets together with the transaction.

The group checks that the consumer still owns its partitions (KIP-447). Set the consumer's
``enable.auto.commit`` to false.

Args:
    offsets: a record that was processed; or the offset of the next record to read, or an
        ``OffsetAndMetadata``, by ``(topic, partition)``; None for the positions of all
        assigned partitions.
    consumer: the consumer, or its ``GroupMetadata`` if it is in another process.

Raises:
    CommitFailedError: the consumer has lost its place in the group; abort.
    ConfigError: the consumer has no group, or commits automatically.
    FencedError: a newer producer with the same id has taken over; close this one.
    StateError: no transaction is open.
    TransactionAbortableError: the offsets were not added; abort."
    };
    (commit_transaction) => {
        "Commit the transaction: its records and offsets become visible together.

It waits until all records of the transaction are acknowledged. Interrupting or cancelling
the call ends the wait alone; call it again to wait for the same outcome.

Args:
    timeout: seconds to wait. Default: ``max.block.ms``.

Raises:
    FencedError: a newer producer with the same id has taken over, or the transaction was
        open for longer than ``transaction.timeout.ms``; close the producer. ``maybe_done``
        says whether the transaction may have been committed.
    StateError: no transaction is open.
    TimeoutError: the commit continues; call it again to wait for its outcome.
    TransactionAbortableError: nothing was committed; abort."
    };
    (abort_transaction) => {
        "Abort the transaction: none of its records and offsets becomes visible.

Records that were not sent yet fail with ``TransactionAbortedError``. Interrupting or
cancelling the call ends the wait alone; call it again to wait for the same outcome.

Args:
    timeout: seconds to wait. Default: ``max.block.ms``.

Raises:
    FencedError: a newer producer with the same id has taken over; close this one.
    StateError: no transaction is open.
    TimeoutError: the abort continues; call it again to wait for it."
    };
    (prepare_transaction) => {
        "Wait until every record of the transaction is acknowledged, and leave its end to others.

Any process can end it with ``Admin.end_prepared_transactions``; closing this producer does
not abort it. The brokers abort it after ``transaction.timeout.ms``. Interrupting or
cancelling the call ends the wait alone; call it again to wait for the same records.

Args:
    timeout: seconds to wait. Default: ``max.block.ms``.

Returns:
    What others need to end it; None if nothing was written.

Raises:
    FencedError: a newer producer with the same id has taken over; close this one.
    StateError: no transaction is open.
    TimeoutError: call it again to wait for the same records, or abort.
    TransactionAbortableError: a record failed; abort."
    };
    (transaction) => {
        "Return a context manager for one transaction.

Its block begins the transaction and commits it at its end; an exception in the block aborts
it and is raised. If the commit fails, the transaction is aborted, and the error is raised."
    };
    (batch_result) => {
        r#"Wait until all records are acknowledged, and return their number.

Args:
    timeout: seconds to wait. Default: no limit.

Raises:
    TimeoutError: not all results are known within ``timeout`` seconds; the records
        are still pending.
    KafkaError: the first failure; its message has the number of failed records, and
        ``context["index"]`` is the index of the first."#
    };
    (batch_errors) => {
        r#"Wait until every record is acknowledged or failed, and return the failures.

Args:
    timeout: seconds to wait. Default: no limit.

Returns:
    ``(index of the first record, number of records, error)`` for each run of records
    that failed together. The error also has the index in ``context["index"]``.

Raises:
    TimeoutError: not all results are known within ``timeout`` seconds; the records
        are still pending."#
    };
    (batch_partitions) => {
        "Return the partition of each record as an Arrow array of int32, without waiting.

It is null for a record that was never in a batch, because it is too large."
    };
    (batch_offsets) => {
        "Wait until every record is acknowledged or failed, and return the offset of each.

Args:
    timeout: seconds to wait. Default: no limit.

Returns:
    An Arrow array of int64; null for a record that failed, and if the broker did not
    report the offset, as with ``acks=0``.

Raises:
    TimeoutError: not all results are known within ``timeout`` seconds; the records
        are still pending."
    };
    (batch_written) => {
        "Wait until all records are acknowledged, and return where they were written.

Args:
    timeout: seconds to wait. Default: no limit.

Returns:
    ``(partition, offset of the first record, number of records)`` for each run of
    records with consecutive offsets. The offset is None if the broker did not report
    it, as with ``acks=0``.

Raises:
    TimeoutError: not all results are known within ``timeout`` seconds; the records
        are still pending.
    KafkaError: the first failure, as from ``result``."
    };
}

pub(crate) use docs;
