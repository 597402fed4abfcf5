"""A producer that one thread polls and another flushes."""

from __future__ import annotations

import threading
import time
from typing import Any

from ottla.testing import MockCluster

PATIENCE = 30.0


def test_a_flush_ends_with_the_last_report_although_another_thread_polls(
    either: Any, cluster: MockCluster, name: str
) -> None:
    cluster.create_topic(name, partitions=1)
    producer, stopped = either.Producer({"bootstrap.servers": cluster.bootstrap}), threading.Event()

    def serve() -> None:
        while not stopped.is_set():
            producer.poll(1)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        producer.produce(name, "first")
        producer.flush(PATIENCE)
        began = time.monotonic()
        for _ in range(40):
            producer.produce(name, "v")
            assert producer.flush(PATIENCE) == 0
        # Each took 0.2 s.
        assert time.monotonic() - began < 7.5
    finally:
        stopped.set()
        thread.join()
