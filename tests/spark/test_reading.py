"""The tasks of a read on real workers and brokers: ranges, batches, clients, failures.

The reader under test is the real one, wrapped by a subclass that records what its tasks read.
"""

from __future__ import annotations

import json
import os
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

import ottla
from ottla import errors
from ottla.spark import clients
from tests.conftest import TopicFactory
from tests.support.kafka_admin import wait_until

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

VALUES = 2_000


@pytest.fixture(scope="module")
def observed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Register format("observed"); return the directory where each task leaves a note."""
    notes = tmp_path_factory.mktemp("notes")
    directory = str(notes)

    # Local classes are pickled by value: workers cannot import this module.
    class ObservedReader(DataSourceReader):
        def __init__(self, reader: Any) -> None:
            self._reader = reader

        def partitions(self) -> Any:
            return self._reader.partitions()

        def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
            from ottla.spark import clients

            expected = self._reader._columns.arrow_schema()
            batches = []
            for batch in self._reader.read(partition):
                batches.append(
                    {
                        "type": f"{type(batch).__module__}.{type(batch).__name__}",
                        "exact": batch.schema.equals(expected, check_metadata=True),
                        "rows": batch.num_rows,
                        "bytes": batch.nbytes,
                    }
                )
                if len(batches) == 1 and Path(directory, "wait").exists():
                    Path(directory, "reading").touch()
                    while not Path(directory, "go-on").exists():
                        time.sleep(0.02)
                yield batch
            config = self._reader._kafka
            made = clients._clients.get((os.getpid(), frozenset(config.items())))
            note = {
                "pid": os.getpid(),
                "client": None if made is None else id(made.client),
                "inherited": len(clients._inherited),
                "ranges": [[r.topic, r.partition, r.start, r.end] for r in partition.ranges],
                "batches": batches,
            }
            name = f"{os.getpid()}-{time.monotonic_ns()}.json"
            Path(directory, name).write_text(json.dumps(note))

    class ObservedSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "observed"

        def schema(self) -> StructType:
            from ottla.spark import OttlaDataSource

            return OttlaDataSource(self.options).schema()

        def reader(self, schema: StructType) -> DataSourceReader:
            from ottla.spark import OttlaDataSource

            return ObservedReader(OttlaDataSource(self.options).reader(schema))

    spark.dataSource.register(ObservedSource)
    return notes


@pytest.fixture
def notes(observed: Path) -> Path:
    for note in observed.iterdir():
        note.unlink()
    return observed


def notes_in(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(note.read_text()) for note in sorted(directory.glob("*.json"))]


def read(spark: SparkSession, source: str, **options: str) -> DataFrame:
    named = {name.replace("__", "."): value for name, value in options.items()}
    return spark.read.format(source).options(**named).load()


def test_tasks(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory, notes: Path
) -> None:
    topic = kafka_topic(partitions=8)
    with ottla.Producer(kafka.bootstrap) as producer:
        for i in range(8 * VALUES):
            producer.send(topic, value=b"%d" % i * 1000, partition=i % 8)
        producer.flush()
    source = {
        "kafka__bootstrap__servers": kafka.bootstrap,
        "subscribe": topic,
        "includeHeaders": "true",
    }
    for _ in range(2):
        assert read(spark, "observed", **source).count() == 8 * VALUES
    seen = notes_in(notes)

    # One task per partition, each with one range of one partition.
    assert sorted(note["ranges"] for note in seen) == sorted(
        [[topic, partition, 0, VALUES]] for partition in [*range(8), *range(8)]
    )
    # The batches are pyarrow's, with exactly Spark's schema, and each has a part of the 8 MB.
    batches = [batch for note in seen for batch in note["batches"]]
    assert {batch["type"] for batch in batches} == {"pyarrow.lib.RecordBatch"}
    assert all(batch["exact"] for batch in batches)
    assert all(batch["rows"] <= 50_000 and batch["bytes"] < 6 << 20 for batch in batches)
    assert all(len(note["batches"]) > 1 for note in seen)
    assert sum(batch["rows"] for batch in batches) == 2 * 8 * VALUES
    # A worker creates a client in its first task and keeps it; none was inherited by fork.
    workers = {note["pid"] for note in seen}
    assert len(workers) < len(seen)
    assert os.getpid() not in workers
    for worker in workers:
        used = {note["client"] for note in seen if note["pid"] == worker}
        assert len(used) == 1, used
        assert None not in used
    assert {note["inherited"] for note in seen} == {0}

    # After an abandoned read, its worker works for the next task.
    assert len(read(spark, "ottla", **source).limit(3).collect()) == 3
    assert read(spark, "ottla", **source).count() == 8 * VALUES


@pytest.mark.fault
def test_leader_killed_while_a_task_reads(
    spark: SparkSession, kafka: KafkaCluster, kafka_topic: TopicFactory, notes: Path
) -> None:
    # More than the client fetches ahead, so that most records come from the next leader.
    count, filler = 4_000, os.urandom(20_000)
    topic = kafka_topic(partitions=1)
    values = [b"%06d" % i + filler for i in range(count)]
    with ottla.Producer(kafka.bootstrap, batch_size=500_000) as producer:
        for value in values:
            producer.send(topic, value=value)
        producer.flush()
    frame = read(spark, "observed", kafka__bootstrap__servers=kafka.bootstrap, subscribe=topic)
    (notes / "wait").touch()
    killed: list[int] = []

    def kill_in_mid_read() -> None:
        try:
            wait_until((notes / "reading").exists, lambda: "no task has read anything", 300)
            killed.append(kafka.leader_of(topic))
            kafka.kill(killed[0])
        finally:
            (notes / "go-on").touch()

    killer = threading.Thread(target=kill_in_mid_read)
    killer.start()
    try:
        rows = frame.selectExpr("offset", "crc32(value) AS crc").collect()
    finally:
        killer.join()
    assert len(killed) == 1
    (note,) = notes_in(notes)  # the task did not fail and was not run again
    assert len(note["batches"]) > 5
    assert [tuple(row) for row in rows] == list(enumerate(map(zlib.crc32, values)))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # the client has threads
def test_a_real_client_stays_in_its_process(kafka: KafkaCluster) -> None:
    config = {"bootstrap.servers": kafka.bootstrap}
    parents = clients.client_for(config)
    child = os.fork()
    if child == 0:
        verdict = 1
        try:
            own = clients.client_for(config)
            try:
                parents.topic_names()
            except errors.ClosedError:
                verdict = 0 if own is not parents and own.topic_names() is not None else 2
        finally:
            os._exit(verdict)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert clients.client_for(config) is parents
    parents.topic_names()


SECRET = "hunter2"


@pytest.mark.parametrize(
    ("options", "error", "fragments"),
    [
        ({"subscribe": "no-such-topic"}, "UnknownTopicError", ["no-such-topic"]),
        ({"subscribe": "t", "startingOffset": "latest"}, "ConfigError", ["startingOffsets"]),
        ({"subscribe": "t", "kafka__fetch__maxbytes": SECRET}, "ConfigError", ["fetch.max.bytes"]),
        ({"subscribe": "t", "kafka__sasl__passwort": SECRET}, "ConfigError", ["sasl.passwort"]),
        (
            {"subscribe": "t", "kafka__bootstrap__servers": "no-such-host.invalid:9092"},
            "BootstrapError",
            ["no-such-host.invalid:9092"],
        ),
        (
            {"subscribe": "t", "kafka__bootstrap__servers": "127.0.0.1:1"},
            "BootstrapError",
            ["127.0.0.1:1"],
        ),
    ],
)
def test_read_errors_are_reported_in_time(
    spark: SparkSession,
    kafka: KafkaCluster,
    options: dict[str, str],
    error: str,
    fragments: list[str],
) -> None:
    base = {
        "kafka__bootstrap__servers": kafka.bootstrap,
        "kafka__default__api__timeout__ms": "2000",
    }
    started = time.monotonic()
    with pytest.raises(PySparkException) as caught:
        read(spark, "ottla", **base | options).count()
    # Two seconds for the client, the rest for Spark to start a process and to plan. Without the
    # option, the client's default is a minute.
    assert time.monotonic() - started < 45
    message = str(caught.value)
    assert [f for f in [f"ottla.errors.{error}", *fragments] if f not in message] == []
    assert SECRET not in message
