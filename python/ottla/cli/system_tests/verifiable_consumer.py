"""``ottla verifiable-consumer``: reads a topic as a group's member, and reports what it does.

The contract is that of ``org.apache.kafka.tools.VerifiableConsumer``. Invariant: offsets are
committed only for records that were reported before.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any

import ottla
from ottla.cli.system_tests.arguments import add_common, configuration, limit, one_of
from ottla.cli.system_tests.events import emit, stop_on_signal, text
from ottla.errors import FencedError, KafkaError, WakeupError

_POLL_SECONDS = 1.0
_RANGE = "org.apache.kafka.clients.consumer.RangeAssignor"

TopicPartition = tuple[str, int]


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "verifiable-consumer",
        help="read as a group's member and print JSON lines, as Kafka's VerifiableConsumer",
        description="Read a topic as a group's member, and print events as JSON lines.",
    )
    add_common(parser, "--consumer.config")
    parser.add_argument("--topic", required=True, help="the topic")
    parser.add_argument("--group-id", required=True, help="the group")
    parser.add_argument(
        "--group-protocol", type=one_of("classic", "consumer"), default="classic", help="(classic)"
    )
    parser.add_argument("--group-remote-assignor", help="with the protocol consumer")
    parser.add_argument("--group-instance-id", help="makes this a static member")
    parser.add_argument(
        "--max-messages", type=int, default=-1, help="how many records to read; -1: no limit"
    )
    parser.add_argument(
        "--session-timeout", type=int, metavar="MS", help="with the protocol classic (30000)"
    )
    parser.add_argument("--verbose", action="store_true", help="report each record")
    parser.add_argument(
        "--enable-autocommit", action="store_true", help="commit periodically, not after each poll"
    )
    parser.add_argument(
        "--reset-policy",
        type=one_of("earliest", "latest", "none"),
        default="earliest",
        help="where to start without a committed offset (earliest)",
    )
    parser.add_argument("--assignment-strategy", help="with the protocol classic (RangeAssignor)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read until the limit or a signal; return the exit code."""
    consumer = ottla.Consumer(config=configuration(arguments, _own_config(arguments)))
    reader = _Reader(consumer, arguments)
    with stop_on_signal(consumer.wakeup) as stopped:
        emit("startup_complete")
        try:
            consumer.subscribe(
                [arguments.topic],
                on_assigned=lambda _, partitions: emit("partitions_assigned", **_named(partitions)),
                on_revoked=lambda _, partitions: emit("partitions_revoked", **_named(partitions)),
            )
            while not stopped.is_set() and not reader.is_finished:
                reader.poll()
        except WakeupError:
            pass
        except KafkaError as error:
            # As in Java, the error is not an event, and the shutdown follows.
            print(f"ottla: {error}", file=sys.stderr, flush=True)
        finally:
            if stopped.is_set():
                emit("shutdown_requested")
            consumer.close()
            emit("shutdown_complete")
            # If no signal starts it, Java's shutdown hook runs last.
            if not stopped.is_set():
                emit("shutdown_requested")
    return 0


def _own_config(arguments: argparse.Namespace) -> dict[str, Any]:
    is_classic = arguments.group_protocol == "classic"
    return {
        "group.id": arguments.group_id,
        "group.protocol": arguments.group_protocol,
        "group.instance.id": arguments.group_instance_id,
        "group.remote.assignor": arguments.group_remote_assignor,
        "enable.auto.commit": str(arguments.enable_autocommit).lower(),
        "auto.offset.reset": arguments.reset_policy,
        "session.timeout.ms": (arguments.session_timeout or 30_000) if is_classic else None,
        "partition.assignment.strategy": (arguments.assignment_strategy or _RANGE)
        if is_classic
        else None,
    }


def _named(partitions: Iterable[TopicPartition]) -> dict[str, object]:
    named = [{"topic": topic, "partition": partition} for topic, partition in sorted(partitions)]
    return {"partitions": named}


class _Reader:
    """Reads, reports and commits."""

    def __init__(
        self, consumer: ottla.Consumer[bytes, bytes], arguments: argparse.Namespace
    ) -> None:
        self._consumer = consumer
        self._commits = not arguments.enable_autocommit
        self._verbose = arguments.verbose
        self._left = limit(arguments.max_messages)

    @property
    def is_finished(self) -> bool:
        """Whether the limit is reached."""
        return self._left <= 0

    def poll(self) -> None:
        """Read once."""
        by_partition: dict[TopicPartition, list[ottla.Record[bytes | None, bytes | None]]] = {}
        records = self._consumer.poll(timeout=_POLL_SECONDS)
        for record in records:
            by_partition.setdefault((record.topic, record.partition), []).append(record)
        summaries, offsets = [], {}
        for (topic, partition), of_partition in sorted(by_partition.items()):
            if len(of_partition) > self._left:
                del of_partition[int(self._left) :]
            if not of_partition:
                break
            self._left -= len(of_partition)
            first, last = of_partition[0].offset, of_partition[-1].offset
            offsets[topic, partition] = last + 1
            summaries.append(
                {
                    "topic": topic,
                    "partition": partition,
                    "count": len(of_partition),
                    "minOffset": first,
                    "maxOffset": last,
                }
            )
            if self._verbose:
                for record in of_partition:
                    _emit_record(record)
        if not summaries:
            return
        emit("records_consumed", count=len(records), partitions=summaries)
        if self._commits:
            self._commit(offsets)

    def _commit(self, offsets: dict[TopicPartition, int]) -> None:
        named = [
            {"topic": topic, "partition": partition, "offset": offset}
            for (topic, partition), offset in offsets.items()
        ]
        try:
            self._consumer.commit(offsets)
        except WakeupError:
            # Only a signal wakes the consumer, once.
            self._commit(offsets)
            raise
        except FencedError:
            raise
        except KafkaError as error:
            emit("offsets_committed", offsets=named, error=str(error), success=False)
        else:
            emit("offsets_committed", offsets=named, success=True)


def _emit_record(record: ottla.Record[bytes | None, bytes | None]) -> None:
    emit(
        "record_data",
        key=text(record.key),
        value=text(record.value),
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
    )
