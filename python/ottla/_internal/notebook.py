"""How notebooks show ottla's objects: the small HTML tables of their ``_repr_html_``.

Invariants: a table is made of the object alone, without a request; it has at most ``MAX_ROWS``
rows, with keys and values of at most ``MAX_TEXT`` characters; all texts are escaped; the styles are
inline and inherit the notebook's colours, so that they fit light and dark themes.
"""

from __future__ import annotations

import codecs
import reprlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import TYPE_CHECKING, Any

from ottla._internal.markup import Markup, cut, element, joined, rows_of
from ottla._internal.text import counted, join, listed

if TYPE_CHECKING:
    from ottla._core import Cluster, ConnectionStatus, Record, Topic

MAX_ROWS = 20
MAX_TEXT = 100
# Columns of a batch and headers of a record that are shown.
_MAX_COLUMNS = 20

_TABLE = "border-collapse:collapse;margin:0.25em 0"
_CELL = (
    "text-align:left;vertical-align:top;padding:0.15em 1em 0.15em 0;"
    "border-bottom:1px solid rgba(128,128,128,0.4)"
)
_HEADING = f"{_CELL};font-weight:600"
_FAINT = "opacity:0.75"


class _Repr(reprlib.Repr):
    def repr_bytes(self, value: bytes, _level: int) -> str:
        # Only the start of megabytes is converted.
        return repr(value[:MAX_TEXT]) + ("…" if len(value) > MAX_TEXT else "")

    def repr_int(self, value: int, level: int) -> str:
        # Python refuses to print an integer of thousands of digits, and takes long for others.
        bits = value.bit_length()
        return super().repr_int(value, level) if bits < 1000 else f"an integer of {bits} bits"


_shorten = _Repr()
_shorten.maxstring = _shorten.maxother = MAX_TEXT
_shorten.maxlist = _shorten.maxtuple = _shorten.maxdict = _shorten.maxlevel = 4


def cluster_html(cluster: Cluster) -> str:
    """Return the brokers and topics of a snapshot."""
    brokers, topics = cluster.brokers, cluster.topics
    head = f"Cluster {cluster.cluster_id or 'without id'}: {counted(len(brokers), 'broker')}, "
    return block(
        f"{head}{counted(len(topics), 'topic')}",
        table(
            ("Broker", "Address", "Rack"),
            ((str(b.id), join(b.host, b.port), b.rack or "") for b in brokers.values()),
            len(brokers),
        ),
        table(
            ("Topic", "Partitions", "Without a leader", "Under-replicated"),
            (_topic_cells(topic) for topic in topics.values()),
            len(topics),
        ),
    )


def _topic_cells(topic: Topic) -> tuple[str, str, str, str]:
    partitions = topic.partitions.values()
    leaderless = sum(partition.leader is None for partition in partitions)
    behind = sum(len(partition.isr) < len(partition.replicas) for partition in partitions)
    return topic.name, topic.error or str(len(partitions)), str(leaderless), str(behind)


def topic_html(topic: Topic) -> str:
    """Return the partitions of a topic."""
    partitions = topic.partitions
    about = [counted(len(partitions), "partition")]
    about += ["internal"] if topic.internal else []
    about += [topic.error] if topic.error is not None else []
    rows = (
        (
            str(found.index),
            "none" if found.leader is None else str(found.leader),
            _ids(found.replicas),
            _ids(found.isr),
            _ids(found.offline_replicas),
            found.error or "",
        )
        for found in partitions.values()
    )
    headings = ("Partition", "Leader", "Replicas", "In sync", "Offline", "Error")
    return block(f"Topic {topic.name}: {', '.join(about)}", table(headings, rows, len(partitions)))


def _ids(ids: Iterable[int]) -> str:
    return listed([str(each) for each in ids], limit=10)


def connections_html(connections: Sequence[ConnectionStatus]) -> str:
    """Return the states of connections."""
    rows = (
        (
            # Bootstrap servers have no id.
            "none" if found.broker < 0 else str(found.broker),
            found.role,
            found.address,
            found.state if found.phase is None else f"{found.state} ({found.phase})",
            "" if found.round_trip_time is None else f"{found.round_trip_time * 1e3:.1f} ms",
            str(found.in_flight),
            found.last_error or "",
        )
        for found in connections
    )
    headings = ("Broker", "Role", "Address", "State", "Round trip", "In flight", "Last error")
    title = counted(len(connections), "connection")
    return block(title, table(headings, rows, len(connections)))


