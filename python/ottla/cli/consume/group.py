"""``ottla consume --group``: read as a member of a group.

Invariant: an offset is committed after its record was printed, and before the partition is assigned
to another member.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from ottla import Admin, Consumer
from ottla._core import client_of, config_row_of
from ottla.cli.consume.output import Output
from ottla.cli.consume.selection import COLUMNS, Selection
from ottla.cli.consume.topics import topics_as_text
from ottla.cli.options import put
from ottla.cli.signals import finish_first
from ottla.cli.suggestions import check_topics
from ottla.cli.waiting import obstacles, report_waiting
from ottla.errors import ConfigError

_POLL_SECONDS = 0.25
_ROWS = 500
_CREATES = "allow.auto.create.topics"
_RESETS = {"beginning": "earliest", "earliest": "earliest", "end": "latest", "latest": "latest"}


def read_group(
    config: Mapping[str, Any], arguments: argparse.Namespace, selection: Selection, output: Output
) -> None:
    """Print records until the end, the count, or Ctrl-C, and leave the group."""
    with Consumer(_configuration(config, arguments)) as consumer:
        if arguments.pattern is not None:
            consumer.subscribe(pattern=arguments.pattern)
        else:
            consumer.subscribe(arguments.topics)
            check_topics(Admin(client_of(consumer)), arguments.topics)

        def waiting_for() -> str | None:
            why = obstacles(consumer.connections())
            if why or not consumer.assignment():
                return f"partitions of group {arguments.group}{': ' if why else ''}{why}"
            if sys.stdout.isatty():
                return f"records of {topics_as_text(arguments)} (Ctrl-C to exit)"
            return None

        with report_waiting(waiting_for) as progress:
            remaining = arguments.count
            while remaining is None or remaining > 0:
                # Poll no more records than requested, because all polled records are committed.
                rows = _ROWS if remaining is None else min(remaining, _ROWS)
                batch = consumer.poll_arrow(
                    timeout=_POLL_SECONDS,
                    columns=COLUMNS,
                    max_rows=rows,
                    **selection.format_arguments(),
                )
                if batch is None:
                    if arguments.exit and _is_at_end(consumer):
                        break
                    continue
                progress()
                kept = selection.records(batch.rows())
                # Printed records are not kept in memory while the next batch is decoded.
                del batch
                # Printed records are committed even if a signal arrives in between.
                with finish_first():
                    output(kept)
                    consumer.commit()
                if remaining is not None:
                    remaining -= len(kept)
                del kept


def _configuration(config: Mapping[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    starts = arguments.offset or ["beginning"]
    if len(starts) > 1 or starts[0] not in _RESETS:
        raise ConfigError(
            "-o: with --group expected beginning or end, for partitions without a committed "
            "offset; `ottla groups reset` sets other offsets"
        )
    result = dict(config)
    put(result, "group.id", arguments.group)
    put(result, "auto.offset.reset", _RESETS[starts[0]])
    put(result, "enable.auto.commit", "false")
    # A mistyped name must not become a topic.
    if not any(config_row_of(key) == _CREATES for key in config):
        put(result, _CREATES, "false")
    return result


def _is_at_end(consumer: Consumer[bytes, bytes]) -> bool:
    assigned = consumer.assignment()
    # A lag shows records that were not delivered yet, such as those waiting for a schema. Checking
    # it first saves a request.
    if not assigned or any(consumer.lag().values()):
        return False
    ends = consumer.end_offsets(*assigned)
    return all(consumer.position(*topic_partition) >= end for topic_partition, end in ends.items())
