"""``ottla produce``: write standard input, or files, to a topic; by default one record per line.

``json_serializer.py`` encodes keys and values with a schema; ``failures.py`` reports what was not
written. Invariant: memory is bounded, by the producer's buffer and by the number of unsettled
deliveries.
"""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypedDict

from ottla import Admin, Delivery, Producer
from ottla._core import client_of
from ottla._internal.text import counted
from ottla.cli.formats import unescape
from ottla.cli.messages import say, say_error
from ottla.cli.options import add_cluster, add_json, configuration, put, record_count
from ottla.cli.output import print_document
from ottla.cli.produce.destination import ensure_topic
from ottla.cli.produce.failures import LENGTH, Failures, without_unchecked
from ottla.cli.produce.json_serializer import JsonSerializer
from ottla.cli.schema_formats import formats_of
from ottla.cli.schema_options import add_schemas
from ottla.cli.texts import ByteText
from ottla.cli.waiting import obstacles, report_waiting
from ottla.errors import ConfigError, KafkaError

_CHUNK = 1 << 16


class Produced(TypedDict):
    """The document of the command.

    Attributes:
        topic: the topic.
        written_count: the number of records that were acknowledged.
        failed_count: the number of records that were not; their errors are on standard error.
        unknown_count: how many of these may have been written nevertheless.
    """

    topic: str
    written_count: int
    failed_count: int
    unknown_count: int


