"""Topics that are subscribed to and do not exist, as error messages.

Invariant: a topic is reported once, and again only after it has existed.
"""

from __future__ import annotations

import time

import ottla
from ottla import errors
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka._record_messages import error_message
from ottla.compat.confluent_kafka._settings import Settings
from ottla.error_code import ErrorCode

# Seconds between two looks.
_PAUSE = 0.5

_CODES = {
    code.name: code
    for code in (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    )
}


class TopicErrors:
    """The errors of the topics of one subscription.

    Args:
        settings: the consumer's settings.
        client: the ottla client, whose metadata has the topics of its consumer.
    """

    def __init__(self, settings: Settings, client: ottla.Client) -> None:
        self._settings = settings
        self._client = client
        self._names: list[str] = []
        self._reported: set[str] = set()
        self._next_look = 0.0

    def subscribed(self, names: list[str]) -> None:
        """Watch the topics of a new subscription."""
        self._names = names
        self._reported.clear()
        self._next_look = time.monotonic() + _PAUSE

    def due(self) -> list[Message]:
        """Return the errors that were not reported yet."""
        now = time.monotonic()
        if now < self._next_look or not self._names or not self._settings.has_brokers:
            return []
        self._next_look = now + _PAUSE
        try:
            topics = self._client.cluster(timeout=0).topics
        except errors.KafkaError:
            return []
        found = []
        for name in self._names:
            topic = topics.get(name)
            code = None if topic is None or topic.error is None else _CODES.get(topic.error)
            if code is None:
                self._reported.discard(name)
            elif name not in self._reported:
                self._reported.add(name)
                text = f"Subscribed topic not available: {name}: {KafkaError(code).str()}"
                found.append(error_message(KafkaError(code, text), name))
        return found
