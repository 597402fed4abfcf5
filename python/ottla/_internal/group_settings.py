"""The configuration of ``transform`` and of processors, which a consumer and a producer share.

Invariant: offsets are committed with what was handled, by nothing else.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from ottla._internal.arguments import keyed
from ottla.errors import ConfigError

__all__ = ["check_read_committed", "commit_timeout", "group_settings", "seconds", "transaction_id"]

_COMMIT_TIMEOUT = 120_000


def group_settings(
    config: Mapping[str, Any] | None, keywords: Mapping[str, Any], commits: str
) -> dict[str, Any]:
    """Return the configuration by Kafka's dotted names, without ``enable.auto.commit``.

    Args:
        config: the configuration.
        keywords: those that take precedence; their names may have underscores.
        commits: says what commits offsets, for the error.

    Raises:
        ArgumentTypeError: ``config`` is no mapping, or a key is no str.
        ConfigError: ``group.id`` is missing, or ``enable.auto.commit`` is set.
    """
    given = {} if config is None else keyed("config", config, '{"linger.ms": 5}')
    settings = {name.replace("_", "."): value for name, value in {**given, **keywords}.items()}
    if not settings.get("group.id"):
        raise ConfigError("group.id is missing: the group's members share the partitions")
    if settings.pop("enable.auto.commit", False) not in {False, "false"}:
        raise ConfigError(f"enable.auto.commit: {commits}")
    return settings


def check_read_committed(settings: Mapping[str, Any], name: str) -> None:
    """Raise if records of transactions that are not decided would be read.

    If such a transaction aborts, what was made of its records stays.

    Args:
        settings: the configuration.
        name: what promises exactly-once semantics.

    Raises:
        ConfigError: ``isolation.level`` is not ``read_committed``.
    """
    if settings.get("isolation.level") not in {None, "read_committed"}:
        raise ConfigError(
            f"isolation.level: {name} needs read_committed, since otherwise records of "
            "transactions that abort would have an effect"
        )


def transaction_id(settings: dict[str, Any]) -> str:
    """Remove and return ``transactional.id``; by default a new one."""
    return settings.pop("transactional.id", None) or f"{settings['group.id']}-{uuid.uuid4()}"


def seconds(settings: Mapping[str, Any], name: str, default: int) -> float:
    """Return a setting in milliseconds as seconds.

    Raises:
        ConfigError: it is no number.
    """
    value = settings.get(name, default)
    try:
        return float(value) / 1000
    except (TypeError, ValueError):
        message = f"{name} is {value!r}: expected milliseconds, such as {default}"
        raise ConfigError(message) from None


def commit_timeout(settings: Mapping[str, Any]) -> float:
    """Return how long the outcome of a transaction is awaited: ``delivery.timeout.ms``, in seconds.

    Raises:
        ConfigError: it is no number.
    """
    # librdkafka's name of the same key, where 0 is no limit.
    if "delivery.timeout.ms" not in settings and "message.timeout.ms" in settings:
        return seconds(settings, "message.timeout.ms", _COMMIT_TIMEOUT) or float("inf")
    return seconds(settings, "delivery.timeout.ms", _COMMIT_TIMEOUT)
