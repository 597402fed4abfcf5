"""Seeded workloads on the mock while requests fail, responses are lost and leaders move."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path

import pytest

from ottla.testing import Fault, MockCluster
from tests.history.checker import check
from tests.history.workload import run_workload

# OTTLA_SEEDS=2000 is a night's run; OTTLA_SEED=7 repeats one.
SEEDS = range(int(os.environ.get("OTTLA_SEEDS", "20")))
if "OTTLA_SEED" in os.environ:
    SEEDS = range(int(os.environ["OTTLA_SEED"]), int(os.environ["OTTLA_SEED"]) + 1)
PARTITIONS = 3
# More would only pile up before the few requests of some APIs.
MAX_DISTURBANCES = 40
TIMES = {
    "request.timeout.ms": "500",
    "delivery.timeout.ms": "20000",
    "retry.backoff.ms": "5",
    "retry.backoff.max.ms": "50",
    "linger.ms": "0",
}
APIS = (
    "Produce",
    "InitProducerId",
    "AddPartitionsToTxn",
    "EndTxn",
    "FindCoordinator",
    "Metadata",
    "Fetch",
)
ERRORS = {
    "Produce": ["NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS"],
    "InitProducerId": ["COORDINATOR_LOAD_IN_PROGRESS", "CONCURRENT_TRANSACTIONS"],
    "AddPartitionsToTxn": ["CONCURRENT_TRANSACTIONS", "COORDINATOR_NOT_AVAILABLE"],
    "EndTxn": ["COORDINATOR_LOAD_IN_PROGRESS", "UNKNOWN_SERVER_ERROR"],
    "FindCoordinator": ["COORDINATOR_NOT_AVAILABLE"],
    "Fetch": ["NOT_LEADER_OR_FOLLOWER"],
}


class Disturbance(threading.Thread):
    """Injects faults and moves leaders and coordinators, for a while."""

    def __init__(self, cluster: MockCluster, topic: str, seed: int) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._topic = topic
        self._random = random.Random(seed)
        self._stopped = threading.Event()

    def run(self) -> None:
        for _ in range(MAX_DISTURBANCES):
            if self._stopped.wait(self._random.uniform(0, 0.03)):
                return
            self._disturb()

    def _disturb(self) -> None:
        kind = self._random.randrange(6)
        broker = self._random.randrange(1, 4)
        if kind == 0:
            partition = self._random.randrange(PARTITIONS)
            self._cluster.move_leader(self._topic, partition, broker)
        elif kind == 1:
            name = f"{self._topic}-writer{self._random.randrange(2)}"
            self._cluster.move_coordinator(name, broker)
        else:
            api = self._random.choice(APIS)
            self._cluster.inject(self._fault(api), api=api, times=1)

    def _fault(self, api: str) -> Fault:
        kind = self._random.randrange(4)
        if kind == 0:
            return Fault.disconnect("before")
        if kind == 1:
            return Fault.disconnect("after")
        if kind == 2 and api in ERRORS:
            return Fault.error(self._random.choice(ERRORS[api]))
        return Fault.delay(self._random.uniform(0, 0.2))

    def stop(self) -> None:
        self._stopped.set()
        self.join()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_anomaly_whatever_fails(seed: int, tmp_path: Path) -> None:
    version = (0, 2)[seed % 2]
    with MockCluster(brokers=3, transaction_version=version) as cluster:
        cluster.create_topic("t", partitions=PARTITIONS)
        disturbance = Disturbance(cluster, "t", seed)
        disturbance.start()
        try:
            history = run_workload(cluster.bootstrap, "t", PARTITIONS, seed, config=TIMES)
        finally:
            disturbance.stop()
    (tmp_path / "history.json").write_text(history.to_json())
    assert check(history.events) == [], f"see {tmp_path / 'history.json'}"


def test_the_checker_finds_the_aborted_records_of_a_reader_that_reads_all(tmp_path: Path) -> None:
    with MockCluster(brokers=3) as cluster:
        cluster.create_topic("t", partitions=PARTITIONS)
        history = run_workload(
            cluster.bootstrap,
            "t",
            PARTITIONS,
            1,
            transactions=20,
            config=TIMES,
            isolation_level="read_uncommitted",
        )
    assert {anomaly.kind for anomaly in check(history.events)} == {"aborted read"}
