"""The parts of an open producer, made from its configuration.

Invariant: making them starts no connection, but for a thread that looks for the cluster.
"""

from __future__ import annotations

import time
from typing import Any

import ottla
from ottla import errors
from ottla.compat.confluent_kafka._client_events import ClientEvents
from ottla.compat.confluent_kafka._config import client_of, settings_of
from ottla.compat.confluent_kafka._handle import Cluster
from ottla.compat.confluent_kafka._producer_queue import ProducerQueue
from ottla.compat.confluent_kafka._producer_statistics import producer_statistics
from ottla.compat.confluent_kafka._transactions import Transactions


class ProducerParts:
    """The parts of one producer.

    Args:
        config: librdkafka's configuration.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self.settings = settings_of(config, "producer")
        # A send returns at once: what it would wait for, the queue waits for. In a transaction, the
        # same key bounds send_offsets_to_transaction, which needs time.
        is_transactional = bool(self.settings.ottla.get("transactional.id"))
        self.settings.ottla["max.block.ms"] = 30_000 if is_transactional else 50
        if is_transactional:  # a topic that is known stays known, so that no send waits for it
            self.settings.ottla["metadata.max.idle.ms"] = 2**31 - 1
        self.limit = int(self.settings.ottla.get("message.max.bytes") or 1_000_000)
        client = client_of(self.settings)
        self.producer = ottla.Producer(client)
        self.cluster = Cluster(self.settings, client)
        self.queue = ProducerQueue(self.settings, self.producer, self.limit)
        self.transactions = Transactions(self.settings, self.producer)
        self.started = time.monotonic()
        self.events = ClientEvents(self.settings, self.producer.connections, self.statistics)
        self.cluster.connect_later()

    def statistics(self) -> str:
        """Return the statistics as JSON."""
        name, queue = self.events.name, self.queue
        return producer_statistics(self.settings, name, self.started, self.producer, queue)

    def abandon(self) -> None:
        """Drop the messages and connections of a producer that was never closed."""
        self.queue.close()
        self.cluster.close()

    def close(self) -> None:
        """Close the connections; an open transaction is aborted."""
        self.queue.close()
        try:
            self.producer.close(timeout=1.0)
        except errors.KafkaError:
            return  # each message has its report already
        finally:
            self.cluster.close()
