"""The last N are N records: markers, aborted records and deleted offsets do not count."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.request import urlopen

import pytest

import ottla
from ottla.console import serve
from ottla.testing import MockCluster
from tests.support.command import ottla_here
from tests.support.consumers import TIMEOUT

COMMITTED, ABORTED = True, False


def transact(
    cluster: MockCluster, topic: str, transactions: Iterable[tuple[list[str], bool]]
) -> None:
    """Write transactions to partition 0; each ends with a marker, which takes an offset."""
    with ottla.Producer(cluster.bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        for values, commits in transactions:
            producer.begin_transaction()
            for delivery in [producer.send(topic, value, partition=0) for value in values]:
                delivery.result(timeout=TIMEOUT)
            if commits:
                producer.commit_transaction()
            else:
                producer.abort_transaction()


def last(cluster: MockCluster, topic: str, *arguments: str, level: str) -> list[str]:
    """Return the values that a command prints."""
    level = f"isolation.level=read_{level}"
    done = ottla_here("consume", cluster.bootstrap, "-t", topic, "-X", level, *arguments)
    assert (done.code, done.err) == (0, "")
    return done.text.split()


@pytest.fixture
def markers(mock_cluster: MockCluster, single: str) -> str:
    """A topic in which every second offset is a marker."""
    transact(
        mock_cluster, single, [(["a", "b"], COMMITTED), (["c"], COMMITTED), (["d"], COMMITTED)]
    )
    return single


@pytest.fixture
def aborted(mock_cluster: MockCluster, single: str) -> str:
    """A topic whose end is nothing but aborted records and markers."""
    transact(mock_cluster, single, [(["a", "b"], COMMITTED), *[(["x"], ABORTED)] * 6])
    return single


@pytest.mark.parametrize("count", [1, 2, 3, 4, 100])
@pytest.mark.parametrize("level", ["committed", "uncommitted"])
def test_markers_are_no_records(
    mock_cluster: MockCluster, markers: str, count: int, level: str
) -> None:
    """Neither for --last nor for -o."""
    expected = ["a", "b", "c", "d"][-count:]
    assert last(mock_cluster, markers, "--last", str(count), level=level) == expected
    assert last(mock_cluster, markers, "-e", "-o", f"-{count}", level=level) == expected


def test_aborted_records_count_only_if_they_are_read(
    mock_cluster: MockCluster, aborted: str
) -> None:
    """It depends on the isolation level."""
    for count, committed, all_of_them in (
        (1, ["b"], ["x"]),
        (2, ["a", "b"], ["x", "x"]),
        (7, ["a", "b"], ["b", *"x" * 6]),
    ):
        for arguments in (["--last", str(count)], ["-e", "-o", f"-{count}"]):
            found = last(mock_cluster, aborted, *arguments, level="committed")
            assert found == committed
            found = last(mock_cluster, aborted, *arguments, level="uncommitted")
            assert found == all_of_them


def test_a_topic_without_records_has_no_last_one(mock_cluster: MockCluster, single: str) -> None:
    """Neither one that is empty, nor one with markers alone."""
    for _ in range(2):
        for arguments in (["--last", "3"], ["-e", "-o", "-3"]):
            assert last(mock_cluster, single, *arguments, level="committed") == []
        transact(mock_cluster, single, [(["x"], ABORTED)])


def test_deleted_records_do_not_count(
    mock_cluster: MockCluster, producer: ottla.Producer, topic: str
) -> None:
    """Each partition has its own beginning."""
    for n in range(12):
        producer.send(topic, str(n), partition=n % 3, timestamp=n).result(timeout=TIMEOUT)
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.delete_records({(topic, 0): 3, (topic, 1): 4})
    assert last(mock_cluster, topic, "--last", "3", level="uncommitted") == ["8", "9", "11"]
    found = last(mock_cluster, topic, "-e", "-o", "-2", level="uncommitted")
    assert sorted(found) == ["11", "8", "9"]


def test_the_consoles_newest_records_are_records(
    mock_cluster: MockCluster, client: ottla.Client, markers: str
) -> None:
    """Also from a place that is counted from the end."""

    def read(**query: Any) -> list[str]:
        text = "&".join(f"{name}={value}" for name, value in query.items())
        url = f"{console.url}api/messages?topic={markers}&{text}"
        with urlopen(url, timeout=TIMEOUT) as response:
            return [found["value"]["text"] for found in json.load(response)["records"]]

    with serve(client, token=False) as console:
        assert read(last=1) == ["d"]
        assert read(last=3) == ["b", "c", "d"]
        assert read(start=-2) == ["c", "d"]
