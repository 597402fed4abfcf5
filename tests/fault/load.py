"""Steady load by ottla in its own process: `python -m tests.fault.load BOOTSTRAP TOPIC N MS`.

Every MS milliseconds it sends one record per partition; a thread scans the new records. A line on
standard input ends it. It then prints a JSON document with the results and the resources used: TCP
connections by broker, and threads.
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
    """Sends records, and measures the time between acknowledgements of each partition."""

    def __init__(self, client: ottla.Client, topic: str, partitions: int) -> None:
        self._topic = topic
        self._producer = ottla.Producer(client)
        self._pending: list[deque[tuple[str, ottla.Delivery]]] = [
            deque() for _ in range(partitions)
        ]
        started = time.monotonic()
        self._last = [started] * partitions
        self.longest_gap = [0.0] * partitions
        self.acknowledged: list[tuple[int, int, str]] = []
        self.failed: list[str] = []

    def send(self, number: int) -> None:
        """Send one record to each partition."""
        value = f"ottla-{number}"
        for partition, pending in enumerate(self._pending):
            pending.append((value, self._producer.send(self._topic, value, partition=partition)))

    def collect(self) -> None:
        """Collect the deliveries that have completed."""
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
                self.longest_gap[partition] = max(
                    self.longest_gap[partition], now - self._last[partition]
                )
                self._last[partition] = now

    def finish(self) -> int:
        """Wait for all records; return the number without a result."""
        self._producer.flush(timeout=150)
        self.collect()
        return sum(map(len, self._pending))


class Reader(threading.Thread):
    """Scans new records repeatedly; each scan continues where the last one ended."""

    def __init__(self, client: ottla.Client, topic: str, partitions: int) -> None:
        super().__init__(daemon=True)
        self._client, self._topic = client, topic
        self._positions = dict.fromkeys(range(partitions), 0)
        self.stop = threading.Event()
        self.found = 0
        self.error: str | None = None

    def run(self) -> None:
        """Read until `stop` is set or reading fails."""
        try:
            while not self.stop.wait(0.2):
                self.read_new()
        except (KafkaError, AssertionError) as error:
            self.error = repr(error)

    def read_new(self) -> None:
        """Read the new records."""
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
            assert offset == self._positions[partition], "a gap or a duplicate"
            self._positions[partition] = offset + 1
            self.found += 1


class ResourceMonitor(threading.Thread):
    """Samples this process's connections to each port, and its threads."""

    def __init__(self, ports: set[int]) -> None:
        super().__init__(daemon=True)
        self._ports = ports
        self.stop = threading.Event()
        self.peak_connections: Counter[int] = Counter()
        self.ports_at_peak: dict[int, list[int]] = {}
        self.threads: Counter[int] = Counter()

    def run(self) -> None:
        """Sample until `stop` is set."""
        while not self.stop.wait(0.05):
            self.threads[len(list(Path("/proc/self/task").iterdir()))] += 1
            now = established(self._ports)
            for port, count in Counter(port for _, port in now).items():
                if count > self.peak_connections[port]:
                    self.peak_connections[port] = count
                    self.ports_at_peak[port] = [local for local, remote in now if remote == port]


def main(bootstrap: str, topic: str, partitions: int, milliseconds: int) -> dict[str, Any]:
    """Run the load until standard input has a line; return the report."""
    stop = threading.Event()

    def wait_for_a_line() -> None:
        sys.stdin.readline()
        stop.set()

    monitor = ResourceMonitor({int(server.rpartition(":")[2]) for server in bootstrap.split(",")})
    with ottla.Client(bootstrap) as client:
        client.cluster([topic])
        writer = Writer(client, topic, partitions)
        reader = Reader(client, topic, partitions)
        for thread in (threading.Thread(target=wait_for_a_line, daemon=True), reader, monitor):
            thread.start()
        print("ready", flush=True)
        number = 0
        while not stop.wait(milliseconds / 1000):
            writer.send(number)
            writer.collect()
            number += 1
        monitor.stop.set()
        unknown = writer.finish()
        reader.stop.set()
        reader.join(200)
        if reader.error is None and not reader.is_alive():
            reader.read_new()
    return {
        "sent": number * partitions,
        "acknowledged": writer.acknowledged,
        "failed": writer.failed,
        "unknown": unknown,
        "longest_gap": writer.longest_gap,
        "read": reader.found,
        "read_error": reader.error,
        "connections": dict(monitor.peak_connections),
        "local_ports": monitor.ports_at_peak,
        "threads": dict(monitor.threads),
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
