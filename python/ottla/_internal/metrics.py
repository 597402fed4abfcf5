"""The types of ``metrics()`` and ``topic_metrics()``, with the Java client's names.

Rates, averages and maxima cover a sliding window: ``metrics.num.samples`` samples of
``metrics.sample.window.ms`` each. Values that were not measured yet are nan.
"""

from typing import TypedDict

__all__ = ["Metrics", "ProducerMetrics", "TopicMetrics"]

Metrics = TypedDict(
    "Metrics",
    {
        "connection-count": float,
        "connection-creation-rate": float,
        "connection-creation-total": float,
        "connection-close-rate": float,
        "connection-close-total": float,
        "successful-authentication-rate": float,
        "successful-authentication-total": float,
        "failed-authentication-rate": float,
        "failed-authentication-total": float,
        "successful-reauthentication-rate": float,
        "successful-reauthentication-total": float,
        "failed-reauthentication-rate": float,
        "failed-reauthentication-total": float,
        "network-io-rate": float,
        "network-io-total": float,
        "request-rate": float,
        "request-total": float,
        "request-size-avg": float,
        "request-size-max": float,
        "request-latency-avg": float,
        "request-latency-max": float,
        "response-rate": float,
        "response-total": float,
        "outgoing-byte-rate": float,
        "outgoing-byte-total": float,
        "incoming-byte-rate": float,
        "incoming-byte-total": float,
        "metadata-age": float,
    },
)

Metrics.__doc__ = """The metrics of a client: ``Client.metrics()``, ``Consumer.metrics()``.

Rates, averages and maxima cover ``metrics.num.samples`` windows of
``metrics.sample.window.ms``; values that were not measured yet are nan.

Keys:
    connection-count: open connections.
    connection-creation-rate: connections opened per second.
    connection-creation-total: connections opened.
    connection-close-rate: connections closed per second.
    connection-close-total: connections closed.
    successful-authentication-rate: connections that passed TLS or SASL, per second.
    successful-authentication-total: connections that passed TLS or SASL.
    failed-authentication-rate: connections that TLS or SASL rejected, per second.
    failed-authentication-total: connections that TLS or SASL rejected.
    successful-reauthentication-rate: sessions renewed per second (KIP-368).
    successful-reauthentication-total: sessions renewed.
    failed-reauthentication-rate: sessions that could not be renewed, per second.
    failed-reauthentication-total: sessions that could not be renewed.
    network-io-rate: requests and responses per second.
    network-io-total: requests and responses.
    request-rate: requests per second.
    request-total: requests.
    request-size-avg: average size of a request in bytes.
    request-size-max: size of the largest request in bytes.
    request-latency-avg: average time until the response, in milliseconds.
    request-latency-max: longest time until the response, in milliseconds.
    response-rate: responses per second.
    response-total: responses.
    outgoing-byte-rate: bytes sent per second.
    outgoing-byte-total: bytes sent.
    incoming-byte-rate: bytes received per second.
    incoming-byte-total: bytes received.
    metadata-age: seconds since the metadata was last refreshed.
"""

_ProducerOnly = TypedDict(
    "_ProducerOnly",
    {
        "record-send-rate": float,
        "record-send-total": float,
        "record-retry-rate": float,
        "record-retry-total": float,
        "record-error-rate": float,
        "record-error-total": float,
        "record-size-avg": float,
        "record-size-max": float,
        "records-per-request-avg": float,
        "record-queue-time-avg": float,
        "record-queue-time-max": float,
        "batch-size-avg": float,
        "batch-size-max": float,
        "batch-split-rate": float,
        "batch-split-total": float,
        "compression-rate-avg": float,
        "requests-in-flight": float,
        "produce-throttle-time-avg": float,
        "produce-throttle-time-max": float,
        "waiting-threads": float,
        "buffer-total-bytes": float,
        "buffer-available-bytes": float,
        "bufferpool-wait-time-ns-total": float,
        "bufferpool-wait-ratio": float,
        "buffer-exhausted-rate": float,
        "buffer-exhausted-total": float,
        "flush-time-ns-total": float,
        "metadata-wait-time-ns-total": float,
        "txn-init-time-ns-total": float,
        "txn-begin-time-ns-total": float,
        "txn-send-offsets-time-ns-total": float,
        "txn-commit-time-ns-total": float,
        "txn-abort-time-ns-total": float,
    },
)


class ProducerMetrics(Metrics, _ProducerOnly):
    """The metrics of a producer and its client: ``Producer.metrics()``.

    All keys of ``Metrics``, with ``request-latency-avg`` and ``request-latency-max`` of the
    producer's own requests only, and the following.

    Keys:
        record-send-rate: records sent per second.
        record-send-total: records sent.
        record-retry-rate: records sent again per second.
        record-retry-total: records sent again.
        record-error-rate: records that failed, per second.
        record-error-total: records that failed.
        record-size-avg: average size of a batch's largest record in bytes.
        record-size-max: size of the largest record in bytes.
        records-per-request-avg: average number of records per request.
        record-queue-time-avg: average time of a batch in the buffer, in milliseconds.
        record-queue-time-max: longest time of a batch in the buffer, in milliseconds.
        batch-size-avg: average size of a batch on the wire in bytes.
        batch-size-max: size of the largest batch on the wire in bytes.
        batch-split-rate: batches split because they were too large, per second.
        batch-split-total: batches split because they were too large.
        compression-rate-avg: average ratio of a batch's compressed to its uncompressed size.
        requests-in-flight: requests that are in flight.
        produce-throttle-time-avg: average throttle time of a response, in milliseconds.
        produce-throttle-time-max: longest throttle time of a response, in milliseconds.
        waiting-threads: callers of ``send`` that wait for buffer memory.
        buffer-total-bytes: size of the buffer in bytes (``buffer.memory``).
        buffer-available-bytes: free bytes of the buffer.
        bufferpool-wait-time-ns-total: nanoseconds that callers waited for buffer memory.
        bufferpool-wait-ratio: fraction of time in which a caller waited for buffer memory.
        buffer-exhausted-rate: waits for buffer memory that timed out, per second.
        buffer-exhausted-total: waits for buffer memory that timed out.
        flush-time-ns-total: nanoseconds in ``flush``.
        metadata-wait-time-ns-total: nanoseconds that callers waited for metadata.
        txn-init-time-ns-total: nanoseconds in ``init_transactions``.
        txn-begin-time-ns-total: nanoseconds in ``begin_transaction``.
        txn-send-offsets-time-ns-total: nanoseconds in ``send_offsets_to_transaction``.
        txn-commit-time-ns-total: nanoseconds in ``commit_transaction``.
        txn-abort-time-ns-total: nanoseconds in ``abort_transaction``.
    """


TopicMetrics = TypedDict(
    "TopicMetrics",
    {
        "record-send-rate": float,
        "record-send-total": float,
        "byte-rate": float,
        "byte-total": float,
        "compression-rate": float,
        "record-retry-rate": float,
        "record-retry-total": float,
        "record-error-rate": float,
        "record-error-total": float,
    },
)

TopicMetrics.__doc__ = """The metrics of a producer for one topic: ``Producer.topic_metrics()``.

Keys:
    record-send-rate: records sent per second.
    record-send-total: records sent.
    byte-rate: bytes of batches sent per second.
    byte-total: bytes of batches sent.
    compression-rate: average ratio of a batch's compressed to its uncompressed size.
    record-retry-rate: records sent again per second.
    record-retry-total: records sent again.
    record-error-rate: records that failed, per second.
    record-error-total: records that failed.
"""
