"""The type of ``Client.metrics()``: what is counted and measured, by the Java client's names."""

from typing import TypedDict

__all__ = ["Metrics"]

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
