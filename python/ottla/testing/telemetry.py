"""Client telemetry on a mock cluster: subscriptions, and what clients push (KIP-714)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla._internal.arguments import texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ottla._core import MockCluster as CoreCluster


@dataclass(frozen=True, kw_only=True)
class PushedMetric:
    """The value of a metric in a push.

    Attributes:
        name: the name, as in KIP-714.
        attributes: what the value is about, such as ``node_id``; most metrics have none.
        value: the number; of a total, the change since the last push that the cluster has taken.
    """

    name: str
    attributes: dict[str, str]
    value: float


@dataclass(frozen=True, kw_only=True)
class PushedMetrics:
    """A push of a client's metrics: ``MockCluster.pushed_metrics()``.

    Attributes:
        client_instance_id: the id that the cluster assigned to the client, producer or consumer.
        client_id: its ``client.id``.
        broker: the id of the broker that has taken the push.
        terminating: whether it is the last push, from closing.
        compression: the codec: ``zstd``, ``lz4``, ``gzip``, ``snappy`` or ``none``.
        attributes: the client, as ``client_rack``, ``group_id`` and so on; only those that are set.
        metrics: the values.
    """

    client_instance_id: str
    client_id: str
    broker: int
    terminating: bool
    compression: str
    attributes: dict[str, str]
    metrics: tuple[PushedMetric, ...]


class TelemetryOperations:
    """The methods of ``MockCluster`` about client telemetry."""

    _core: CoreCluster

    def subscribe_to_metrics(self, name: str, configs: Mapping[str, str]) -> None:
        """Set configurations of a client metrics subscription, as ``Admin`` does.

        Args:
            name: the subscription.
            configs: ``metrics`` (prefixes of names, or ``*``), ``interval.ms`` and ``match``.

        Raises:
            ArgumentTypeError: ``configs`` is no mapping of texts.
            ConfigError: a key or a value is invalid.
        """
        given = texts("configs", configs, '{"metrics": "*"}')
        self._core.subscribe_to_metrics(name, given)

    def pushed_metrics(self) -> list[PushedMetrics]:
        """Return the last 10,000 pushes of clients, the oldest first."""
        return [
            PushedMetrics(
                client_instance_id=instance,
                client_id=client_id,
                broker=broker,
                terminating=terminating,
                compression=compression,
                attributes=attributes,
                metrics=tuple(
                    PushedMetric(name=name, attributes=about, value=value)
                    for name, about, value in metrics
                ),
            )
            for instance, client_id, broker, terminating, compression, attributes, metrics in (
                self._core.pushed_metrics()
            )
        ]
