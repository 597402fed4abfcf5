"""Steady load by ottla in a process of its own: `python -m tests.fault.load BOOTSTRAP TOPIC N MS`.

One record a partition each time, and a scan of what came since the last one, until standard input
has a line; then one JSON document with what became of it all, and what the process was seen to
use: TCP connections by broker, and threads.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter, deque
from pathlib import Path
from typing import Any

import ottla
from ottla.errors import KafkaError
from tests.support.arrow import read_table
from tests.support.sockets import established


class Writer:
    """Sends, and notes when each partition's records are acknowledged."""

    def __init__(self, client: ottla.Client, topic: str, partitions: int) -> None:
        self._topic = topic
        self._producer = ottla.Producer(client)
        self._pending: list[deque[tuple[str, ottla.Delivery]]] = [
            deque() for _ in range(partitions)
        ]
        started = time.monotonic()
        self._last = [started] * partitions
        self.longest = [0.0] * partitions
        self.acknowledged: list[tuple[int, int, str]] = []
        self.failed: list[str] = []

    def send(self, number: int) -> None:
        """One record to each partition."""
        value = f"ottla-{number}"
        for partition, pending in enumerate(self._pending):
            pending.append((value, self._producer.send(self._topic, value, partition=partition)))

    def collect(self) -> None:
        """Note what was acknowledged since the last time."""
        now = time.monotonic()
        for partition, pending in enumerate(self._pending):
            while pending and pending[0][1].done():
                value, delivery = pending.popleft()
                error = delivery.exception()
                if error is not None:
                    self.failed.append(str(error))
                    continue
                offset = delivery.result().offset
                assert offset is not None
                self.acknowledged.append((partition, offset, value))
                self.longest[partition] = max(self.longest[partition], now - self._last[partition])
                self._last[partition] = now

    def finish(self) -> int:
        """Wait for all that was sent; how many are not known even then."""
        self._producer.flush(150)
        self.collect()
        return sum(map(len, self._pending))


class Reader(threading.Thread):
    """Scans what is new, over and over; each scan goes on where the last one ended."""

    def __init__(self, client: ottla.Client, topic: str, partitions: int) -> None:
        super().__init__(daemon=True)
        self._client, self._topic = client, topic
        self._positions = dict.fromkeys(range(partitions), 0)
        self.stop = threading.Event()
        self.found = 0
        self.error: str | None = None

    def run(self) -> None:
        """Read until told to stop, or until reading fails."""
        try:
            while not self.stop.wait(0.2):
                self.read_on()
        except (KafkaError, AssertionError) as error:
            self.error = repr(error)

    def read_on(self) -> None:
        """Read what is new."""
        scan = ottla.scan(
            self._topic,
            self._client,
            start=self._positions,
            columns=["partition", "offset"],
            timeout=150,
        )
        table = read_table(scan)
        for partition, offset in zip(
            table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True
        ):
            assert offset == self._positions[partition], "a gap, or a record twice"
            self._positions[partition] = offset + 1
            self.found += 1


class Census(threading.Thread):
    """Looks at this process often: its connections to each port, and its threads."""

    def __init__(self, ports: set[int]) -> None:
        super().__init__(daemon=True)
        self._ports = ports
        self.stop = threading.Event()
        self.most_connections: Counter[int] = Counter()
        self.at_most: dict[int, list[int]] = {}
        self.threads: Counter[int] = Counter()

    def run(self) -> None:
        """Look until told to stop."""
        while not self.stop.wait(0.05):
            self.threads[len(list(Path("/proc/self/task").iterdir()))] += 1
            now = established(self._ports)
            for port, count in Counter(port for _, port in now).items():
                if count > self.most_connections[port]:
                    self.most_connections[port] = count
                    self.at_most[port] = [local for local, remote in now if remote == port]


def main(bootstrap: str, topic: str, partitions: int, milliseconds: int) -> dict[str, Any]:
    """Work until standard input has a line, and report."""
    stop = threading.Event()

    def wait_for_a_line() -> None:
        sys.stdin.readline()
        stop.set()

    census = Census({int(server.rpartition(":")[2]) for server in bootstrap.split(",")})
    with ottla.Client(bootstrap) as client:
        client.cluster([topic])
        writer = Writer(client, topic, partitions)
        reader = Reader(client, topic, partitions)
        for thread in (threading.Thread(target=wait_for_a_line, daemon=True), reader, census):
            thread.start()
        print("ready", flush=True)
        number = 0
        while not stop.wait(milliseconds / 1000):
            writer.send(number)
            writer.collect()
            number += 1
        census.stop.set()
        unknown = writer.finish()
        reader.stop.set()
        reader.join(200)
        if reader.error is None and not reader.is_alive():
            reader.read_on()
    return {
        "sent": number * partitions,
        "acknowledged": writer.acknowledged,
        "failed": writer.failed,
        "unknown": unknown,
        "longest": writer.longest,
        "read": reader.found,
        "read_error": reader.error,
        "connections": dict(census.most_connections),
        "local_ports": census.at_most,
        "threads": dict(census.threads),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
