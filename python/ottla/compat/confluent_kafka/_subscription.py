"""A subscription: topics by name, and regular expressions that begin with ``^``.

Invariant: what librdkafka refuses is refused: no topics, an empty name, a name twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ottla.compat.confluent_kafka._error_codes import text_of
from ottla.compat.confluent_kafka._errors import failure
from ottla.compat.confluent_kafka._kafka_error import KafkaError


def invalid() -> Exception:
    """Return the error for topics that cannot be subscribed to."""
    text = text_of(KafkaError._INVALID_ARG)
    return failure(KafkaError._INVALID_ARG, f"Failed to set subscription: {text}")


@dataclass(frozen=True)
class Subscription:
    """A subscription.

    Attributes:
        names: the topics by name, if there is no pattern.
        pattern: one regular expression for everything, as ottla takes it; None for names only.
    """

    names: list[str]
    pattern: str | None


def subscription_of(topics: Any) -> Subscription:
    """Return the subscription to a list of topics.

    Raises:
        TypeError: it is no list.
        KafkaException: a topic is invalid.
    """
    if not isinstance(topics, list):
        raise TypeError("expected list of topic unicode strings")
    names = [str(topic) for topic in topics]
    if not names or "" in names or len(set(names)) < len(names):
        raise invalid()
    patterns = [name for name in names if name.startswith("^")]
    if not patterns:
        return Subscription(names, None)
    # A pattern of librdkafka ends where it ends, one of ottla's matches the whole name.
    parts = [f"(?:{name}).*" for name in patterns]
    parts += [re.escape(name) for name in names if not name.startswith("^")]
    return Subscription([], "|".join(parts))
