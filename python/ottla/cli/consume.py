"""``ottla consume``: write a topic's records to standard output, and follow the topic if wanted.

It reads the partitions directly from their leaders, joins no group and commits nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from ottla import Client
from ottla.cli.formats import Format, Record, compile_format, unescape
from ottla.cli.options import add_cluster, connect, record_count
from ottla.cli.waiting import obstacles, report_waiting
from ottla.doctor.text import counted
from ottla.errors import ConfigError, UnknownTopicError

_COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "headers"]
# Rows that are converted to objects at a time.
_ROWS = 1_000

Partitions = list[tuple[str, int]]
Offsets = dict[tuple[str, int], int]


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "consume",
        help="read a topic to standard output",
        description="Write a topic to standard output, and follow it unless -e or -c is given.",
        epilog="OFFSET: beginning, end, N (an offset), -N (the last N of each partition), or "
        "s@MS (the first record at or after a time in ms); e@MS ends before that record. "
        "FORMAT: text with \\n \\t \\xHH, %%t topic, %%p partition, %%o offset, %%k key, %%s "
        "value, %%h headers, %%T timestamp, %%K and %%S lengths of key and value, %%%%.",
    )
    add_cluster(parser)
    parser.add_argument("-t", "--topic", required=True, help="the topic")
    parser.add_argument("-p", "--partition", type=int, action="append", help="this partition only")
    parser.add_argument(
        "-o", "--offset", action="append", help="where to start (beginning); see below"
    )
    parser.add_argument("-c", "--count", type=record_count, help="exit after this many records")
    parser.add_argument("-e", "--exit", action="store_true", help="exit at the end of the topic")
    parser.add_argument("-f", "--format", help="how to print a record; see below")
    parser.add_argument("-K", "--key-delimiter", help="print the key too, followed by this")
    parser.add_argument("-D", "--delimiter", default="\\n", help="terminator of a record (\\n)")
    parser.add_argument("-J", "--json", action="store_true", help="print one JSON object per line")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print records until the end, the count, or Ctrl-C."""
    format_record = _format(arguments)
    if arguments.count == 0:
        return 0
    with connect(arguments) as client:
        with report_waiting(lambda: _waiting_for(client, arguments)):
            ranges = _ranges(client, arguments)
        write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush
        remaining = arguments.count
        with report_waiting(lambda: _waiting_for(client, arguments)) as progress:
            for records in _read(client, ranges):
                progress()
                for record in records[:remaining]:
                    write(format_record(record))
                # So that the reader of the output sees each record immediately.
                flush()
                if remaining is not None:
                    remaining -= len(records)
                    if remaining <= 0:
                        break
    return 0


def _waiting_for(client: Client, arguments: argparse.Namespace) -> str | None:
    """Return what the command waits for.

    At the end of a followed topic it waits for new records, which is worth a message only on a
    terminal.
    """
    why = obstacles(client.connections())
    if why:
        return f"records of {arguments.topic}: {why}"
    if sys.stdout.isatty():
        return f"records of {arguments.topic} (Ctrl-C to exit)"
    return None


def _read(client: Client, ranges: list[tuple[str, int, int, int | None]]) -> Iterator[list[Record]]:
    with client.scan(ranges, columns=_COLUMNS, max_rows=_ROWS, fail_on_data_loss=False) as scan:
        for batch in scan:
            yield [Record(*row) for row in batch.rows()]


def _format(arguments: argparse.Namespace) -> Format:
    """Return the function that formats a record."""
    if arguments.json:
        return as_json
    if arguments.format is not None:
        return compile_format(arguments.format)
    end = unescape(arguments.delimiter)
    if arguments.key_delimiter is None:
        return lambda record: (record.value or b"") + end
    delimiter = unescape(arguments.key_delimiter)
    return lambda record: (record.key or b"") + delimiter + (record.value or b"") + end


def as_json(record: Record) -> bytes:
    """Return a record as a line of JSON; bytes that are not UTF-8 become U+FFFD."""
    headers = [[name, _text(value)] for name, value in record.headers or []]
    fields = record._asdict() | {
        "key": _text(record.key),
        "value": _text(record.value),
        "headers": headers,
    }
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _ranges(
    client: Client, arguments: argparse.Namespace
) -> list[tuple[str, int, int, int | None]]:
    """Return the range to read of each partition; without an end if the topic is followed."""
    partitions = _partitions(client, arguments.topic, arguments.partition)
    offsets = [_offset(text) for text in arguments.offset or ["beginning"]]
    starts = [(kind, number) for kind, number in offsets if kind != "until"]
    stops = [number for kind, number in offsets if kind == "until"]
    if len(starts) > 1 or len(stops) > 1:
        raise ConfigError("-o: give at most one start and one end (e@MS)")
    start = _starts(client, partitions, *(starts or [("beginning", 0)])[0])
    end: dict[tuple[str, int], int | None] = dict.fromkeys(partitions)
    if stops:
        end.update(_at_time(client, partitions, stops[0]))
    elif arguments.exit:
        end.update(_listed(client, partitions, "latest"))
    return [(topic, index, start[topic, index], end[topic, index]) for topic, index in partitions]


def _partitions(client: Client, topic: str, wanted: list[int] | None) -> Partitions:
    known = client.cluster([topic]).topics[topic].partitions
    for index in wanted or []:
        if index not in known:
            raise UnknownTopicError(
                f"partition {index} of topic {topic} does not exist: the topic has "
                f"{counted(len(known), 'partition')}"
            )
    return [(topic, index) for index in dict.fromkeys(wanted or sorted(known))]


def _offset(text: str) -> tuple[str, int]:
    """Parse an argument of -o into a kind and a number."""
    if text in {"beginning", "earliest"}:
        return "beginning", 0
    if text in {"end", "latest"}:
        return "end", 0
    kind = {"s@": "time", "e@": "until"}.get(text[:2])
    try:
        number = int(text[2:] if kind else text)
    except ValueError:
        raise ConfigError(f"-o {text}: expected beginning, end, N, -N, s@MS or e@MS") from None
    return kind or ("tail" if number < 0 else "at"), number


def _starts(client: Client, partitions: Partitions, kind: str, number: int) -> Offsets:
    if kind == "at":
        return dict.fromkeys(partitions, number)
    if kind == "beginning":
        return _listed(client, partitions, "earliest")
    if kind == "end":
        return _listed(client, partitions, "latest")
    if kind == "time":
        return _at_time(client, partitions, number)
    first = _listed(client, partitions, "earliest")
    last = _listed(client, partitions, "latest")
    return {partition: max(first[partition], last[partition] + number) for partition in partitions}


def _listed(client: Client, partitions: Partitions, spec: str | int) -> Offsets:
    found = client.list_offsets(dict.fromkeys(partitions, spec))
    return {partition: found[partition].offset for partition in partitions}


def _at_time(client: Client, partitions: Partitions, millis: int) -> Offsets:
    """Return the first offsets at or after a time; end offsets where there is no such record."""
    found = _listed(client, partitions, millis)
    late = [partition for partition, offset in found.items() if offset < 0]
    return found | (_listed(client, late, "latest") if late else {})
