"""What is counted and measured, by the Java client's names: the types of ``Client.metrics()``,
``Producer.metrics()`` and ``Producer.topic_metrics()``.
"""

from typing import TypedDict

__all__ = ["Metrics", "ProducerMetrics", "TopicMetrics"]

# Rates, averages and maxima are over a sliding window: ``metrics.num.samples`` samples of
# ``metrics.sample.window.ms`` each. What was not measured yet is not a number (nan).
Metrics = TypedDict(
    "Metrics",
    {
        # Connections that are open.
        "connection-count": float,
        # Connections made per second.
        "connection-creation-rate": float,
        # Connections made.
        "connection-creation-total": float,
        # Connections ended per second.
        "connection-close-rate": float,
        # Connections ended.
        "connection-close-total": float,
        # Connections that TLS or SASL let through, per second.
        "successful-authentication-rate": float,
        # Connections that TLS or SASL let through.
        "successful-authentication-total": float,
        # Connections that TLS or SASL refused, per second.
        "failed-authentication-rate": float,
        # Connections that TLS or SASL refused.
        "failed-authentication-total": float,
        # Sessions renewed per second.
        "successful-reauthentication-rate": float,
        # Sessions renewed.
        "successful-reauthentication-total": float,
        # Sessions that could not be renewed, per second.
        "failed-reauthentication-rate": float,
        # Sessions that could not be renewed.
        "failed-reauthentication-total": float,
        # Requests and answers per second.
        "network-io-rate": float,
        # Requests and answers.
        "network-io-total": float,
        # Requests per second.
        "request-rate": float,
        # Requests.
        "request-total": float,
        # Bytes of a request, on average.
        "request-size-avg": float,
        # Bytes of the largest request.
        "request-size-max": float,
        # Milliseconds until an answer came, on average.
        "request-latency-avg": float,
        # Milliseconds until an answer came, at most.
        "request-latency-max": float,
        # Answers per second.
        "response-rate": float,
        # Answers.
        "response-total": float,
        # Bytes sent per second.
        "outgoing-byte-rate": float,
        # Bytes sent.
        "outgoing-byte-total": float,
        # Bytes received per second.
        "incoming-byte-rate": float,
        # Bytes received.
        "incoming-byte-total": float,
        # Seconds since the metadata was last refreshed.
        "metadata-age": float,
    },
)


_OfProducer = TypedDict(
    "_OfProducer",
    {
        # Records sent per second.
        "record-send-rate": float,
        # Records sent.
        "record-send-total": float,
        # Records sent again per second.
        "record-retry-rate": float,
        # Records sent again.
        "record-retry-total": float,
        # Records that failed, per second.
        "record-error-rate": float,
        # Records that failed.
        "record-error-total": float,
        # Bytes of a batch's largest record, on average.
        "record-size-avg": float,
        # Bytes of the largest record.
        "record-size-max": float,
        # Records of a request, on average.
        "records-per-request-avg": float,
        # Milliseconds of a batch in the buffer, on average.
        "record-queue-time-avg": float,
        # Milliseconds of a batch in the buffer, at most.
        "record-queue-time-max": float,
        # Bytes of a batch in its request, on average.
        "batch-size-avg": float,
        # Bytes of the largest batch in its request.
        "batch-size-max": float,
        # Batches split, as they were too large, per second.
        "batch-split-rate": float,
        # Batches split, as they were too large.
        "batch-split-total": float,
        # Bytes of a batch divided by those before compression, on average.
        "compression-rate-avg": float,
        # Requests on their way.
        "requests-in-flight": float,
        # Milliseconds for which a broker asked to wait, on average.
        "produce-throttle-time-avg": float,
        # Milliseconds for which a broker asked to wait, at most.
        "produce-throttle-time-max": float,
        # Senders that wait for room in the buffer.
        "waiting-threads": float,
        # Bytes of the buffer: buffer.memory.
        "buffer-total-bytes": float,
        # Bytes of the buffer that are free.
        "buffer-available-bytes": float,
        # Nanoseconds for which senders waited for room in the buffer.
        "bufferpool-wait-time-ns-total": float,
        # The part of the time in which a sender waited for room in the buffer.
        "bufferpool-wait-ratio": float,
        # Waits for room that were in vain, per second.
        "buffer-exhausted-rate": float,
        # Waits for room that were in vain.
        "buffer-exhausted-total": float,
        # Nanoseconds in flush.
        "flush-time-ns-total": float,
        # Nanoseconds for which senders waited for metadata.
        "metadata-wait-time-ns-total": float,
    },
)


class ProducerMetrics(Metrics, _OfProducer):
    """What a producer counts, and its client. ``request-latency-avg`` and ``-max`` are of the
    producer's own requests here."""


TopicMetrics = TypedDict(
    "TopicMetrics",
    {
        # Records sent per second.
        "record-send-rate": float,
        # Records sent.
        "record-send-total": float,
        # Bytes of batches sent per second.
        "byte-rate": float,
        # Bytes of batches sent.
        "byte-total": float,
        # Bytes of a batch divided by those before compression, on average.
        "compression-rate": float,
        # Records sent again per second.
        "record-retry-rate": float,
        # Records sent again.
        "record-retry-total": float,
        # Records that failed, per second.
        "record-error-rate": float,
        # Records that failed.
        "record-error-total": float,
    },
)
