"""``ottla consume``: write the records of topics to standard output, and optionally follow them.

``topics.py`` and ``ranges.py`` or ``group.py`` select the records to read, ``schemas.py`` decodes
keys and values with a schema, ``filters.py`` drops records, ``decoding.py`` and ``headers.py``
interpret bytes without a schema, and ``output.py`` prints. Invariants: without ``--group``, the
command joins no group and commits nothing; no record is kept in memory while the next batch is
decoded.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ottla import Admin, Client, RecordBatch
from ottla.cli.consume.decoding import DECODERS
from ottla.cli.consume.group import read_group
from ottla.cli.consume.newest import choose_newest
from ottla.cli.consume.output import output_of
from ottla.cli.consume.ranges import Range, newest_ranges, ranges_of
from ottla.cli.consume.selection import COLUMNS, Selection
from ottla.cli.consume.topics import add_topics, check_pattern, topics_as_text
from ottla.cli.formats import Record
from ottla.cli.options import add_cluster, configuration, connect, record_count
from ottla.cli.schema_options import add_schemas
from ottla.cli.suggestions import check_topics
from ottla.cli.texts import ByteText
from ottla.cli.waiting import obstacles, report_waiting
from ottla.errors import ConfigError

# The number of rows that are converted to objects at a time.
_ROWS = 1_000


def add(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command's arguments."""
    parser = commands.add_parser(
        "consume",
        help="read topics to standard output",
        description="Write topics to standard output, and follow them unless -e, -c or --last is "
        "given. With several topics, a line begins with the topic and a tab, unless -f or -J is "
        "given.",
        epilog="OFFSET: beginning, end, N (an offset), -N (the last N of each partition), or a "
        "time or how long ago, for the first record at or after it (2026-11-24T10:00:00Z, 12h, or "
        "s@ and ms since 1970); e@ and a time is where to end. FORMAT: text with \\n \\t "
        "\\xHH, %t topic, %p partition, %o offset, %k key, %s value, %h headers, %T "
        "timestamp in ms, %T{%F %T} timestamp in UTC as strftime writes it, %K and %S lengths "
        "of key and value, %%.",
    )
    add_cluster(parser)
    add_topics(parser)
    parser.add_argument(
        "-p", "--partition", type=int, action="append", help="this partition of each topic only"
    )
    parser.add_argument(
        "-o", "--offset", action="append", help="where to start (beginning); see below"
    )
    parser.add_argument("-c", "--count", type=record_count, help="exit after this many records")
    parser.add_argument("-e", "--exit", action="store_true", help="exit at the end of the topics")
    parser.add_argument(
        "--last",
        type=record_count,
        metavar="N",
        help="the newest N records of all partitions, then exit",
    )
    parser.add_argument(
        "-G", "--group", help="read as a member of this group, and commit what was printed"
    )
    _add_filters(parser)
    _add_output(parser)
    add_schemas(parser)
    parser.set_defaults(run=run)


def _add_filters(parser: argparse.ArgumentParser) -> None:
    filters = parser.add_argument_group("filters; a record must pass all of them")
    filters.add_argument(
        "--key",
        type=ByteText,
        metavar="REGEX",
        help="keys that this regular expression matches anywhere",
    )
    filters.add_argument(
        "--value",
        type=ByteText,
        metavar="REGEX",
        help="values that this regular expression matches anywhere",
    )
    filters.add_argument(
        "--header",
        type=ByteText,
        metavar="NAME[=REGEX]",
        action="append",
        default=[],
        help="records with this header; may be repeated",
    )
    filters.add_argument(
        "--where",
        metavar="FIELD=VALUE",
        action="append",
        default=[],
        help="JSON values with this value in a field, such as customer.id=42",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    output.add_argument("-f", "--format", type=ByteText, help="how to print a record; see below")
    output.add_argument(
        "-K",
        "--key-delimiter",
        type=ByteText,
        help="also print the key, followed by this separator",
    )
    output.add_argument(
        "-D", "--delimiter", type=ByteText, default="\\n", help="terminator of a record (\\n)"
    )
    output.add_argument("-J", "--json", action="store_true", help="print one JSON object per line")
    for part in ("key", "value"):
        output.add_argument(
            f"--{part}-as", choices=sorted(DECODERS), help=f"the type of the {part}"
        )
    output.add_argument(
        "--header-as",
        metavar="[NAME=]TYPE",
        action="append",
        default=[],
        help="the type of headers, or of those with this name; may be repeated",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print records until the end, the count, or Ctrl-C."""
    output, selection = output_of(arguments), Selection(arguments)
    _check(arguments)
    if 0 in (arguments.count, arguments.last):
        return 0
    if arguments.group is not None:
        read_group(configuration(arguments), arguments, selection, output)
        return 1 if output.failed else 0
    with connect(arguments) as client:
        with report_waiting(lambda: _waiting_for(client, arguments)):
            ranges = _ranges(client, arguments)
        with report_waiting(lambda: _waiting_for(client, arguments)) as progress:
            batches = _read(client, ranges, selection, progress)
            if arguments.last is not None:
                batches = choose_newest(
                    batches,
                    arguments.last,
                    lambda again: _read(client, again, selection, progress),
                )
            remaining = arguments.count
            for records in batches:
                output(records[:remaining])
                if remaining is not None:
                    remaining -= len(records)
                    if remaining <= 0:
                        break
                del records
    return 1 if output.failed else 0


def _check(arguments: argparse.Namespace) -> None:
    check_pattern(arguments)
    if arguments.last is not None and (arguments.offset or arguments.count is not None):
        raise ConfigError("--last replaces -o and -c")
    if arguments.group is not None and (arguments.partition or arguments.last is not None):
        raise ConfigError("--group excludes -p and --last: the group assigns the partitions")


def _ranges(client: Client, arguments: argparse.Namespace) -> list[Range]:
    # A scan would wait for topics that may be about to be created.
    check_topics(Admin(client), arguments.topics or ())
    if arguments.last is None:
        return ranges_of(client, arguments)
    # A filter may drop any number of records, so all records are read.
    has_filter = any((arguments.key, arguments.value, arguments.header, arguments.where))
    return newest_ranges(client, arguments, None if has_filter else arguments.last)


def _waiting_for(client: Client, arguments: argparse.Namespace) -> str | None:
    """Return what the command waits for.

    At the end of a followed topic it waits for new records. Only a terminal gets a message then.
    """
    why = obstacles(client.connections())
    if why:
        return f"records of {topics_as_text(arguments)}: {why}"
    if sys.stdout.isatty():
        return f"records of {topics_as_text(arguments)} (Ctrl-C to exit)"
    return None


def _read(
    client: Client, ranges: list[Range], selection: Selection, progress: Callable[[], None]
) -> Iterator[list[Record]]:
    with client.scan(
        ranges,
        columns=COLUMNS,
        max_rows=_ROWS,
        fail_on_data_loss=False,
        **selection.format_arguments(),
    ) as scan:

        def records(batch: RecordBatch) -> list[Record]:
            progress()
            return selection.records(batch.rows())

        # Unlike a loop variable, this keeps no batch in memory while the next one is decoded.
        yield from map(records, scan)
