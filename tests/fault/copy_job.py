"""The copy job of Kafka's system tests: its copiers, and the two readers of what they commit.

Invariant: a copier that ends before its work is done has a successor with the same id.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import uuid
from abc import ABC, abstractmethod
from pathlib import Path

import ottla
from tests.support.jars import REPOSITORY
from tests.support.kafka_cluster import KafkaCluster

_TRANSACTION_SIZE = 100
_TRANSACTION_TIMEOUT_MS = 10_000


class Copiers:
    """One `ottla transactional-copier` for each partition, or as many members of a group."""

    def __init__(
        self, bootstrap: str, source: str, target: str, count: int, directory: Path, *, group: bool
    ) -> None:
        self.name = f"copy-{uuid.uuid4().hex[:8]}"
        self._arguments = [
            *("--broker-list", bootstrap, "--input-topic", source, "--output-topic", target),
            *("--consumer-group", self.name, "--transaction-size", str(_TRANSACTION_SIZE)),
            *("--transaction-timeout", str(_TRANSACTION_TIMEOUT_MS), "--enable-random-aborts"),
            *(["--group-mode", "--use-group-metadata"] if group else []),
        ]
        self._directory = directory
        self._processes = [self._start(number) for number in range(count)]

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        name = f"{self.name}-{number}"
        command = [sys.executable, "-m", "ottla", "transactional-copier", *self._arguments]
        command += ["--input-partition", str(number), "--transactional-id", name]
        with (self._directory / f"{name}.log").open("ab") as output:
            return subprocess.Popen(command, cwd=REPOSITORY, stdout=output, stderr=output)

    def kill(self, number: int) -> None:
        """Send SIGKILL to a copier, and start its successor."""
        self._processes[number].kill()
        self._processes[number].wait()
        self._processes[number] = self._start(number)

    def restart_failed(self) -> list[str]:
        """Start the successors of copiers that gave up; return the last lines of these."""
        failed = []
        for number, process in enumerate(self._processes):
            if process.poll():
                log = self._directory / f"{self.name}-{number}.log"
                failed.append(log.read_text().strip().rpartition("\n")[2])
                self._processes[number] = self._start(number)
        return failed

    def end(self) -> None:
        """Kill all copiers."""
        for process in self._processes:
            process.kill()
            process.wait()


class Reader(ABC):
    """Reads what is committed, all the while, in a thread."""

    def __init__(self, partitions: int) -> None:
        self.values: dict[int, list[int]] = {partition: [] for partition in range(partitions)}
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._read()
        except BaseException as error:  # noqa: BLE001 (raised by count)
            self.error = error

    def count(self) -> int:
        """Return the number of records read.

        Raises:
            BaseException: what ended the reader.
        """
        if self.error is not None:
            raise self.error
        return sum(map(len, self.values.values()))

    @abstractmethod
    def _read(self) -> None: ...

    @abstractmethod
    def end(self) -> None:
        """Stop reading."""


class OttlaReader(Reader):
    """A consumer of ours, with isolation.level=read_committed."""

    def __init__(self, kafka: KafkaCluster, topic: str, partitions: int) -> None:
        self._where = kafka.bootstrap, topic
        self._stop = threading.Event()
        super().__init__(partitions)

    def _read(self) -> None:
        bootstrap, topic = self._where
        config = {"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
        with ottla.Consumer(bootstrap, config) as consumer:
            consumer.assign([(topic, partition) for partition in self.values])
            while not self._stop.is_set():
                for record in consumer.poll(timeout=0.2, max_records=5_000):
                    self.values[record.partition].append(int(record.value or b"-1"))

    def end(self) -> None:
        """Stop reading."""
        self._stop.set()
        self._thread.join(60)


class JavaReader(Reader):
    """Kafka's console consumer, with isolation.level=read_committed."""

    def __init__(self, kafka: KafkaCluster, topic: str, partitions: int) -> None:
        self._process = kafka.start_tool(
            "org.apache.kafka.tools.consumer.ConsoleConsumer",
            *("--bootstrap-server", kafka.bootstrap, "--topic", topic, "--from-beginning"),
            *("--isolation-level", "read_committed"),
            *("--formatter-property", "print.partition=true"),
        )
        super().__init__(partitions)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            partition, value = line.removeprefix("Partition:").split("\t")
            self.values[int(partition)].append(int(value))

    def end(self) -> None:
        """Stop reading."""
        self._process.terminate()
        self._process.wait(60)
        self._thread.join(60)
        assert self._process.stdout is not None
        self._process.stdout.close()


class Kills:
    """Kills copiers and brokers at random moments; a seed decides which."""

    def __init__(self, kafka: KafkaCluster, copiers: Copiers, count: int, seed: int) -> None:
        self._kafka, self._copiers, self._count = kafka, copiers, count
        self._random = random.Random(seed)
        self.copiers = self.brokers = 0

    def pause(self) -> float:
        """Return the seconds until the next kill."""
        return self._random.uniform(1, 4)

    def kill(self) -> None:
        """Kill a copier, and every third time a broker too, which comes back."""
        self._copiers.kill(self._random.randrange(self._count))
        self.copiers += 1
        if self.copiers % 3 == 0:
            broker = self._random.choice(sorted(self._kafka.nodes))
            self._kafka.kill(broker)
            threading.Event().wait(self._random.uniform(0, 2))
            self._kafka.restart(broker)
            self.brokers += 1
