"""``ottla groups lag --for`` on the mock, and the trend that the console shows."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ottla.admin import PartitionLag
from ottla.console.group_trends import GroupTrends
from ottla.testing import MockCluster
from tests.support.command import ottla_here


@contextmanager
def committing(mock_cluster: MockCluster, topic: str) -> Iterator[None]:
    """A group that reads what is written to partition 0 and commits every 0.2 seconds."""
    done = threading.Event()

    def run() -> None:
        end = 0
        while not done.wait(0.2):
            mock_cluster.append(topic, 0, [b"x"] * 24)
            # The last records are read with the next commit.
            mock_cluster.commit("billing", topic, 0, end)
            end += 24

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_the_trend_of_a_healthy_group(
    mock_cluster: MockCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ottla.cli.groups.lag._STEP", 0.25)
    mock_cluster.commit("billing", topic, 0, 0)
    with committing(mock_cluster, topic):
        command = ("groups", "lag", "billing", "-b", mock_cluster.bootstrap, "--for", "2s")
        done = ottla_here(*command)
        assert (done.code, done.err) == (0, "")
        assert "ottla: waiting for the end of the measurement of 2s\n" in done.waits
        _, header, row, lag, footer = done.text.splitlines()
        assert header.split()[-4:] == ["read/s", "written/s", "cleared", "in"]
        assert row.endswith("keeps up")
        assert lag.startswith("lag ")
        assert " read and " in footer
        assert footer.endswith(" written per second: the group keeps up")
        [found] = json.loads(ottla_here(*command, "--json").text)
        [partition] = found["partitions"]
        assert found["trend"] == partition["trend"]
        assert (found["trend"]["state"], found["trend"]["seconds_to_clear"]) == ("keeping_up", 0)
        assert 0 < found["trend"]["read"] == pytest.approx(found["trend"]["written"], rel=0.5)


def test_without_a_whole_interval_the_trend_is_not_known_yet(
    mock_cluster: MockCluster, topic: str
) -> None:
    mock_cluster.append(topic, 0, [b"x"] * 24)
    mock_cluster.commit("billing", topic, 0, 11)
    done = ottla_here("groups", "lag", "billing", "-b", mock_cluster.bootstrap, "--for", "100ms")
    assert (done.code, done.err) == (0, "")
    assert "not known yet" in done.text.splitlines()[2]
    assert "never" not in done.text
    assert done.text.endswith("between two commits, such as --for 15s\n")


def _lag(committed: int, end: int) -> PartitionLag:
    return PartitionLag("orders", 0, committed, end, end - committed, None, None, None, None)


def test_the_console_forgets_a_group_that_no_page_shows() -> None:
    now = 0.0
    trends = GroupTrends(clock=lambda: now)
    for _ in range(20):
        total, by_partition = trends.observe("billing", [_lag(int(now) // 5 * 600, int(now) * 120)])
        assert total == by_partition["orders", 0]
        now += 3
    assert total is not None
    assert total.state == "keeping_up"
    # Nobody has looked for a minute: the change of the offset has no time.
    now += 60
    total, _ = trends.observe("billing", [_lag(600, 700)])
    assert total is not None
    assert (total.state, total.written) == ("unknown", None)
    for group in range(200):
        trends.observe(f"group-{group}", [])
    assert len(trends._groups) == 64