def record_html(record: Record[Any, Any]) -> str:
    """Return a record's place, time, key, value and headers."""
    rows = [
        ("Key", _value(record.key)),
        ("Value", _value(record.value)),
        ("Timestamp", _time(record.timestamp)),
    ]
    headers = record.headers
    rows += [
        (f"Header {cut(name, MAX_TEXT)}", _value(value)) for name, value in headers[:_MAX_COLUMNS]
    ]
    more = len(headers) - _MAX_COLUMNS
    rows += [("Headers", f"… and {more} more")] if more > 0 else []
    title = f"Record {record.topic}-{record.partition} at offset {record.offset}"
    return block(title, table(("Field", "Content"), rows, len(rows), limit=len(rows)))


def _time(timestamp: int) -> str:
    if timestamp < 0:
        return "none"
    try:
        shown = datetime.fromtimestamp(timestamp / 1000, timezone.utc)
    except (ValueError, OverflowError, OSError):
        # A producer may set any number.
        return f"{timestamp} ms since 1970"
    return f"{shown:%Y-%m-%d %H:%M:%S}.{timestamp % 1000:03} UTC"


def record_batch_html(
    columns: Sequence[str], rows: Sequence[tuple[Any, ...]], num_rows: int
) -> str:
    """Return the first rows of a batch.

    Args:
        columns: the names of all columns.
        rows: the first rows, ``MAX_ROWS`` at most.
        num_rows: how many rows the batch has.
    """
    shown = [cut(name, MAX_TEXT) for name in columns[:_MAX_COLUMNS]]
    more = len(columns) - len(shown)
    cells = ([_value(value) for value in row[:_MAX_COLUMNS]] for row in rows)
    title = f"RecordBatch: {counted(num_rows, 'row')}, {counted(len(columns), 'column')}"
    rest = _faint(f"… and {counted(more, 'more column')}") if more else Markup()
    return block(title, table(shown, cells, num_rows) if shown else Markup(), rest)


def _value(value: object) -> str:
    """Return a key, a value or a field as text of bounded length."""
    if value is None:
        return _faint("None", "span")
    if isinstance(value, str):
        return cut(value, MAX_TEXT)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes(bytes(value[: 4 * MAX_TEXT]), len(value))
    return cut(_shorten.repr(value), MAX_TEXT)


def _bytes(start: bytes, size: int) -> str:
    """Return bytes as text if they are UTF-8, otherwise in hexadecimal.

    Args:
        start: the first bytes, enough for ``MAX_TEXT`` characters.
        size: how many there are.
    """
    try:
        # A character that the end of `start` cuts is no error, unless it is the end of the value.
        text = codecs.getincrementaldecoder("utf-8")().decode(start, final=size == len(start))
    except UnicodeDecodeError:
        text = start.hex()
        return cut(text if size == len(start) else f"{text}…", MAX_TEXT)
    return cut(text if size == len(start) else f"{text}…", MAX_TEXT)


def block(title: str, *parts: Markup) -> str:
    heading = element("p", element("strong", title), style="margin:0.25em 0")
    return element("div", heading, *(part for part in parts if part))


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    total: int,
    limit: int = MAX_ROWS,
) -> Markup:
    """Return a table of the first rows, and how many of ``total`` are not shown."""
    if total == 0:
        return Markup()
    head = (element("th", heading, scope="col", style=_HEADING) for heading in headings)
    body = rows_of(islice(rows, limit), limit, style=_CELL)[0]
    table = element(
        "table",
        element("thead", element("tr", *head)),
        element("tbody", joined(body)),
        style=_TABLE,
    )
    more = total - min(total, limit)
    return Markup(table + _faint(f"… and {more} more")) if more else table


def _faint(text: str, name: str = "p") -> Markup:
    return element(name, text, style=f"{_FAINT};margin:0.25em 0")
