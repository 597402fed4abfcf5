"""The configuration of a client as the layer uses it: what ottla gets, and what the layer does.

Invariant: no value of a setting is an object of librdkafka's configuration; defaults are filled in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["producer", "consumer", "share consumer", "admin"]


@dataclass
class Settings:
    """The settings of one client.

    Attributes:
        kind: what the client is.
        ottla: the configuration for ottla's classes, by ottla's names.
        has_brokers: whether any broker is configured; without one, librdkafka waits forever.
        error_cb, stats_cb, throttle_cb: callbacks that ``poll`` calls.
        on_delivery: the default callback for deliveries.
        on_commit: the callback for commits.
        logger: the application's logger, if it passed one.
        debug: whether librdkafka's debugging is on.
        statistics_interval: seconds between two calls of ``stats_cb``; 0 for none.
        queue_max_messages: the number of messages that a producer may keep.
        queue_max_bytes: the number of bytes of these messages.
        message_timeout: seconds that a message may take; None for no limit.
        topic_timeout: seconds to wait for a topic that does not exist.
        report_only_errors: whether only failures are delivered to callbacks.
        auto_commit: whether stored offsets are committed by themselves.
        auto_commit_interval: seconds between two of these commits.
        auto_offset_store: whether a message's offset is stored when it is returned.
        partition_eof: whether the end of a partition is returned as a message.
        max_poll_interval: seconds between two polls of a member.
    """

    kind: Kind
    # It may contain secrets.
    ottla: dict[str, Any] = field(default_factory=dict, repr=False)
    has_brokers: bool = True
    error_cb: Callable[[Any], object] | None = None
    stats_cb: Callable[[str], object] | None = None
    throttle_cb: Callable[[Any], object] | None = None
    on_delivery: Callable[[Any, Any], object] | None = None
    on_commit: Callable[[Any, Any], object] | None = None
    logger: Any = None
    debug: str = ""
    statistics_interval: float = 0.0
    queue_max_messages: int = 100_000
    queue_max_bytes: int = 1 << 30
    message_timeout: float | None = 300.0
    topic_timeout: float = 30.0
    report_only_errors: bool = False
    auto_commit: bool = True
    auto_commit_interval: float = 5.0
    auto_offset_store: bool = True
    partition_eof: bool = False
    max_poll_interval: float = 300.0

    @property
    def watches_connections(self) -> bool:
        """Whether polls have callbacks to serve that tell of connections."""
        callbacks = (self.error_cb, self.throttle_cb, self.stats_cb, self.logger)
        return self.has_brokers and any(callback is not None for callback in callbacks)

    @property
    def group_id(self) -> str | None:
        """The id of the group, or None."""
        group: str | None = self.ottla.get("group.id")
        return group

    @property
    def client_id(self) -> str:
        """The client's name, as in statistics and logs."""
        return str(self.ottla.get("client.id") or "rdkafka")
