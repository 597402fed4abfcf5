"""``read_kafka``: topics as a dask data frame, one of whose partitions is a range of offsets.

Invariant: offsets are looked up when the frame is made, so each computation has the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ottla._internal.extras import require

require("ottla.dask", "dask")

import dask.dataframe as dd  # noqa: E402 - after the error that names the extra
import pandas as pd  # noqa: E402
import pyarrow as pa  # noqa: E402

from ottla._internal.planning.offset_range import OffsetRange  # noqa: E402
from ottla._internal.planning.pinned_read import ScanOptions  # noqa: E402
from ottla._internal.planning.task_read import Connection, MakeFormat, TaskRead  # noqa: E402
from ottla._internal.scanning import Bound  # noqa: E402

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ottla.config_types import ClientConfig

__all__ = ["read_kafka"]


def read_kafka(
    topics: str | Sequence[str],
    bootstrap: str | Sequence[str] | Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    start: Bound = "earliest",
    end: Bound = "latest",
    partitions: Iterable[int] | None = None,
    columns: Sequence[str] | None = None,
    include_headers: bool = False,
    max_records: int = 1_000_000,
    fail_on_data_loss: bool = True,
    timeout: float | None = None,
    key_format: MakeFormat | None = None,
    value_format: MakeFormat | None = None,
    **kwargs: Unpack[ClientConfig],
) -> dd.DataFrame:
    """Return topics from ``start`` up to ``end`` as a dask data frame.

    The call looks up the offsets: each computation reads the same records, and none that were
    written later. A selection of columns is passed to the read. Each partition of the frame
    connects by itself; the configuration, with its passwords, is part of the graph.

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
        max_records: the largest number of offsets in a partition of the frame, which a worker has
            in memory at once.
        fail_on_data_loss: whether a task fails if records of its range were deleted. Otherwise they
            are skipped with a warning.
        timeout: seconds to look up topics and offsets, and seconds without progress after which a
            task fails. Default: ``default.api.timeout.ms``, 60 s.
        key_format: a function that returns how keys with a schema are decoded, such as
            ``lambda: Avro(Registry("http://registry:8081"))``. Each task calls it, since neither
            can be pickled. Default: keys stay bytes.
        value_format: the same for values.

    Returns:
        A data frame with Arrow's types (``pandas.ArrowDtype``), whose divisions are unknown.

    Raises:
        BootstrapError: no bootstrap server could be used.
        ConfigError: an argument or a configuration key is invalid.
        SchemaError: there is no schema to read with, or it cannot be used.
        UnknownTopicError: a topic or a partition does not exist.
        TimeoutError: topics or offsets could not be looked up in time.
    """
    options = ScanOptions(
        columns, include_headers, fail_on_data_loss=fail_on_data_loss, timeout=timeout
    )
    connection = Connection(bootstrap, config, kwargs, timeout)
    read = TaskRead(connection, options, key_format, value_format)
    ranges, schema = read.plan(topics, start, end, partitions, max_records=max_records)
    frame = _ReadFrame(read, schema)
    # A frame has at least one partition.
    parts: list[OffsetRange | None] = [*ranges] or [None]
    return dd.from_map(frame, parts, meta=frame(None), label="read-kafka")


class _ReadFrame:
    """Read a range as a pandas data frame; dask passes the columns that are used."""

    def __init__(self, read: TaskRead, schema: pa.Schema) -> None:
        self._read = read
        self._schema = schema

    def __call__(
        self, part: OffsetRange | None, columns: Sequence[str] | None = None
    ) -> pd.DataFrame:
        names = self._schema.names if columns is None else list(columns)
        schema = pa.schema([self._schema.field(name) for name in names])
        found = () if part is None else self._read.batches([part], names)
        batches = [pa.record_batch(batch).select(names) for batch in found]
        table = pa.Table.from_batches(batches, schema)
        return table.to_pandas(types_mapper=pd.ArrowDtype)
