"""``KafkaDatasource`` and ``KafkaDatasink``: topics as Ray datasets, and datasets into topics.

A read task has a range of offsets, which the driver looks up. A write task succeeds once all of its
records were acknowledged; Ray may repeat a task, so records are written at least once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ottla._internal.extras import require

require("ottla.ray", "ray")

import pyarrow as pa  # noqa: E402 - after the error that names the extra
from ray.data.block import Block, BlockAccessor, BlockMetadata  # noqa: E402
from ray.data.datasource import Datasink, Datasource, ReadTask  # noqa: E402

from ottla._internal.planning.offset_range import OffsetRange  # noqa: E402
from ottla._internal.planning.pinned_read import ScanOptions  # noqa: E402
from ottla._internal.planning.range_splitting import split_ranges  # noqa: E402
from ottla._internal.planning.task_read import (  # noqa: E402
    Connection,
    MakeFormat,
    TaskRead,
    checked_maker,
)
from ottla._internal.scanning import Bound  # noqa: E402
from ottla.errors import ConfigError  # noqa: E402

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ottla.config_types import ClientConfig, ProducerConfig

__all__ = ["KafkaDatasink", "KafkaDatasource"]


class KafkaDatasource(Datasource):  # type: ignore[misc]
    """Topics from ``start`` up to ``end``, for ``ray.data.read_datasource``.

    Creating one looks up the offsets: the dataset has the same records whenever it is computed, and
    none that were written later. Each read task connects by itself; the configuration, with its
    passwords, is pickled into the tasks.

    Args:
        topics: a topic, or several.
        bootstrap: addresses as ``host:port``, or the configuration as a mapping. Workers connect to
            them, too.
        config: configuration by Kafka's dotted names, as for ``ottla.scan``.
        start: where to start, as for ``ottla.scan``. Default: the earliest record.
        end: where to end, exclusive, as for ``ottla.scan``. Default: the end of the log.
        partitions: the partitions to read. Default: all.
        columns: the columns, in this order. Default: all but ``headers``.
        include_headers: whether to add ``headers`` to the default columns.
        max_records: the largest number of offsets of a read task. Default: no limit.
        max_rows: the maximum number of rows in a block.
        target_bytes: the number of bytes of keys, values and headers that ends a block.
        fail_on_data_loss: whether a task fails if records of its range were deleted. Otherwise they
            are skipped with a warning.
        timeout: seconds to look up topics and offsets, and seconds without progress after which a
            task fails. Default: ``default.api.timeout.ms``, 60 s.
        key_format: a function that returns how keys with a schema are decoded, such as
            ``lambda: Avro(Registry("http://registry:8081"))``. Each task calls it, since neither
            can be pickled. Default: keys stay bytes.
        value_format: the same for values.

    Raises:
        BootstrapError: no bootstrap server could be used.
        ConfigError: an argument or a configuration key is invalid.
        SchemaError: there is no schema to read with, or it cannot be used.
        UnknownTopicError: a topic or a partition does not exist.
        TimeoutError: topics or offsets could not be looked up in time.
    """

    def __init__(
        self,
        topics: str | Sequence[str],
        bootstrap: str | Sequence[str] | Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        start: Bound = "earliest",
        end: Bound = "latest",
        partitions: Iterable[int] | None = None,
        columns: Sequence[str] | None = None,
        include_headers: bool = False,
        max_records: int | None = None,
        max_rows: int = 50_000,
        target_bytes: int = 4 << 20,
        fail_on_data_loss: bool = True,
        timeout: float | None = None,
        key_format: MakeFormat | None = None,
        value_format: MakeFormat | None = None,
        **kwargs: Unpack[ClientConfig],
    ) -> None:
        super().__init__()
        options = ScanOptions(
            columns, include_headers, max_rows, target_bytes, fail_on_data_loss, timeout
        )
        connection = Connection(bootstrap, config, kwargs, timeout)
        self._read = TaskRead(connection, options, key_format, value_format)
        self._ranges, self._schema = self._read.plan(
            topics, start, end, partitions, max_records=max_records
        )

    def estimate_inmemory_data_size(self) -> int | None:
        """Return None: the sizes of records are not known before they are read."""
        return None

    def get_read_tasks(
        self,
        parallelism: int,
        per_task_row_limit: int | None = None,
        data_context: Any = None,  # noqa: ARG002 - nothing here depends on it
    ) -> list[ReadTask]:
        """Return about ``parallelism`` tasks, or one per partition if there are more of these."""
        ranges = split_ranges(self._ranges, min_partitions=max(parallelism, 1))
        # Some ranges have fewer records than offsets.
        metadata = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [
            ReadTask(
                _ReadBlocks(self._read, one, self._schema),
                metadata,
                schema=self._schema,
                per_task_row_limit=per_task_row_limit,
            )
            for one in ranges
        ] or [ReadTask(_ReadBlocks(self._read, None, self._schema), metadata, schema=self._schema)]

    def get_name(self) -> str:
        """Return the name of the read tasks."""
        return "Kafka"


class _ReadBlocks:
    """Read a range as tables, in a task."""

    def __init__(self, read: TaskRead, part: OffsetRange | None, schema: pa.Schema) -> None:
        self._read = read
        self._part = part
        self._schema = schema

    def __call__(self) -> Iterator[pa.Table]:
        found = False
        if self._part is not None:
            for batch in self._read.batches([self._part]):
                found = True
                yield pa.Table.from_batches([pa.record_batch(batch)])
        if not found:
            # So that the dataset has its columns even if it has no rows.
            yield self._schema.empty_table()


class KafkaDatasink(Datasink[int]):  # type: ignore[misc]
    """A topic to write to, for ``Dataset.write_datasink``.

    Blocks have the columns that ``Producer.send_batch`` takes: ``value`` and, optionally, ``key``,
    ``headers``, ``timestamp`` and ``partition``; others are an error. A task ends when all of its
    records were acknowledged, and fails if one was not. Ray repeats tasks that failed, and then
    writes the records that were acknowledged before again: at least once.

    Args:
        topic: the topic.
        bootstrap: addresses as ``host:port``, or the configuration as a mapping. Workers connect to
            them.
        config: configuration by Kafka's dotted names, as for ``ottla.Producer``, without
            ``transactional.id``.
        key_format: a function that returns how a typed column of keys is encoded, such as
            ``lambda: Avro(Registry("http://registry:8081"))``. Each task calls it, since neither
            can be pickled. Default: keys are bytes or text.
        value_format: the same for values; a block without a column ``value`` is then itself the
            values.

    Raises:
        ConfigError: an argument or a configuration key is invalid, or asks for no acknowledgements.
    """

    def __init__(
        self,
        topic: str,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        key_format: MakeFormat | None = None,
        value_format: MakeFormat | None = None,
        **kwargs: Unpack[ProducerConfig],
    ) -> None:
        first = bootstrap if isinstance(bootstrap, Mapping) else {}
        # Producers understand keys with underscores, too, and librdkafka's name of acks.
        given = {**first, **(config or {}), **kwargs}
        named = {name.replace("_", "."): value for name, value in given.items()}
        if named.get("transactional.id") is not None:
            raise ConfigError(
                "transactional.id: tasks run at the same time and would fence each other; "
                "KafkaDatasink writes at least once"
            )
        if "0" in {str(named.get("acks")), str(named.get("request.required.acks"))}:
            raise ConfigError("acks=0: a task could not know whether its records were written")
        self._topic = topic
        self._connection = Connection(bootstrap, config, kwargs)
        self._key_format = checked_maker("key_format", key_format)
        self._value_format = checked_maker("value_format", value_format)

    def write(self, blocks: Iterable[Block], ctx: Any) -> int:  # noqa: ARG002
        """Write blocks, in a task, and return the number of records that were acknowledged."""
        key_format = None if self._key_format is None else self._key_format()
        value_format = None if self._value_format is None else self._value_format()
        with self._connection.producer() as producer:
            tables = (BlockAccessor.for_block(block).to_arrow() for block in blocks)
            # The producer's buffer bounds the records that wait for their acknowledgement.
            deliveries = [
                producer.send_batch(
                    self._topic, table, key_format=key_format, value_format=value_format
                )
                for table in tables
                if table.num_rows
            ]
            return sum(delivery.result() for delivery in deliveries)

    def get_name(self) -> str:
        """Return the name of the write tasks."""
        return "Kafka"
