"""``scan``: a bounded read of a topic as an Arrow stream.

The call looks up the range of offsets, so the stream does not include records written later.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ottla._core import (
    AsyncClient,
    Client,
    ClientBase,
    Cluster,
    ConsumerBase,
    OffsetAndTimestamp,
    ProducerBase,
    Scan,
    ShareConsumerBase,
)
from ottla._internal.arguments import collection, integer, integers, names
from ottla._internal.planning.offset_range import OffsetRange
from ottla._internal.renamed import refuse_old_formats
from ottla.errors import ArgumentTypeError, ConfigError, UnknownTopicError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ottla.config_types import ClientConfig
    from ottla.schema import ColumnFormat

__all__ = ["scan"]

# The end of a scan that follows its partitions. It is a name, since None may be a mistake.
NEVER = "never"

# A bound of a scan: "earliest", "latest", a time, an offset for all partitions, or offsets by
# partition.
Bound = str | int | datetime | Mapping[int, int]

Offsets = dict[tuple[str, int], int]

_CLIENTS = (ClientBase, ConsumerBase, ProducerBase, ShareConsumerBase)


@refuse_old_formats
def scan(
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
    value_format: ColumnFormat | None = None,
    **kwargs: Unpack[ClientConfig],
) -> Scan:
    """Read topics from ``start`` up to ``end`` as a stream of Arrow batches.

    The call looks up the offsets: records written later are not read. Partitions are read in
    parallel from their leaders; rows of one partition keep their order.

    Args:
        topics: a topic, or several.
        bootstrap: addresses as ``host:port``, the configuration as a mapping, or a ``Client``.
        config: configuration by Kafka's dotted names. Keyword arguments are the same names with
            underscores and take precedence. See ``Client``.
        start: where to start: ``"earliest"``, ``"latest"``, a ``datetime`` with a time zone (the
            first record at or after it), an offset, or offsets by partition. Default: the earliest
            record.
        end: where to end, exclusive, in the same forms. With ``"never"``, the scan follows the
            partitions until it is closed. Default: the end of the log; with
            ``isolation.level=read_committed``, the last stable offset.
        partitions: the partitions to read. Default: all.
        columns: the columns, in this order: any of ``key``, ``value``, ``topic``, ``partition``,
            ``offset``, ``timestamp``, ``timestampType`` and ``headers``. Fewer columns are faster.
            Default: all but ``headers``.
        include_headers: whether to add ``headers`` to the default columns.
        max_rows: the maximum number of rows in a batch.
        target_bytes: the number of bytes of keys, values and headers that ends a batch.
        fail_on_data_loss: whether to raise if records of the range were deleted. Otherwise they are
            skipped with a warning.
        timeout: seconds to look up topics and offsets, and seconds without progress after which
            reading fails. Default: ``default.api.timeout.ms``, 60 s.
        key_format: how keys with a schema are decoded, such as ``ottla.schema.Avro(registry)``.
            Default: keys stay bytes.
        value_format: the same for values.

    Returns:
        A scan: iterate over it, or pass it to a library that supports Arrow's PyCapsule interface
        (``pyarrow.RecordBatchReader.from_stream(scan)``, ``polars.DataFrame(scan)``).

    Raises:
        BootstrapError: no bootstrap server could be used.
        ConfigError: an argument or a configuration key is invalid.
        SchemaError: there is no schema to read with, or it cannot be used.
        SerializationError: a key or a value cannot be decoded; raised by iterating, after the rows
            before it.
        UnknownTopicError: a topic or a partition does not exist.
        TimeoutError: topics or offsets could not be looked up in time. Iterating also raises it,
            without progress in time.
        DataLossError: records of the range were deleted; raised by iterating, with
            ``fail_on_data_loss``.
    """
    if columns is not None:
        columns = names("columns", columns)
    with scan_client(bootstrap, config, timeout, kwargs) as client:
        bounds: Sequence[tuple[str, int, int, int | None]]
        if isinstance(end, str) and end == NEVER:  # an array would compare its items
            chosen = find_partitions(client, topics, partitions, timeout)
            bounds = [
                (*one, at, None)
                for one, at in _offsets(client, chosen, start, "start", timeout).items()
            ]
        else:
            ranges = find_ranges(client, topics, start, end, partitions, timeout)
            bounds = [one.bounds for one in ranges]
        return client.scan(
            bounds,
            columns=columns,
            include_headers=include_headers,
            max_rows=max_rows,
            target_bytes=target_bytes,
            fail_on_data_loss=fail_on_data_loss,
            timeout=timeout,
            key_format=key_format,
            value_format=value_format,
        )


@contextmanager
def scan_client(
    bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | None,
    config: Mapping[str, Any] | None,
    timeout: float | None,
    kwargs: Mapping[str, Any],
) -> Iterator[Client]:
    """Yield the client to scan with: the one that was passed, or a new one.

    An exception in the block closes a new one: its traceback would keep it alive.
    """
    refuse_other_clients(bootstrap, Client)
    if isinstance(bootstrap, Client):
        if config or kwargs:
            raise ConfigError("a scan on a Client takes its configuration from it")
        yield bootstrap
        return
    client = Client(bootstrap, config, timeout=timeout, **kwargs)
    try:
        yield client
    except BaseException:
        client.close()
        raise


def refuse_other_clients(bootstrap: object, cls: type[Client | AsyncClient]) -> None:
    """Raise for a client that a scan does not run on, such as a consumer.

    Raises:
        ArgumentTypeError: it is such a client.
    """
    if isinstance(bootstrap, _CLIENTS) and not isinstance(bootstrap, cls):
        kind = type(bootstrap).__name__
        raise ArgumentTypeError(
            f"bootstrap is of type {kind}: expected addresses as host:port, or {cls.__name__}"
        )


def topic_list(topics: str | Sequence[str]) -> list[str]:
    """Return the topics of a scan, each once.

    Raises:
        ArgumentTypeError: it is neither a name nor a list of names.
    """
    if topics is None:
        raise ArgumentTypeError('topics is None: expected a topic, or a list such as ["abc"]')
    return list(dict.fromkeys([topics] if isinstance(topics, str) else names("topics", topics)))


def find_ranges(
    client: Client,
    topics: str | Sequence[str],
    start: Bound,
    end: Bound,
    partitions: Iterable[int] | None,
    timeout: float | None,
) -> list[OffsetRange]:
    """Look up the range of each partition that ``scan`` reads with these arguments."""
    chosen = find_partitions(client, topics, partitions, timeout)
    starts = _offsets(client, chosen, start, "start", timeout)
    ends = _offsets(client, chosen, end, "end", timeout)
    return [OffsetRange(*one, starts[one], ends[one]) for one in chosen]


def find_partitions(
    client: Client,
    topics: str | Sequence[str],
    partitions: Iterable[int] | None,
    timeout: float | None,
) -> list[tuple[str, int]]:
    """Look up the partitions that ``scan`` reads with these arguments."""
    topics = topic_list(topics)
    if partitions is not None:
        partitions = collection("partitions", partitions, "[0, 1]")
    return chosen_partitions(client.cluster(topics, timeout=timeout), topics, partitions)


def chosen_partitions(
    cluster: Cluster, topics: list[str], wanted: Iterable[int] | None
) -> list[tuple[str, int]]:
    """Return the partitions to read; raise if one does not exist."""
    known = cluster.topics
    if wanted is None:
        return [(topic, index) for topic in topics for index in known[topic].partitions]
    indexes = list(dict.fromkeys(integers("partitions", wanted)))
    for topic in topics:
        count = len(known[topic].partitions)
        for index in indexes:
            if index not in known[topic].partitions:
                raise UnknownTopicError(
                    f"partition {index} of topic {topic} does not exist: "
                    f"it has {count} (0 to {count - 1})"
                )
    return [(topic, index) for topic in topics for index in indexes]


def _offsets(
    client: Client,
    partitions: list[tuple[str, int]],
    bound: Bound,
    name: str,
    timeout: float | None,
) -> Offsets:
    """Return a bound as an offset for each partition; ``name`` is the argument's."""
    lookups, found = offset_lookups(partitions, bound, name), None
    while True:
        try:
            wanted = lookups.send(found)
        except StopIteration as done:
            offsets: Offsets = done.value
            return offsets
        listed = client.list_offsets(wanted, timeout=timeout)
        found = offsets_found(listed)


