"""``ottla topics top``: what is written most, once and in the live view."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pytest

from ottla.testing import Fault, MockCluster
from tests.support.command import ottla_here
from tests.support.terminal import terminal


@pytest.fixture
def written(mock_cluster: MockCluster) -> Iterator[MockCluster]:
    """A cluster with a topic of many records a second, and one of few large ones."""
    mock_cluster.create_topic("many", partitions=2)
    mock_cluster.create_topic("large", partitions=1)
    mock_cluster.create_topic("idle", partitions=1)
    done = threading.Event()

    def run() -> None:
        while not done.wait(0.05):
            mock_cluster.append("many", 0, [b"x"] * 10)
            mock_cluster.append("many", 1, [b"x"] * 5)
            mock_cluster.append("large", 0, [b"x" * 10_000])

    thread = threading.Thread(target=run)
    thread.start()
    yield mock_cluster
    done.set()
    thread.join()


def test_topics_are_sorted_by_their_rates(written: MockCluster) -> None:
    top = ("topics", "top", "-b", written.bootstrap, "--for", "400ms")
    done = ottla_here(*top)
    assert (done.code, done.err) == (0, "")
    header, *rows, total = done.text.splitlines()
    assert header.split() == ["topic", "partitions", "records/s", "bytes/s", "bytes/record"]
    assert [row.split()[0] for row in rows] == ["many", "large", "idle"]
    assert rows[-1].split()[1:] == ["1", "0", "0", "B"]
    assert total.startswith("4 partitions: ")
    assert total.endswith(" a record")
    by_bytes = ottla_here(*top, "--sort", "bytes", "--limit", "1").text.splitlines()
    assert len(by_bytes) == 3
    assert by_bytes[1].startswith("large ")
    named = ottla_here(*top, "--sort", "name", "--match", "^(large|many)$").text.splitlines()
    assert [row.split()[0] for row in named[1:-1]] == ["large", "many"]


def test_rows_of_partitions_and_brokers_as_json(written: MockCluster) -> None:
    top = ("topics", "top", "-b", written.bootstrap, "--for", "400ms", "--json")
    found = json.loads(ottla_here(*top, "many", "--by", "partition").text)
    assert (found["by"], found["shortened"]) == ("partition", [])
    assert found["seconds"] >= 0.4
    first, second = found["rows"]
    assert (first["topic"], first["partition"], second["partition"]) == ("many", 0, 1)
    assert first["leader"] == written.leader("many", 0)
    # Both are written at once, but for the moment of a sample.
    assert first["records_per_second"] == pytest.approx(2 * second["records_per_second"], rel=0.4)
    total = found["total"]
    assert total["records_per_second"] == pytest.approx(
        first["records_per_second"] + second["records_per_second"]
    )
    found = json.loads(ottla_here(*top, "--by", "broker").text)
    assert sorted(row["broker"] for row in found["rows"]) == [1, 2, 3]
    assert sum(row["partition_count"] for row in found["rows"]) == 4
    assert all(row["bytes_per_second"] is not None for row in found["rows"])


def test_what_cannot_be_asked_is_said(written: MockCluster) -> None:
    written.inject(Fault.error("CLUSTER_AUTHORIZATION_FAILED"), api="DescribeLogDirs", broker=1)
    leads = next(each for each in (0, 1) if written.leader("many", each) != 1)
    written.move_leader("many", 1 - leads, 1)
    done = ottla_here("topics", "top", "-b", written.bootstrap, "--for", "400ms", "--by", "broker")
    assert done.code == 1
    assert "the sizes on broker 1 are unknown: " in done.err
    assert any(row.split()[0] == "1" for row in done.text.splitlines())
    for wrong in (("--for", "0s"), ("--limit", "0"), ("--interval", "x"), ("--match", "(")):
        assert ottla_here("topics", "top", "-b", written.bootstrap, *wrong).code == 2
    done = ottla_here("topics", "top", "nosuch", "-b", written.bootstrap, "--for", "100ms")
    assert (done.code, done.text) == (1, "")
    assert "nosuch" in done.err


def test_the_live_view(written: MockCluster) -> None:
    arguments = ("topics", "top", "-b", written.bootstrap, "--interval", "0.2", "--by", "partition")
    with terminal(*arguments, lines=12) as view:
        drawing = view.wait_for("records/s", "Ctrl-C to exit", "4 partitions: ")
        rows = [line.split() for line in drawing.splitlines() if "-0 " in line or "-1 " in line]
        assert rows[0][0] == "many-0"
        assert rows[1][0] == "many-1"
        # The view goes on while a broker does not respond.
        written.stop_broker(3)
        view.wait_for("records/s", "many-0")
        assert view.interrupt()[0] == 130
