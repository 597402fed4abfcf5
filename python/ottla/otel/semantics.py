"""The names, attributes and instruments of OpenTelemetry's conventions for messaging.

Invariant: attributes of metrics have few values: no partitions, offsets or client ids.
"""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry import metrics, trace

from ottla._core import __version__
from ottla.errors import BrokerError

SYSTEM = "messaging.system"
OPERATION_NAME = "messaging.operation.name"
OPERATION_TYPE = "messaging.operation.type"
DESTINATION = "messaging.destination.name"
PARTITION = "messaging.destination.partition.id"
CLIENT_ID = "messaging.client.id"
GROUP = "messaging.consumer.group.name"
MESSAGE_COUNT = "messaging.batch.message_count"
OFFSET = "messaging.kafka.offset"
TOMBSTONE = "messaging.kafka.message.tombstone"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
ERROR_TYPE = "error.type"

Attributes = dict[str, str | int]

_SCHEMA = "https://opentelemetry.io/schemas/1.44.0"
# Seconds; those of the conventions.
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)


class Telemetry:
    """The tracer, the instruments and the constant attributes of one client.

    Attributes:
        metric: attributes of every metric.
        span: attributes of every span.
    """

    def __init__(
        self,
        operation: str,
        kind: str,
        tracer_provider: trace.TracerProvider | None,
        meter_provider: metrics.MeterProvider | None,
    ) -> None:
        self.tracer = trace.get_tracer("ottla", __version__, tracer_provider, _SCHEMA)
        self.meter = meter(meter_provider)
        self.duration = self.meter.create_histogram(
            "messaging.client.operation.duration",
            "s",
            "Duration of messaging operation initiated by a producer or consumer client.",
            explicit_bucket_boundaries_advisory=_BUCKETS,
        )
        self.metric: Attributes = {SYSTEM: "kafka", OPERATION_NAME: operation}
        self.span: Attributes = {**self.metric, OPERATION_TYPE: kind}

    def configure(self, configs: Mapping[str, str]) -> None:
        """Add the attributes that identify the client."""
        found = identity(configs)
        self.metric.update(found)
        self.span.update(found)
        self.span[CLIENT_ID] = configs["client.id"]


def meter(provider: metrics.MeterProvider | None) -> metrics.Meter:
    """Return ottla's meter."""
    return metrics.get_meter("ottla", __version__, provider, _SCHEMA)


def identity(configs: Mapping[str, str]) -> Attributes:
    """Return the attributes of metrics that identify a client or a processor."""
    found: Attributes = {}
    servers = configs["bootstrap.servers"].split(",")
    # With several, none of them is known to be the broker of an operation.
    host, _, port = servers[0].rpartition(":")
    # A processor is configured before its clients have checked the address.
    if len(servers) == 1 and port.isdecimal():
        found = {SERVER_ADDRESS: host.strip("[]"), SERVER_PORT: int(port)}
    if "group.id" in configs:
        found[GROUP] = configs["group.id"]
    return found


def error_type(error: BaseException) -> str:
    """Return the name of a broker's error, or else of the exception's class."""
    if isinstance(error, BrokerError) and error.name is not None:
        return error.name
    kind = type(error)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
