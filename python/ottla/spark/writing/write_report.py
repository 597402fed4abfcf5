"""What a write has written: counts and offsets by partition, from the tasks to the user.

Tasks make ``TaskWritten``; the writer's commit, in a process of its own beside the driver, adds
them up and appends a line of JSON to ``reportPath``; ``read_reports`` reads it back. Invariant:
only what committed tasks wrote is counted; what failed attempts left in the log is not.
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

    from ottla.spark.options.option_values import Value


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
        firsts = [piece.first for piece in (self, other) if piece.first is not None]
        lasts = [piece.last for piece in (self, other) if piece.last is not None]
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
        return sum(piece.records for piece in self.partitions.values())


@dataclass(frozen=True)
class TaskWritten(WriterCommitMessage):
    """What one task has written: what Spark carries from it to the commit."""

    partitions: Mapping[TopicPartition, PartitionWritten] = field(default_factory=dict)


def added_up(
    parts: Iterable[Mapping[TopicPartition, PartitionWritten]],
) -> dict[TopicPartition, PartitionWritten]:
    """The sum by partition, in order."""
    total: dict[TopicPartition, PartitionWritten] = {}
    for part in parts:
        for partition, piece in part.items():
            total[partition] = total[partition] + piece if partition in total else piece
    return dict(sorted(total.items()))


def append_report(path: str, report: WriteReport) -> None:
    """Add a report to the file, which is made if it is not there."""
    topics: dict[str, dict[str, object]] = {}
    for (topic, partition), piece in report.partitions.items():
        topics.setdefault(topic, {})[str(partition)] = asdict(piece)
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
    return [_report(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def write(frame: DataFrame, options: Mapping[str, Value]) -> WriteReport:
    """Write a frame as ``frame.write.format("ottla")`` does, and report what was written.

    The report passes through a file on the driver's machine, so this must run there. With a Spark
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
        named = {**options, "reportPath": str(path)}
        frame.write.format("ottla").mode("append").options(**named).save()
        if not path.exists():
            raise KafkaError(
                "the rows were written, but not the report: Spark's driver is on another machine"
            )
        (report,) = read_reports(str(path))
    return report


def _report(line: str) -> WriteReport:
    read = json.loads(line)
    partitions = {
        (topic, int(number)): PartitionWritten(**piece)
        for topic, pieces in read["partitions"].items()
        for number, piece in pieces.items()
    }
    return WriteReport(partitions, read["batchId"])
