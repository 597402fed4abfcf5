"""Histories of transactions while brokers are killed.

OTTLA_SEEDS=50 is a longer run; OTTLA_SEED=7 repeats one.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.history.checker import check
from tests.history.events import Transaction
from tests.history.workload import run_workload
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.fault]

TopicFactory = Callable[..., str]
PARTITIONS = 3
WRITERS = 3
# Enough for several kills.
TRANSACTIONS = 300
SEEDS = range(int(os.environ.get("OTTLA_SEEDS", "2")))
if "OTTLA_SEED" in os.environ:
    SEEDS = range(int(os.environ["OTTLA_SEED"]), int(os.environ["OTTLA_SEED"]) + 1)


class BrokerKills(threading.Thread):
    """Kills a broker at a time, which comes back, until it is stopped."""

    def __init__(self, kafka: KafkaCluster, seed: int) -> None:
        super().__init__(daemon=True)
        self._kafka = kafka
        self._random = random.Random(seed)
        self._stopped = threading.Event()
        self.count = 0

    def run(self) -> None:
        while not self._stopped.wait(self._random.uniform(0.5, 2)):
            broker = self._random.choice(sorted(self._kafka.nodes))
            self._kafka.kill(broker)
            self.count += 1
            self._stopped.wait(self._random.uniform(0, 2))
            self._kafka.restart(broker)

    def stop(self) -> None:
        """Stop killing; returns when all brokers live."""
        self._stopped.set()
        self.join()


@pytest.mark.parametrize("seed", SEEDS)
def test_no_anomaly_while_brokers_are_killed(
    kafka: KafkaCluster, kafka_topic: TopicFactory, tmp_path: Path, seed: int
) -> None:
    kafka.set_transaction_version((0, 2)[seed % 2])
    topic = kafka_topic(PARTITIONS)
    kills = BrokerKills(kafka, seed)
    kills.start()
    try:
        history = run_workload(
            kafka.bootstrap, topic, PARTITIONS, seed, writers=WRITERS, transactions=TRANSACTIONS
        )
    finally:
        kills.stop()
        kafka.heal()
        kafka.set_transaction_version(2)
    (tmp_path / "history.json").write_text(history.to_json())
    assert check(history.events) == [], f"see {tmp_path / 'history.json'}"
    assert kills.count >= 2, "the history was over before two kills: make it longer"
    outcomes = [event.outcome for event in history.events if isinstance(event, Transaction)]
    assert len(outcomes) >= WRITERS * TRANSACTIONS
    assert outcomes.count("committed") > len(outcomes) // 2
