"""``format("ottla")`` beside Spark's own connector: the same topic, the same session, one table.

    python -m benches.spark.batch_read [--records 4000000] [--repeat 3] [--json FILE]

Counted are the CPU seconds of Spark's whole process tree (driver, JVM, Python workers), without the
brokers, which the parent process runs. Ways take turns, each once unmeasured before; the run with
the least CPU is shown. "hand-over alone" gives Spark ready-made batches of the same rows: what is
above it is ottla's own share.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PARTITIONS = 12
VALUE_BYTES = 100
TUNED = {
    "kafka.max.poll.records": "100000",
    "kafka.fetch.max.bytes": "100000000",
    "kafka.max.partition.fetch.bytes": "16000000",
    "kafka.receive.buffer.bytes": "1048576",
}
TWO_COLUMNS = "value binary, offset bigint"
_TICKS = os.sysconf("SC_CLK_TCK")

Frame = Callable[[], Any]


@dataclass(frozen=True)
class Result:
    """The cheapest run of one way: seconds by the clock and of CPU, of the JVM and of Python."""

    way: str
    records: int
    seconds: float
    jvm: float
    python: float

    @property
    def per_million(self) -> float:
        return (self.jvm + self.python) / self.records * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs=2, metavar=("BOOTSTRAP", "TOPIC"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        bootstrap, topic = options.child
        return _measure(bootstrap, topic, options)
    from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

    print("starting three brokers", flush=True)
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        topic = "batch-read"
        kafka.create_topic(topic, PARTITIONS, 1)
        print(f"producing {options.records:,} records of {VALUE_BYTES} bytes", flush=True)
        _fill(kafka.bootstrap, topic, options.records)
        command = [sys.executable, "-m", "benches.spark.batch_read", *sys.argv[1:]]
        return subprocess.run([*command, "--child", kafka.bootstrap, topic], check=False).returncode


def _fill(bootstrap: str, topic: str, records: int) -> None:
    import random

    import ottla

    source = random.Random(1)
    values = [source.randbytes(VALUE_BYTES) for _ in range(10_000)]
    sent = 0
    with ottla.Producer(bootstrap, batch_size=500_000, linger_ms=20) as producer:
        while sent < records:
            some = values[: records - sent]
            spread = [(sent + i) // 100 % PARTITIONS for i in range(len(some))]
            producer.send_batch(topic, some, partitions=spread)
            sent += len(some)
        producer.flush()


def _measure(bootstrap: str, topic: str, options: argparse.Namespace) -> int:
    spark = _session()
    ways = _ways(spark, bootstrap, topic, options.records)
    for way, frame in ways.items():
        print(f"  warming up: {way}", flush=True)
        if (rows := frame().count()) != options.records:
            raise SystemExit(f"{way}: {rows} records instead of {options.records}")
        _run(frame)
    runs: dict[str, list[Result]] = {way: [] for way in ways}
    for _ in range(options.repeat):
        for way, frame in ways.items():
            before, clock = _cpu(), time.perf_counter()
            _run(frame)
            seconds, after = time.perf_counter() - clock, _cpu()
            jvm, python = (after[i] - before[i] for i in (0, 1))
            runs[way].append(Result(way, options.records, seconds, jvm, python))
            print(f"  {way}: {runs[way][-1].per_million:.2f} CPU s/M, {seconds:.1f} s", flush=True)
    best = [min(results, key=lambda result: result.per_million) for results in runs.values()]
    print(render(best))
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in best], indent=2) + "\n")
    spark.stop()
    return 0


def render(results: list[Result]) -> str:
    """The table, in Markdown."""
    lines = [
        "",
        f"| {VALUE_BYTES} B, {PARTITIONS} partitions | CPU s/M | JVM | Python | records/s |",
        "|---|---|---|---|---|",
    ]
    for r in results:
        jvm, python = (part / r.records * 1e6 for part in (r.jvm, r.python))
        rate = f"{r.records / r.seconds:,.0f}"
        lines.append(f"| {r.way} | {r.per_million:.2f} | {jvm:.2f} | {python:.2f} | {rate} |")
    return "\n".join(lines)


def _session() -> Any:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    import ottla.spark
    from tests.support.jars import spark_connector

    session = (
        SparkSession.builder.master("local[2]")
        .appName("ottla-batch-read")
        .config("spark.jars", spark_connector())
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    ottla.spark.register(session)
    session.dataSource.register(_ready_made())
    return session


def _ways(spark: Any, bootstrap: str, topic: str, records: int) -> dict[str, Frame]:
    common = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic}

    def way(source: str, schema: str | None = None, **more: str) -> Frame:
        def frame() -> Any:
            reader = spark.read.format(source).options(**common, **more)
            return (reader.schema(schema) if schema else reader).load()

        return frame

    theirs = way("kafka", **TUNED)
    ready = {"rows": str(records)}
    return {
        "spark-sql-kafka, defaults": way("kafka"),
        "spark-sql-kafka, tuned": theirs,
        "spark-sql-kafka, tuned, value + offset": lambda: theirs().select("value", "offset"),
        "ottla": way("ottla"),
        "ottla, value + offset": way("ottla", TWO_COLUMNS),
        "hand-over alone": way("ready_made", **ready),
        "hand-over alone, value + offset": way("ready_made", TWO_COLUMNS, **ready),
    }


def _run(frame: Frame) -> None:
    frame().write.format("noop").mode("overwrite").save()


def _ready_made() -> Any:
    """A data source that gives batches of such rows without reading any."""
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
    from pyspark.sql.types import StructType

    partitions, value_bytes = PARTITIONS, VALUE_BYTES

    # Local, so that they reach the workers by value.
    class Reader(DataSourceReader):
        def __init__(self, rows: int, schema: StructType) -> None:
            self._rows, self._schema = rows, schema

        def partitions(self) -> list[InputPartition]:
            return [InputPartition(number) for number in range(partitions)]

        def read(self, partition: InputPartition) -> Iterator[Any]:
            import pyarrow as pa

            from ottla.spark.clients import settle_worker
            from ottla.spark.schema import arrow_schema

            settle_worker()
            schema = arrow_schema(self._schema)
            size = 35_000  # as ottla makes them: 4 MB of values
            columns = {
                "key": lambda: pa.nulls(size, pa.binary()),
                "value": lambda: pa.array([bytes(value_bytes)] * size, pa.binary()),
                "topic": lambda: pa.array(["batch-read"] * size),
                "partition": lambda: pa.array([partition.value] * size, pa.int32()),
                "offset": lambda: pa.array(range(size), pa.int64()),
                "timestamp": lambda: pa.array(range(size), pa.timestamp("us", "UTC")),
                "timestampType": lambda: pa.array([0] * size, pa.int32()),
            }
            arrays = [columns[name]() for name in schema.names]
            batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
            left = self._rows // partitions
            left += partition.value < self._rows % partitions
            while left:
                yield batch.slice(0, min(left, size))
                left -= min(left, size)

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return "ready_made"

        def schema(self) -> StructType:
            from ottla.spark.schema import full_schema

            return full_schema(include_headers=False)

        def reader(self, schema: StructType) -> DataSourceReader:
            return Reader(int(self.options["rows"]), schema)

    return Source


def _cpu() -> tuple[float, float]:
    """CPU seconds of this process's tree so far, what has ended included: of JVMs, of the rest."""
    children: dict[int, list[int]] = {}
    spent: dict[int, tuple[bool, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue  # it has just ended, and its parent counts it
        name = text[text.index("(") + 1 : text.rindex(")")]
        fields = text[text.rindex(")") + 2 :].split()
        pid, parent = int(path.parent.name), int(fields[1])
        children.setdefault(parent, []).append(pid)
        own, ended = (sum(map(int, fields[i : i + 2])) / _TICKS for i in (11, 13))
        spent[pid] = name == "java", own + ended
    totals = [0.0, 0.0]
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        is_jvm, seconds = spent.get(pid, (False, 0.0))
        totals[0 if is_jvm else 1] += seconds
    return totals[0], totals[1]


if __name__ == "__main__":
    sys.exit(main())
