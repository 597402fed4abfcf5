"""``scan_kafka``: topics as a DuckDB relation that can be queried again and again.

DuckDB passes the columns and the filters of a query to pyarrow datasets only, so this is one.
Invariant: each query reads the same records, and gets the rows that match its filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ottla._internal.extras import require

require("ottla.duckdb", "duckdb")

import duckdb  # noqa: E402 - after the error that names the extra
import pyarrow as pa  # noqa: E402
import pyarrow.dataset as ds  # noqa: E402

from ottla._core import Client  # noqa: E402
from ottla._internal.planning.arrow_bounds import filter_bounds  # noqa: E402
from ottla._internal.planning.pinned_read import PinnedRead, ScanOptions, pin  # noqa: E402
from ottla._internal.planning.read_bounds import within_bounds  # noqa: E402
from ottla._internal.scanning import Bound  # noqa: E402

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ottla.config_types import ClientConfig
    from ottla.schema import ColumnFormat

__all__ = ["scan_kafka"]

# Batches that pyarrow reads before DuckDB takes them; its own default is 16.
_READ_AHEAD = 2


def scan_kafka(
    topics: str | Sequence[str],
    bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    connection: duckdb.DuckDBPyConnection | None = None,
    start: Bound = "earliest",
    end: Bound = "latest",
    partitions: Iterable[int] | None = None,
    columns: Sequence[str] | None = None,
    include_headers: bool = False,
    max_rows: int = 50_000,
    target_bytes: int = 4 << 20,
    fail_on_data_loss: bool = True,
    timeout: float | None = None,
    key_format: ColumnFormat | None = None,
    value_format: ColumnFormat | None = None,
    **kwargs: Unpack[ClientConfig],
) -> duckdb.DuckDBPyRelation:
    """Return topics from ``start`` up to ``end`` as a relation.

    ``scan_kafka("orders", "localhost:9092").create_view("orders")`` names it in SQL. The call looks
    up the offsets: each query reads the same records, and none that were written later.

    DuckDB passes on the columns that a query uses, and filters that compare one column with
    constants. Of these, a query reads

    - only the partitions and offsets that filters on ``topic``, ``partition`` and ``offset`` allow;
    - of each partition, only what follows the first record at or after the lower bound of a filter
      on ``timestamp``. An upper bound saves nothing, since records need not be in order of time.

    ``limit`` ends a read early. Rows have no order between partitions.

    Args:
        topics: a topic, or several.
        bootstrap: addresses as ``host:port``, the configuration as a mapping, or a ``Client``.
        config: configuration by Kafka's dotted names, as for ``ottla.scan``.
        connection: the connection to DuckDB. Default: the one that ``duckdb.sql`` uses.
        start: where to start, as for ``ottla.scan``. Default: the earliest record.
        end: where to end, exclusive, as for ``ottla.scan``. Default: the end of the log.
        partitions: the partitions to read. Default: all.
        columns: the columns, in this order. Default: all but ``headers``.
        include_headers: whether to add ``headers`` to the default columns.
        max_rows: the maximum number of rows in a batch.
        target_bytes: the number of bytes of keys, values and headers that ends a batch.
        fail_on_data_loss: whether a query fails if records of its ranges were deleted. Otherwise
            they are skipped with a warning.
        timeout: seconds to look up topics and offsets, and seconds without progress after which a
            query fails. Default: ``default.api.timeout.ms``, 60 s.
        key_format: how keys with a schema are decoded, which each query does, even if it does not
            select them. Default: keys stay bytes.
        value_format: the same for values.

    Returns:
        A relation of ``connection``. A query that fails raises an error of DuckDB, with ottla's
        error in its message.

    Raises:
        BootstrapError: no bootstrap server could be used.
        ConfigError: an argument or a configuration key is invalid.
        SchemaError: there is no schema to read with, or it cannot be used.
        UnknownTopicError: a topic or a partition does not exist.
        TimeoutError: topics or offsets could not be looked up in time.
    """
    options = ScanOptions(
        columns, include_headers, max_rows, target_bytes, fail_on_data_loss, timeout
    )
    read = pin(
        topics,
        bootstrap,
        config,
        kwargs,
        options,
        start=start,
        end=end,
        partitions=partitions,
        key_format=key_format,
        value_format=value_format,
    )
    return (connection or duckdb.default_connection()).from_arrow(_KafkaDataset(read))


class _KafkaDataset(ds.Dataset):  # type: ignore[misc]
    """A pyarrow dataset for DuckDB, which asks it for a scanner.

    Invariant: nothing but DuckDB gets it, since only these members work.
    """

    def __init__(self, read: PinnedRead) -> None:  # the base cannot be initialised
        self._read = read
        with read.empty() as scan:
            self._schema = pa.schema(scan)

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._schema

    def scanner(
        self, columns: list[str] | None = None, filter: ds.Expression | None = None, **_: Any
    ) -> ds.Scanner:
        """Return a scanner of the rows that match, with the columns that are named."""
        ranges, wanted = self._read.ranges, columns
        if filter is not None:
            if columns is not None:
                # More than the columns of the filter, if a text in it is the name of one.
                text = str(filter)
                wanted = [*columns, *(name for name in self._schema.names if name in text)]
            ranges, bounds = filter_bounds(filter, self._schema, ranges)
            ranges = within_bounds(ranges, bounds, self._read.look_up)
        if ranges:
            reader = pa.RecordBatchReader.from_stream(self._read.scan(ranges, wanted))
        else:
            reader = pa.RecordBatchReader.from_batches(self._schema, [])
        return ds.Scanner.from_batches(
            reader, columns=columns, filter=filter, batch_readahead=_READ_AHEAD
        )
