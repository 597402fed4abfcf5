"""A client or a scan that cannot start leaves no connections, although its exception's traceback
still refers to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster
from tests.support.forgotten import connections
from tests.support.loops import run
from tests.support.waiting import wait_until

NAIVE = datetime(2024, 2, 29)  # noqa: DTZ001 - a mistake that scans refuse


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    """A cluster on which clients authenticate."""
    with MockCluster(users={"application": "secret"}) as cluster:
        yield cluster


def _entered(make: Callable[[str], Any]) -> Callable[[str], Any]:
    async def enter(servers: str) -> None:
        async with make(servers):
            raise AssertionError("it has started")

    return lambda servers: run(enter(servers))


def _iterated(make: Callable[[str], Any]) -> Callable[[str], Any]:
    async def iterate(servers: str) -> None:
        async for _ in make(servers):
            raise AssertionError("it has started")

    return lambda servers: run(iterate(servers))


STARTS: dict[str, Callable[[str], Any]] = {
    "scan-start": lambda servers: ottla.scan("orders", servers, start=NAIVE),
    "scan-end": lambda servers: ottla.scan("orders", servers, end=NAIVE),
    "scan-partition": lambda servers: ottla.scan("orders", servers, partitions=[9]),
    "scan-column": lambda servers: ottla.scan("orders", servers, columns=["no"]),
    "async-scan-entered": _entered(
        lambda servers: ottla.scan_async("orders", servers, partitions=[9])
    ),
    "async-scan-iterated": _iterated(
        lambda servers: ottla.scan_async("orders", servers, columns=["no"])
    ),
    "consumer-topics": lambda servers: ottla.Consumer(servers, group_id="g", topics=[]),
    "share-consumer-topics": lambda servers: ottla.ShareConsumer(servers, group_id="g", topics=[]),
}


@pytest.mark.parametrize("start", STARTS)
def test_a_failed_start_leaves_no_connections(
    start: str, mock_cluster: MockCluster, topic: str
) -> None:
    """Not even while the exception and its traceback exist."""
    with pytest.raises(errors.KafkaError) as raised:
        STARTS[start](mock_cluster.bootstrap)
    wait_until(lambda: connections(mock_cluster) == 0, timeout=20)
    assert raised.value.__traceback__ is not None


def test_a_scan_that_failed_to_start_starts_again(mock_cluster: MockCluster) -> None:
    async def read() -> None:
        scan = ottla.scan_async("more", mock_cluster.bootstrap, timeout=5, partitions=[1])
        mock_cluster.create_topic("more", partitions=1)
        with pytest.raises(errors.UnknownTopicError, match="partition 1"):
            await scan.__anext__()
        mock_cluster.delete_topic("more")
        mock_cluster.create_topic("more", partitions=2)
        mock_cluster.append("more", 1, [b"1"])
        assert len(await scan.__anext__()) == 1
        await scan.close()

    run(read())
    wait_until(lambda: connections(mock_cluster) == 0, timeout=20)


REFUSED = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_username": "application",
    "sasl_password": "wrong",
}
NAMES = ("Client", "Admin", "Consumer", "Producer", "ShareConsumer")


@pytest.mark.parametrize("kind", [*NAMES, *(f"Async{name}" for name in NAMES)])
def test_refused_credentials_leave_no_connections(kind: str, cluster: MockCluster) -> None:
    def make(servers: str) -> Any:
        group = {"group_id": "g"} if "Consumer" in kind else {}
        return getattr(ottla, kind)(servers, **REFUSED, **group)

    with pytest.raises(errors.AuthenticationError) as raised:
        (_entered(make) if kind.startswith("Async") else make)(cluster.bootstrap)
    wait_until(lambda: connections(cluster) == 0, timeout=20)
    assert raised.value.__traceback__ is not None
