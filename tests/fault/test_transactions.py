"""Copiers and brokers are killed at random: each record is copied exactly once, and in order."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable

import pytest

import ottla
from tests.support.jars import REPOSITORY
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.fault]

TopicFactory = Callable[..., str]
PARTITIONS = 4
RECORDS = 20_000
COPIERS = 3
# Each kills a copier, and every third one a broker too.
TURNS = 15
TIMEOUT = 240.0

# An exception of the function aborts; the loop then goes on as a restarted process would.
COPIER = """
import random, sys
import ottla
bootstrap, source, target, group, name, seed = sys.argv[1:]
random.seed(int(seed))
class OnPurpose(Exception):
    pass
def function(record):
    if random.random() < 0.0005:
        raise OnPurpose
    return {"value": record.value, "partition": record.partition}
while True:
    try:
        ottla.transform(
            function, source, target, bootstrap, group_id=group, transactional_id=name,
            max_records=100, session_timeout_ms=6_000, heartbeat_interval_ms=500,
            transaction_timeout_ms=10_000,
        )
    except (OnPurpose, ottla.KafkaError) as error:
        print(type(error).__name__, error, flush=True)
"""


class Copiers:
    """Processes that copy; each has a transactional id, which its successor keeps."""

    def __init__(self, bootstrap: str, source: str, target: str) -> None:
        self._arguments = [bootstrap, source, target, f"copy-{uuid.uuid4().hex[:8]}"]
        self._processes = [self._start(number) for number in range(COPIERS)]

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        name, seed = f"{self._arguments[3]}-{number}", str(random.randrange(1 << 30))
        return subprocess.Popen(
            [sys.executable, "-c", COPIER, *self._arguments, name, seed], cwd=REPOSITORY
        )

    def kill(self, number: int) -> None:
        """Kill a copier, and start its successor."""
        self._processes[number].kill()
        self._processes[number].wait()
        self._processes[number] = self._start(number)

    def end(self) -> None:
        """Kill all copiers."""
        for process in self._processes:
            process.kill()
            process.wait()


class Reader:
    """Reads what is committed, all the while."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.values: dict[int, list[int]] = {partition: [] for partition in range(PARTITIONS)}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(bootstrap, topic), daemon=True)
        self._thread.start()

    def _read(self, bootstrap: str, topic: str) -> None:
        config = {"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
        with ottla.Consumer(bootstrap, config) as consumer:
            consumer.assign([(topic, partition) for partition in range(PARTITIONS)])
            while not self._stop.is_set():
                for record in consumer.poll(timeout=0.2, max_records=5_000):
                    self.values[record.partition].append(int(record.value or b"-1"))

    def count(self) -> int:
        """Return the number of records read."""
        return sum(map(len, self.values.values()))

    def end(self) -> None:
        """Stop reading."""
        self._stop.set()
        self._thread.join(60)


@pytest.mark.parametrize("versions", [(0, 0), (2, 2), (0, 2)], ids=["v1", "v2", "upgrade"])
def test_each_record_is_copied_once_and_in_order(
    kafka: KafkaCluster, kafka_topic: TopicFactory, versions: tuple[int, int]
) -> None:
    source, target = kafka_topic(PARTITIONS), kafka_topic(PARTITIONS)
    before, after = versions
    kafka.set_transaction_version(before)
    with ottla.Producer(kafka.bootstrap) as producer:
        numbers = range(RECORDS)
        producer.send_batch(
            source, [b"%d" % n for n in numbers], partitions=[n % PARTITIONS for n in numbers]
        )
    reader = Reader(kafka.bootstrap, target)
    copiers = Copiers(kafka.bootstrap, source, target)
    try:
        for turn in range(TURNS):
            time.sleep(random.uniform(1, 5))
            copiers.kill(random.randrange(COPIERS))
            if turn % 3 == 2:
                broker = random.choice(sorted(kafka.nodes))
                kafka.kill(broker)
                time.sleep(random.uniform(0, 2))
                kafka.restart(broker)
            if turn == TURNS // 2:
                kafka.set_transaction_version(after)
        deadline = time.monotonic() + TIMEOUT
        while reader.count() < RECORDS:
            assert time.monotonic() < deadline, f"{reader.count()} of {RECORDS} are committed"
            time.sleep(0.5)
        # A record that is copied twice would still arrive.
        time.sleep(3)
    finally:
        copiers.end()
        reader.end()
        kafka.heal()
        kafka.set_transaction_version(2)
    for partition, values in reader.values.items():
        assert values == list(range(partition, RECORDS, PARTITIONS))
