"""The parts of an open consumer, made from its configuration, and how they poll together.

Invariant: making them waits for nothing: a thread looks for the cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import ottla
from ottla import errors
from ottla._core import OffsetStore
from ottla.compat.confluent_kafka._assignment import Assignment
from ottla.compat.confluent_kafka._client_events import ClientEvents
from ottla.compat.confluent_kafka._commits import Commits
from ottla.compat.confluent_kafka._config import client_of, settings_of
from ottla.compat.confluent_kafka._consumer_reading import Reading
from ottla.compat.confluent_kafka._consumer_statistics import consumer_statistics
from ottla.compat.confluent_kafka._errors import kafka_exception
from ottla.compat.confluent_kafka._handle import Cluster
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka._rebalance import RebalanceCallback, Rebalances
from ottla.compat.confluent_kafka._subscription import Subscription, invalid
from ottla.compat.confluent_kafka._watermarks import Watermarks

# Seconds that a wait may delay what only a poll notices.
_SLICE = 0.1

# Seconds that `consume` collects messages once there is one.
_COLLECT = 0.2


class ConsumerParts:
    """The parts of one consumer.

    Args:
        config: librdkafka's configuration.
        owner: returns the consumer that callbacks get.
    """

    def __init__(self, config: dict[str, Any], owner: Callable[[], Any]) -> None:
        self._owner = owner
        self.settings = settings_of(config, "consumer")
        self._client = client_of(self.settings)
        self.consumer: ottla.Consumer = ottla.Consumer(self._client)
        self.cluster = Cluster(self.settings, self._client)
        self.store = OffsetStore(self.consumer, self.settings.auto_offset_store)
        self.commits = Commits(self.settings, self.consumer, self.store)
        self.assignment = Assignment(self.consumer, self.store)
        self.watermarks = Watermarks(self.settings, self._client, self.consumer)
        self.reading = Reading(
            self.settings, self._client, self.consumer, self.assignment, self.store
        )
        self.buffered = self.reading.buffered
        self._rebalances: Rebalances | None = None
        self._started = time.monotonic()
        self.events = ClientEvents(self.settings, self._connections, self.statistics)
        self.cluster.connect_later()

    def poll(self, limit: int, timeout: float) -> list[Message]:
        """Serve callbacks, and return up to so many messages as soon as there are any."""
        deadline = time.monotonic() + timeout
        self.reading.begin()
        try:
            while True:
                self._serve()
                left = deadline - time.monotonic()
                found = self._read(limit, self.events.wait_at_most(min(max(left, 0.0), _SLICE)))
                self.commits.serve()
                if found or left <= 0:
                    return found
        except errors.ClosedError as error:
            raise RuntimeError("Consumer closed") from error
        finally:
            self.reading.end()

    def consume(self, limit: int, timeout: float) -> list[Message]:
        """Return up to so many messages; once there is one, wait a little for the others."""
        if not limit:
            return []
        deadline = time.monotonic() + timeout
        found = self.poll(limit, timeout)
        deadline = min(deadline, time.monotonic() + _COLLECT)
        while found and len(found) < limit and (left := deadline - time.monotonic()) > 0:
            more = self._read(limit - len(found), left)
            if not more:
                break
            found += more
        return found

    def subscribe(
        self,
        subscription: Subscription,
        on_assign: RebalanceCallback | None,
        on_revoke: RebalanceCallback | None,
        on_lost: RebalanceCallback | None,
    ) -> None:
        """Replace the subscription, or an assignment of the application."""
        if not self.assignment.is_subscribed and len(self.assignment):
            self.unsubscribe()
        rebalances = Rebalances(
            self._owner, self.assignment, self.commits, on_assign, on_revoke, on_lost
        )
        topics = None if subscription.pattern else subscription.names
        try:
            self.consumer.subscribe(
                topics,
                pattern=subscription.pattern,
                on_assigned=rebalances.assigned,
                on_revoked=rebalances.revoked,
                on_lost=rebalances.lost,
            )
        except errors.ConfigError as error:
            raise invalid() from error
        except errors.KafkaError as error:
            raise kafka_exception(error) from error
        self.assignment.is_subscribed = True
        self._rebalances = rebalances
        self.reading.subscribed(subscription.names)

    def unsubscribe(self) -> None:
        """Leave the group, or give up an assignment of the application."""
        if not self.assignment.is_subscribed:
            self.commits.commit_before_giving_up(self.consumer.assignment())
        self.reading.subscribed([])
        self.consumer.unsubscribe()
        self.assignment.forget(self.consumer.assignment())
        self.assignment.is_subscribed = False

    def statistics(self) -> str:
        """Return the statistics as JSON."""
        count = 0 if self._rebalances is None else self._rebalances.count
        return consumer_statistics(
            self.settings,
            self.events.name,
            self._started,
            self._client,
            self.consumer,
            self.store,
            count,
        )

    def close(self) -> None:
        """Commit what is stored, leave the group, and close the connections."""
        self.commits.close()
        try:
            if not self.assignment.is_subscribed:
                self.commits.commit_before_giving_up(self.consumer.assignment())
            self.consumer.close()
            self.commits.serve()
        except errors.TimeoutError:
            return  # it is closed nevertheless
        finally:
            self.cluster.close()

    def abandon(self) -> None:
        """Drop the connections of a consumer that was never closed."""
        self.commits.close()
        self.cluster.close()

    def _connections(self) -> list[ottla.ConnectionStatus]:
        return [*self._client.connections(), *self.consumer.connections()]

    def _serve(self) -> None:
        self.commits.serve()
        self.events.serve()

    def _read(self, limit: int, timeout: float) -> list[Message]:
        if self.reading.idle():
            time.sleep(timeout)
            return []
        return self.reading.read(limit, timeout)
