"""``scan_kafka``: topics as a polars ``LazyFrame``.

Columns, filters on partitions, offsets and times, and ``head`` are passed to the read. Invariant:
the rows are those of reading everything and then applying the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

from ottla._internal.extras import require
from ottla.errors import ConfigError

require("ottla.polars", "polars")

import polars as pl  # noqa: E402 - after the error that names the extra
from polars.io.plugins import register_io_source  # noqa: E402

from ottla._core import Client, Scan  # noqa: E402
from ottla._internal.planning.pinned_read import (  # noqa: E402
    FormatOfFields,
    PinnedRead,
    ScanOptions,
    pin,
)
from ottla._internal.planning.polars_bounds import predicate_bounds, within_any  # noqa: E402
from ottla._internal.scanning import Bound  # noqa: E402
from ottla.schema import ColumnFormat  # noqa: E402

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ottla.config_types import ClientConfig

__all__ = ["scan_kafka"]

_FIELD_PREFIX = "value."

# The name in the plans of polars 2; older versions have none.
_LABEL: dict[str, Any] = (
    {"explain_name": "kafka"} if "explain_name" in signature(register_io_source).parameters else {}
)


def scan_kafka(
    topics: str | Sequence[str],
    bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | None = None,
    config: Mapping[str, Any] | None = None,
    *,
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
    value_format: ColumnFormat | FormatOfFields | None = None,
    **kwargs: Unpack[ClientConfig],
) -> pl.LazyFrame:
    """Return topics from ``start`` up to ``end`` as a lazy frame.

    The call looks up the offsets: each ``collect`` reads the same records, and none that were
    written later. A query reads

    - only the partitions and offsets that filters on ``topic``, ``partition`` and ``offset`` allow;
    - of each partition, only what follows the first record at or after the lower bound of a filter
      on ``timestamp``. An upper bound saves nothing, since records need not be in order of time;
    - only as many offsets as ``head`` needs;
    - only the columns that it uses.

    Rows of one partition keep their order. Batches are decoded as the engine takes them.

    Args:
        topics: a topic, or several.
        bootstrap: addresses as ``host:port``, the configuration as a mapping, or a ``Client``.
        config: configuration by Kafka's dotted names, as for ``ottla.scan``.
        start: where to start, as for ``ottla.scan``. Default: the earliest record.
        end: where to end, exclusive, as for ``ottla.scan``. Default: the end of the log.
        partitions: the partitions to read. Default: all.
        columns: the columns of the frame, in this order. Default: all but ``headers``.
        include_headers: whether to add ``headers`` to the default columns.
        max_rows: the maximum number of rows in a batch.
        target_bytes: the number of bytes of keys, values and headers that ends a batch.
        fail_on_data_loss: whether a query fails if records of its ranges were deleted. Otherwise
            they are skipped with a warning.
        timeout: seconds to look up topics and offsets, and seconds without progress after which a
            query fails. Default: ``default.api.timeout.ms``, 60 s.
        key_format: how keys with a schema are decoded, which each query does, even if it does not
            select them. Default: keys stay bytes.
        value_format: the same for values; or a function that takes a list of fields, or None for
            all, and returns the format, such as
            ``lambda fields: ottla.schema.Avro(registry, fields=fields)``. The frame then has a
            column ``value.id`` for each field ``id``, instead of ``value``, and a query decodes
            only the fields that it uses; fields of a record without a value are null. Such a format
            must be failfast, and fields that a query does not use are not checked.

    Returns:
        A lazy frame. A query that fails raises ``polars.exceptions.ComputeError``, with ottla's
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
    source = _Source(read)
    # Each occurrence in a query reads the same records, so one read can serve all of them.
    return register_io_source(source, schema=source.schema, is_pure=True, **_LABEL)


class _Source:
    """What polars calls to read: with the columns, the filter and the number of rows to read."""

    def __init__(self, read: PinnedRead) -> None:
        self._read = read
        with read.empty() as scan:
            self._empty = self._flat(pl.DataFrame(scan))
        self.schema = self._empty.schema

    def __call__(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,  # noqa: ARG002 - the read has its own
    ) -> Iterator[pl.DataFrame]:
        wanted = self.schema.names() if with_columns is None else with_columns
        for frame in self._frames(wanted, predicate, n_rows):
            yield (frame if predicate is None else frame.filter(predicate)).select(wanted)

    def _frames(
        self, wanted: list[str], predicate: pl.Expr | None, n_rows: int | None
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows of the query before its filter, with at least the columns it needs."""
        roots = [] if predicate is None else predicate.meta.root_names()
        used = list(dict.fromkeys([*wanted, *roots]))
        fields = [name.removeprefix(_FIELD_PREFIX) for name in used if _is_field(name)]
        columns = [name for name in used if not _is_field(name)]
        yield self._empty
        if n_rows is None:
            ranges = self._read.ranges
            if predicate is not None:
                ranges = within_any(ranges, predicate_bounds(predicate), self._read.look_up)
            if ranges:
                yield from self._read_frames(self._read.scan(ranges, columns, fields))
            return
        # Polars counts rows before it filters them: the filter cannot choose what is read.
        scans = self._read.scan_first(n_rows, columns, fields)
        scan = next(scans, None)
        while scan is not None:
            found = 0
            for frame in self._read_frames(scan):
                yield frame.head(n_rows)
                found += frame.height
                n_rows = max(n_rows - frame.height, 0)
            try:
                scan = scans.send(found)
            except StopIteration:
                return

    def _read_frames(self, scan: Scan) -> Iterator[pl.DataFrame]:
        # A query that ends early closes this generator, and so the scan.
        with scan:
            for batch in scan:
                yield self._flat(pl.DataFrame(batch))

    def _flat(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the frame with a column for each field instead of the value, if that is wanted."""
        if not self._read.has_fields or "value" not in frame.columns:
            return frame
        value = frame.schema["value"]
        if not isinstance(value, pl.Struct):
            raise ConfigError(
                f"value_format is a function of fields, but values are {value}: pass the format"
            )
        fields = [
            pl.col("value").struct.field(one.name).alias(_FIELD_PREFIX + one.name)
            for one in value.fields
        ]
        place = frame.columns.index("value")
        return frame.select(*frame.columns[:place], *fields, *frame.columns[place + 1 :])


def _is_field(name: str) -> bool:
    return name.startswith(_FIELD_PREFIX)
