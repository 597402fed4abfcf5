"""Runs ottla on another host: `python -m tests.network.agent`.

Reads one JSON job per line, and writes one JSON result per line. The result of a failed job has the
error's class, message and fields.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import ottla
from ottla.errors import KafkaError
from tests.support.arrow import read_table
from tests.support.committed import committed_rows


class Agent:
    """The jobs, by name, and the client that some of them share."""

    def __init__(self) -> None:
        self.client: ottla.Client | None = None
        self.producer: ottla.Producer | None = None
        self.delivery: ottla.Delivery | None = None

    def round_trip(
        self, bootstrap: str, topic: str, config: dict[str, Any], count: int = 30
    ) -> dict[str, Any]:
        """Write to all partitions and read back; report counts and connection addresses."""
        with ottla.Client(bootstrap, config, timeout=60) as client:
            partitions = len(client.cluster([topic], timeout=60).topics[topic].partitions)
            with ottla.Producer(client) as producer:
                values = [f"{bootstrap} {i}" for i in range(count)]
                spread = [i % partitions for i in range(count)]
                written = producer.send_batch(topic, values, partitions=spread).result(timeout=120)
            found = read_table(ottla.scan(topic, client, timeout=60))["value"].to_pylist()
            return {
                "written": written,
                "read": sum(value.decode() in set(values) for value in found),
                "addresses": sorted({c.address for c in client.connections()}),
                **_view(client),
            }

    def group(
        self, bootstrap: str, topic: str, name: str, protocol: str, count: int
    ) -> dict[str, Any]:
        """Read and commit as a member of a group; report both numbers of records."""
        config = {
            "group.id": name,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
        }
        read, deadline = 0, time.monotonic() + 120
        with ottla.Consumer(bootstrap, config) as consumer:
            consumer.subscribe([topic])
            while read < count and time.monotonic() < deadline:
                read += len(consumer.poll(timeout=0.5))
            consumer.commit()
        with ottla.Admin(bootstrap) as admin:
            committed = admin.list_group_offsets([name])[name]
        return {"read": read, "committed": sum(each.offset for each in committed.values())}

    def transactions(self, bootstrap: str, topic: str, name: str) -> dict[str, Any]:
        """Commit, abort and commit ten records; report the values that are committed."""
        with ottla.Producer(bootstrap, transactional_id=name) as producer:
            producer.init_transactions()
            for number in range(3):
                producer.begin_transaction()
                for n in range(10):
                    producer.send(topic, f"{number}-{n}")
                if number == 1:
                    producer.abort_transaction()
                else:
                    producer.commit_transaction()
        values = [row["value"].decode() for row in committed_rows(bootstrap, topic)]
        return {"values": sorted(values)}

    def open(self, bootstrap: str, config: dict[str, Any]) -> dict[str, Any]:
        """Create the client and producer for later jobs."""
        self.client = ottla.Client(bootstrap, config, timeout=60)
        self.producer = ottla.Producer(self.client)
        return _view(self.client)

    def leaders(self, topic: str) -> dict[str, Any]:
        """Report the leaders of a topic."""
        assert self.client is not None
        found = self.client.cluster([topic], timeout=60).topics[topic].partitions
        return {"leaders": [found[i].leader for i in sorted(found)]}

    def send(self, topic: str, partition: int) -> dict[str, Any]:
        """Write one record and wait for its delivery."""
        assert self.producer is not None
        result = self.producer.send(topic, "sent", partition=partition).result(timeout=120)
        return {"offset": result.offset}

    def send_until_disconnect(self, topic: str, partition: int, broker: int) -> dict[str, Any]:
        """Send a record over a broken connection, and wait for the connection to close."""
        assert self.client is not None
        assert self.producer is not None
        before = self._states()[broker]
        self.delivery = self.producer.send(topic, "lost", partition=partition)
        deadline = time.monotonic() + 120
        while self._states()[broker] == before:
            assert time.monotonic() < deadline, "the connection did not end"
            time.sleep(0.02)
        return {"before": before, "after": self._states()[broker]}

    def wait_for_delivery(self) -> dict[str, Any]:
        """Wait for the delivery of the record that `send_until_disconnect` sent."""
        assert self.delivery is not None
        return {"offset": self.delivery.result(timeout=120).offset}

    def wait_for_warning(self, how: str, topic: str, partition: int, about: str) -> dict[str, Any]:
        """Read or write a partition until a warning about something is logged; return these.

        On a busy machine, others may warn too: they are not returned.
        """
        assert self.client is not None
        messages: list[str] = []
        handler = logging.Handler(logging.WARNING)

        def emit(record: logging.LogRecord) -> None:
            if about in (message := record.getMessage()):
                messages.append(message)

        handler.emit = emit  # type: ignore[method-assign]
        logging.getLogger("ottla").addHandler(handler)
        deadline = time.monotonic() + 90
        if how == "write":
            assert self.producer is not None
            # Larger than a packet.
            self.delivery = self.producer.send(topic, "x" * 20_000, partition=partition)
            while not messages and time.monotonic() < deadline:
                time.sleep(0.05)
        else:
            with ottla.Consumer(self.client) as consumer:
                consumer.assign([(topic, partition)])
                while not messages and time.monotonic() < deadline:
                    consumer.poll(timeout=0.05)
        logging.getLogger("ottla").removeHandler(handler)
        return {"warnings": messages}

    def close(self) -> dict[str, Any]:
        """Close the producer and the client."""
        if self.producer is not None:
            self.producer.close(timeout=1)
        if self.client is not None:
            self.client.close(timeout=1)
        return {}

    def _states(self) -> dict[int, tuple[str, str | None]]:
        assert self.client is not None
        return {c.broker: (c.state, c.last_error) for c in self.client.connections()}


def _view(client: ottla.Client) -> dict[str, Any]:
    brokers = client.cluster().brokers
    return {"brokers": {b.id: f"{b.host}:{b.port}" for b in brokers.values()}}


def _run_job(job: Callable[..., dict[str, Any]], arguments: dict[str, Any]) -> dict[str, Any]:
    started = time.monotonic()
    try:
        result = job(**arguments)
    except KafkaError as error:
        result = {
            "error": type(error).__name__,
            "message": str(error),
            "retriable": error.retriable,
            "context": error.context,
        }
    return {**result, "seconds": time.monotonic() - started}


if __name__ == "__main__":
    agent = Agent()
    for line in sys.stdin:
        name, given = json.loads(line)
        print(json.dumps(_run_job(getattr(agent, name), given)), flush=True)
    # Does not wait for connections into a black hole.
    os._exit(0)