# The number of unsettled deliveries at which reading stops until the oldest are settled.
_WINDOW = 10_000


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "produce",
        help="write standard input, or files, to a topic",
        description="Write records from standard input, one per line, or each FILE as one record. "
        "With --value-format, each value is JSON, in the form that ottla consume prints. "
        "The exit code is 1 if a record was not acknowledged.",
    )
    add_cluster(parser)
    parser.add_argument("-t", "--topic", required=True, help="the topic")
    parser.add_argument(
        "--create",
        action="store_true",
        help="create the topic if it does not exist, with the defaults of the cluster",
    )
    parser.add_argument(
        "-p", "--partition", type=int, help="the partition (chosen by the partitioner)"
    )
    parser.add_argument("-k", "--key", help="a key for all records")
    parser.add_argument(
        "-K", "--key-delimiter", type=ByteText, help="separator of key and value in each record"
    )
    parser.add_argument(
        "-D", "--delimiter", type=ByteText, default="\\n", help="terminator of a record (\\n)"
    )
    parser.add_argument(
        "-H", "--header", action="append", default=[], metavar="NAME=VALUE", help="a header"
    )
    parser.add_argument("-Z", "--null", action="store_true", help="send empty parts as null")
    parser.add_argument("-z", "--compression", help="gzip, snappy, lz4 or zstd")
    parser.add_argument("-c", "--count", type=record_count, help="exit after this many records")
    parser.add_argument("-F", "--file", type=Path, action="append", help="a file as one record")
    add_json(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print the number of records")
    add_schemas(parser, writes=True)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write all records, and wait until each is acknowledged or has failed."""
    config = configuration(arguments)
    if arguments.compression:
        put(config, "compression.type", arguments.compression)
    delimiter = unescape(arguments.delimiter)
    if not delimiter:
        raise ConfigError("-D: the delimiter must not be empty")
    key_delimiter = None
    if arguments.key_delimiter is not None:
        key_delimiter = unescape(arguments.key_delimiter)
        if not key_delimiter:
            raise ConfigError("-K: the delimiter must not be empty")
    _check_files(arguments.file or ())
    headers = [_header(header) for header in arguments.header]
    formats = formats_of(arguments)
    serializers = {part: JsonSerializer(formats[part], part) for part in formats}
    settled, refused = 0, False
    failures = Failures(arguments.topic)
    unsettled: deque[Delivery] = deque()

    def settle(limit: int) -> None:
        nonlocal settled
        while len(unsettled) > limit:
            error = unsettled[0].exception()
            unsettled.popleft()
            progress()
            settled += 1
            if error is not None:
                failures.add(settled, error)

    def oldest_unacknowledged() -> Delivery | None:
        return next((each for each in unsettled.copy() if not each.done()), None)

    def unacknowledged() -> str | None:
        # If the input is slow, records are acknowledged long before this loop settles them.
        waiting = sum(not each.done() for each in unsettled.copy())
        if not waiting:
            return None
        why = obstacles(producer.connections())
        number = f"{counted(waiting, 'record')} to be acknowledged"
        return f"{number}: {why}" if why else number

    producer = Producer(
        config=config,
        key_serializer=serializers.get("key"),
        value_serializer=serializers.get("value"),
    )

    # A format may add the id of a record's schema to them.
    sent = list(headers)
    send = partial(producer.send, arguments.topic, headers=sent, partition=arguments.partition)

    def count_interrupted() -> None:
        _report_interrupted(arguments, settled, failures, unsettled)

    with (
        without_unchecked(),
        _before_interrupt(count_interrupted),
        producer,
        report_waiting(unacknowledged, identify=oldest_unacknowledged) as progress,
    ):
        ensure_topic(Admin(client_of(producer)), arguments.topic, create=arguments.create)
        for number, record in enumerate(_records(arguments, delimiter)):
            if number == arguments.count:
                break
            key, value = _split(record, key_delimiter, arguments)
            sent[:] = headers
            try:
                # In one step: a signal between a send and its entry would hide a record.
                unsettled.extend(map(send, [value], [key]))
            except KafkaError as error:
                # Only this record was rejected. The records before it were accepted.
                item = _item(arguments, number)
                say_error(
                    error,
                    prefix=f"record {number + 1}: ",
                    suffix="; the input after it was not read",
                    item=item,
                    limit=LENGTH,
                )
                refused = True
                break
            settle(_WINDOW)
        producer.flush()
        settle(0)
    written = settled - failures.count
    if refused:
        failures.add_refused(settled + 1)
    if arguments.json:
        _print_counts(arguments, written, failures.count, failures.maybe_written)
    elif arguments.verbose or failures.count or sys.stdin.isatty():
        say(failures.summary(written))
    return 1 if failures.count else 0


@contextmanager
def _before_interrupt(report: Callable[[], None]) -> Iterator[None]:
    """Call a function if a signal ends the block."""
    try:
        yield
    except KeyboardInterrupt:
        report()
        raise


def _report_interrupted(
    arguments: argparse.Namespace,
    settled: int,
    failures: Failures,
    unsettled: Iterable[Delivery],
) -> None:
    """Print how many records were written when a signal ended the command.

    A record that was not acknowledged by then may have been written.
    """
    written, failed, unknown = settled - failures.count, failures.count, failures.maybe_written
    for each in unsettled:
        error = each.exception() if each.done() else None
        if each.done() and error is None:
            written += 1
        else:
            failed += 1
            unknown += error is None or error.maybe_done
    if arguments.json:
        _print_counts(arguments, written, failed, unknown)
        return
    parts = [f"{counted(written, 'record')} written"]
    parts += [f"{failed - unknown} failed"] if failed > unknown else []
    parts += [f"{unknown} unknown"] if unknown else []
    say(f"interrupted: {', '.join(parts)}")


def _print_counts(arguments: argparse.Namespace, written: int, failed: int, unknown: int) -> None:
    print_document(
        Produced(
            topic=arguments.topic,
            written_count=written,
            failed_count=failed,
            unknown_count=unknown,
        )
    )


def _check_files(paths: Iterable[Path]) -> None:
    """Check that files exist, before any is written.

    Raises:
        ConfigError: one does not, or is a directory.
    """
    for path in paths:
        if not path.exists():
            raise ConfigError(f"-F {path}: there is no such file")
        if path.is_dir():
            raise ConfigError(f"-F {path}: this is a directory, expected a file")


def _item(arguments: argparse.Namespace, number: int) -> dict[str, object]:
    return {"topic": arguments.topic, "index": number}


def _header(text: str) -> tuple[str, bytes | None]:
    name, separator, value = text.partition("=")
    if not name:
        raise ConfigError(f"-H {text!r}: expected NAME=VALUE")
    return name, value.encode() if separator else None


def _split(
    record: bytes, delimiter: bytes | None, arguments: argparse.Namespace
) -> tuple[bytes | None, bytes | None]:
    """Split an input record into key and value."""
    key: bytes | None = None if arguments.key is None else arguments.key.encode()
    value: bytes | None = record
    if delimiter is not None and delimiter in record:
        key, _, value = record.partition(delimiter)
    if arguments.null:
        key, value = key or None, value or None
    return key, value


def _records(arguments: argparse.Namespace, delimiter: bytes) -> Iterator[bytes]:
    if arguments.file:
        for path in arguments.file:
            yield path.read_bytes()
    else:
        yield from split_stream(sys.stdin.buffer, delimiter)


def split_stream(stream: BinaryIO, delimiter: bytes) -> Iterator[bytes]:
    """Split a stream at a delimiter while it is read. A non-empty rest is the last part."""
    read = getattr(stream, "read1", stream.read)
    rest = b""
    while chunk := read(_CHUNK):
        *complete, rest = (rest + chunk).split(delimiter)
        yield from complete
    if rest:
        yield rest
