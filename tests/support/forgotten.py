"""An application that refers to its client and passes it callables: they keep each other alive."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from ottla import errors, interceptors
from ottla.testing import MockCluster
from tests.support.waiting import wait_until


class Application(interceptors.ConsumerInterceptor, interceptors.ProducerInterceptor):
    """Everything that a client calls, in one object that refers to the client."""

    name = "application"
    client: Any = None
    exception: BaseException | None = None

    def load(self, data: bytes) -> bytes:
        """Deserialize, or serialize."""
        return data

    def partition(self, topic: str, key: bytes | None, value: bytes | None, count: int) -> int:
        """Choose the first partition."""
        assert topic
        return 0

    def assign(
        self, topics: Mapping[str, Mapping[int, object]], members: Sequence[Any]
    ) -> dict[str, list[tuple[str, int]]]:
        """Assign everything to the first member."""
        everything = [(topic, index) for topic in topics for index in topics[topic]]
        return {member.member_id: everything for member in members[:1]}

    def called(self, *arguments: object) -> None:
        """Do nothing, as a callback."""

    def fails(self, *arguments: object) -> None:
        """Raise, as a callback."""
        raise ValueError(arguments)

    async def called_later(self, *arguments: object) -> None:
        """Do nothing, as a callback that is a coroutine function."""

    def token(self) -> tuple[str, float]:
        """Return a token that the mock cluster accepts."""
        return "secret", 4_000_000_000.0


def connections(cluster: MockCluster) -> int:
    """Return how many connections the cluster has."""
    return sum(cluster.connections(broker) for broker in cluster.brokers)


def assert_collected(application: weakref.ref[Any], cluster: MockCluster) -> None:
    """Wait until the application is collected, and its client's connections have ended."""

    def is_gone() -> bool:
        # What is in flight ends first.
        if application() is not None:
            gc.collect()
        return application() is None and connections(cluster) == 0

    wait_until(is_gone, timeout=20)


def assert_disconnected(cluster: MockCluster) -> None:
    """Fail if a client of the cluster lives on.

    It would look for its brokers for ever, and find those of another test at a port that is used
    again. What only an exception's traceback refers to is collected.
    """
    try:
        if not connections(cluster) or _become(cluster, connected=False, timeout=0.1):
            return
        gc.collect()
        if _become(cluster, connected=False, timeout=0.5):
            return
        # A broker that holds a response back has not noticed that the connection has ended.
        for broker in cluster.brokers:
            cluster.stop_broker(broker)
        cluster.clear_faults()
        for broker in cluster.brokers:
            cluster.start_broker(broker)
        is_back = _become(cluster, connected=True, timeout=2)
        assert not is_back, "a client of the cluster lives on: close it"
    except errors.ClosedError:
        return  # the test has closed the cluster


def _become(cluster: MockCluster, *, connected: bool, timeout: float) -> bool:
    """Wait until there are connections, or none; return whether that was in time."""
    deadline = time.monotonic() + timeout
    while bool(connections(cluster)) != connected:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True
