"""The decision record: once it is durable, the transactions that it names will be committed.

Invariant: what one version writes, later versions read: fields are only added.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import ottla
from ottla.errors import ProtocolError, described
from ottla.spark.protocols import TopicPartition
from ottla.spark.writing.write_report import PartitionWritten

# Thousands of tasks: JSON would be larger than a broker's or a producer's limit of a megabyte.
_LARGE = 200_000
_MAX_SIZE = 256 << 20


@dataclass(frozen=True)
class Participant:
    """The transaction of one task.

    Attributes:
        partition: the task's partition in Spark.
        transaction: what ends it.
        rows: the number of rows.
        marker: the partition and the offset of the marker record that it contains.
        written: the records by topic and partition.
    """

    partition: int
    transaction: ottla.PreparedTransaction
    rows: int
    marker: tuple[int, int]
    written: Mapping[TopicPartition, PartitionWritten] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it as values that JSON has."""
        prepared = self.transaction
        return {
            "partition": self.partition,
            "transactionalId": prepared.transactional_id,
            "producerId": prepared.producer_id,
            "producerEpoch": prepared.producer_epoch,
            "protocol": prepared.protocol,
            "rows": self.rows,
            "marker": list(self.marker),
            "written": [
                [topic, partition, part.records, part.first, part.last]
                for (topic, partition), part in self.written.items()
            ],
        }

    @classmethod
    def from_json(cls, parsed: Mapping[str, Any]) -> Participant:
        """Parse what ``to_json`` returned."""
        marker_partition, marker_offset = parsed["marker"]
        return cls(
            parsed["partition"],
            ottla.PreparedTransaction(
                parsed["transactionalId"],
                parsed["producerId"],
                parsed["producerEpoch"],
                parsed["protocol"],
            ),
            parsed["rows"],
            (marker_partition, marker_offset),
            {
                (topic, partition): PartitionWritten(records, first, last)
                for topic, partition, records, first, last in parsed["written"]
            },
        )


@dataclass(frozen=True)
class Decision:
    """The decision to commit one batch.

    Attributes:
        query: the query's id.
        run: the start of the query that decided.
        batch: the number of the batch.
        tasks: the number of the batch's tasks, with those without rows.
        fingerprint: of the columns and options; see ``fingerprint_of``.
        participants: the transactions by the tasks' partitions.
    """

    query: str
    run: str
    batch: int
    tasks: int
    fingerprint: str
    participants: Mapping[int, Participant]

    def encode(self) -> bytes:
        """Return the value of the record: JSON, compressed if it is large."""
        parsed = {
            "query": self.query,
            "run": self.run,
            "batch": self.batch,
            "tasks": self.tasks,
            "fingerprint": self.fingerprint,
            "participants": [each.to_json() for each in self.participants.values()],
        }
        text = json.dumps(parsed, separators=(",", ":")).encode()
        return text if len(text) < _LARGE else zlib.compress(text)

    @classmethod
    def decode(cls, value: bytes) -> Decision:
        """Parse the value of a record.

        Raises:
            ProtocolError: it is not a decision.
        """
        try:
            parsed = json.loads(value if value.startswith(b"{") else _decompress(value))
            participants = [Participant.from_json(each) for each in parsed["participants"]]
            return cls(
                parsed["query"],
                parsed["run"],
                parsed["batch"],
                parsed["tasks"],
                parsed["fingerprint"],
                {each.partition: each for each in participants},
            )
        except (ValueError, RecursionError, KeyError, TypeError, zlib.error) as error:
            raise ProtocolError(
                "exactlyOnce: a record of the topic of decisions is not a decision "
                f"({described(error)}): does anything else write to this topic?"
            ) from error


def _decompress(value: bytes) -> bytes:
    decompressor = zlib.decompressobj()
    text = decompressor.decompress(value, _MAX_SIZE)
    if decompressor.unconsumed_tail:
        raise ValueError(f"it is larger than {_MAX_SIZE} bytes")
    return text
