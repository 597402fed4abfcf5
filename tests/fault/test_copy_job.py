"""The copy job of Kafka's system tests, with brokers and copiers killed all the while.

OTTLA_ROUNDS=5 repeats each case; OTTLA_SEED=7 begins with another seed.
"""

from __future__ import annotations

import logging
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import ottla
from tests.fault.copy_job import Copiers, JavaReader, Kills, OttlaReader
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.fault]

TopicFactory = Callable[..., str]
log = logging.getLogger(__name__)

PARTITIONS = 4
RECORDS = 200_000
KILLS = 12
TIMEOUT = 600.0
FIRST = int(os.environ.get("OTTLA_SEED", "1"))
ROUNDS = range(FIRST, FIRST + int(os.environ.get("OTTLA_ROUNDS", "1")))


@pytest.mark.parametrize("seed", ROUNDS)
@pytest.mark.parametrize("versions", [(0, 0), (2, 2), (0, 2)], ids=["v1", "v2", "upgrade"])
@pytest.mark.parametrize("group", [False, True], ids=["assigned", "group"])
def test_each_integer_is_copied_once_and_in_order(
    kafka: KafkaCluster,
    kafka_topic: TopicFactory,
    tmp_path: Path,
    versions: tuple[int, int],
    group: bool,
    seed: int,
) -> None:
    source, target = kafka_topic(PARTITIONS), kafka_topic(PARTITIONS)
    before, after = versions
    kafka.set_transaction_version(before)
    produce(kafka, source)
    random.seed(seed)
    started = time.monotonic()
    readers = [reader(kafka, target, PARTITIONS) for reader in (OttlaReader, JavaReader)]
    copiers = Copiers(kafka.bootstrap, source, target, PARTITIONS, tmp_path, group=group)
    kills = Kills(kafka, copiers, PARTITIONS, seed)
    gave_up: list[str] = []
    try:
        while (least := min(reader.count() for reader in readers)) < RECORDS:
            where = f"{least} of {RECORDS} are committed; copiers gave up: {gave_up}"
            assert time.monotonic() - started < TIMEOUT, where
            time.sleep(kills.pause())
            if kills.copiers < KILLS:
                kills.kill()
            if kills.copiers == KILLS // 2:
                kafka.set_transaction_version(after)
            gave_up += copiers.restart_failed()
        # A record that is copied twice would still arrive.
        time.sleep(3)
    finally:
        copiers.end()
        for reader in readers:
            reader.end()
        kafka.heal()
        kafka.set_transaction_version(2)
    for reader in readers:
        for partition, values in reader.values.items():
            assert values == list(range(partition, RECORDS, PARTITIONS)), type(reader)
    log.warning(
        "%d copiers and %d brokers killed, %d gave up, %.0f s",
        *(kills.copiers, kills.brokers, len(gave_up), time.monotonic() - started),
    )
    assert kills.copiers == KILLS, "the job was over before all kills: make it larger"


def produce(kafka: KafkaCluster, topic: str) -> None:
    """Write the integers; each partition has its own in order."""
    numbers = range(RECORDS)
    with ottla.Producer(kafka.bootstrap) as producer:
        producer.send_batch(
            topic, [b"%d" % n for n in numbers], partitions=[n % PARTITIONS for n in numbers]
        )