def offsets_found(listed: Mapping[tuple[str, int], OffsetAndTimestamp]) -> Offsets:
    """Return the offsets that were looked up, as ``offset_lookups`` takes them."""
    return {
        partition: -1 if found.offset is None else found.offset
        for partition, found in listed.items()
    }


def offset_lookups(
    partitions: list[tuple[str, int]], bound: Bound, name: str
) -> Generator[Mapping[tuple[str, int], str | int | datetime], Offsets | None, Offsets]:
    """Return a bound as an offset for each partition, without I/O.

    It yields the offsets to look up and is sent what was found, or -1 where no record is that late.
    """
    if not isinstance(bound, (str, datetime, Mapping)):
        expected = "'earliest', 'latest', a datetime, an offset, or offsets by partition"
        offset = integer(name, bound, expected)
        if offset < 0:
            raise ConfigError(f"{name}={offset}: an offset is 0 or more")
        return dict.fromkeys(partitions, offset)
    if isinstance(bound, Mapping):
        missing = [index for _, index in partitions if index not in bound]
        if missing:
            raise ConfigError(f"{name}: no offset is given for partition {missing[0]}")
        return {
            (topic, index): integer(f"{name}[{index}]", bound[index], "an offset")
            for topic, index in partitions
        }
    if isinstance(bound, str) and bound not in {"earliest", "latest"}:
        raise ConfigError(f"{name}={bound!r}: expected 'earliest' or 'latest'")
    if isinstance(bound, datetime) and bound.utcoffset() is None:
        # The client refuses it, too, but cannot name the argument.
        raise ConfigError(
            f"{name}={bound}: naive datetime: give it a time zone, e.g. datetime.now(timezone.utc)"
        )
    offsets = dict((yield dict.fromkeys(partitions, bound)) or {})
    # No record is that late: the bound is the end of the log.
    late: dict[tuple[str, int], str | int | datetime] = {
        partition: "latest" for partition, offset in offsets.items() if offset < 0
    }
    if late:
        offsets |= (yield late) or {}
    return offsets
