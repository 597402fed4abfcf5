"""Many clients in one process: they share its threads, and cost nothing while they are idle."""

from __future__ import annotations

import pytest

from benches.scale.many_clients import SCENARIOS, import_costs, measure
from tests.support.child import run_child


def test_idle_producers_wake_no_thread() -> None:
    """Each woke once a second."""
    ended = run_child(
        """
from pathlib import Path
def switches():
    statuses = [task.read_text() for task in Path("/proc/self/task").glob("*/status")]
    lines = [line for status in statuses for line in status.splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))
with MockCluster(brokers=1) as cluster:
    cluster.create_topic("t", partitions=1)
    client = ottla.Client(cluster.bootstrap)
    producers = [ottla.Producer(client) for _ in range(100)]
    for producer in producers:
        producer.send("t", b"first").result(timeout=10)
    time.sleep(1.5)
    before = switches()
    time.sleep(2)
    after = switches()
    say(f"{after - before} switches")
    assert after - before < 100, after - before
"""
    )
    assert ended.code == 0, ended.output


@pytest.mark.deep
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_thousand_clients_share_the_threads_and_a_core(scenario: str) -> None:
    """What they take is on the page of benchmarks; here are bounds with room for a busy machine."""
    cost = measure(scenario, clients=1000, partitions=10_000)
    assert cost.threads <= cost.threads_of_one + 1
    is_shared = "on one client" in scenario or "partitions" in scenario
    assert cost.memory_kib < (60 if is_shared else 400)
    assert cost.idle_cpu < 25


@pytest.mark.deep
def test_importing_ottla_a_hundred_times_costs_little() -> None:
    ottla_ms, python_ms = import_costs(100)
    assert ottla_ms - python_ms < 150
