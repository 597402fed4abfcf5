"""Reports of the records written: counts and offsets by partition, from the tasks to the user.

Tasks create ``TaskCommitMessage``. The writer's commit, in a process of its own next to the driver,
adds them up and appends a line of JSON to ``reportPath``; ``read_reports`` reads it back.
Invariant: only records of committed tasks are counted, not those that failed attempts left in the
log.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import WriterCommitMessage

from ottla.errors import KafkaError
from ottla.spark.protocols import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ottla.spark.options.option_values import OptionValue


@dataclass(frozen=True)
class PartitionWritten:
    """The records that were written to one partition.

    Records of other producers, and of failed attempts, may lie between the first and the last.

    Attributes:
        records: the number of records.
        first: the lowest offset; None if the brokers did not report it, as with ``acks=0``.
        last: the highest offset; None likewise.
    """

    records: int
    first: int | None = None
    last: int | None = None

    def __add__(self, other: PartitionWritten) -> PartitionWritten:
        firsts = [part.first for part in (self, other) if part.first is not None]
        lasts = [part.last for part in (self, other) if part.last is not None]
        return PartitionWritten(
            self.records + other.records, min(firsts, default=None), max(lasts, default=None)
        )


@dataclass(frozen=True)
class WriteReport:
    """The records that a batch query, or one micro-batch of a stream, has written.

    Attributes:
        partitions: the records by ``(topic, partition)``.
        batch_id: the number of the micro-batch; None for a batch query.
    """

    partitions: Mapping[TopicPartition, PartitionWritten]
    batch_id: int | None = None

    @property
    def records(self) -> int:
        """The number of records in all partitions."""
        return sum(written.records for written in self.partitions.values())


@dataclass(frozen=True)
class TaskCommitMessage(WriterCommitMessage):
    """The records that one task has written, which Spark passes to the writer's commit."""

    partitions: Mapping[TopicPartition, PartitionWritten] = field(default_factory=dict)


def sum_by_partition(
    parts: Iterable[Mapping[TopicPartition, PartitionWritten]],
) -> dict[TopicPartition, PartitionWritten]:
    """Return the sum for each partition, sorted."""
    total: dict[TopicPartition, PartitionWritten] = {}
    for part in parts:
        for partition, written in part.items():
            total[partition] = total[partition] + written if partition in total else written
    return dict(sorted(total.items()))


def append_report(path: str, report: WriteReport) -> None:
    """Append a report to the file, which is created if it does not exist."""
    topics: dict[str, dict[str, object]] = {}
    for (topic, partition), written in report.partitions.items():
        topics.setdefault(topic, {})[str(partition)] = asdict(written)
    line = {"batchId": report.batch_id, "records": report.records, "partitions": topics}
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def read_reports(path: str) -> list[WriteReport]:
    """Return the reports in a file that the option ``reportPath`` named, the oldest first.

    Args:
        path: the file on the driver's machine.

    Raises:
        OSError: the file cannot be read.
    """
    return [_parse_report(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def write(frame: DataFrame, options: Mapping[str, OptionValue]) -> WriteReport:
    """Write a frame as ``frame.write.format("ottla")`` does, and report the records written.

    The report passes through a file on the driver's machine, so call this there. With a Spark
    Connect server elsewhere, use the option ``reportPath``.

    Args:
        frame: the frame.
        options: the options of ``format("ottla")``.

    Returns:
        The records by partition.

    Raises:
        KafkaError: the rows were written, but the driver is on another machine.
    """
    with tempfile.TemporaryDirectory(prefix="ottla-write-") as directory:
        path = Path(directory) / "report"
        with_report = {**options, "reportPath": str(path)}
        frame.write.format("ottla").mode("append").options(**with_report).save()
        if not path.exists():
            raise KafkaError(
                "the rows were written, but not the report: Spark's driver is on another machine"
            )
        (report,) = read_reports(str(path))
    return report


def _parse_report(line: str) -> WriteReport:
    parsed = json.loads(line)
    partitions = {
        (topic, int(number)): PartitionWritten(**written)
        for topic, by_number in parsed["partitions"].items()
        for number, written in by_number.items()
    }
    return WriteReport(partitions, parsed["batchId"])
