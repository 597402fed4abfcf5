"""``ottla transactional-copier``: copies records to another topic in transactions.

The contract is that of ``org.apache.kafka.tools.TransactionalMessageCopier``. Invariant: records
and their offsets are committed together; after an abort, reading continues from the committed
offsets.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

import ottla
from ottla import GroupMetadata
from ottla.cli.system_tests.arguments import add_common, configuration, limit
from ottla.cli.system_tests.events import print_json, stop_on_signal
from ottla.errors import KafkaError, TimeoutError, WakeupError  # noqa: A004 (the module's name)

_POLL_SECONDS = 0.2
# Small, so that a transaction has several batches in flight.
_BATCH_SIZE = 512

TopicPartition = tuple[str, int]


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "transactional-copier",
        help="copy a topic in transactions, as Kafka's TransactionalMessageCopier",
        description="Copy records to another topic in transactions, with the read offsets.",
    )
    add_common(parser)
    parser.add_argument("--input-topic", required=True, help="the topic to read")
    parser.add_argument(
        "--input-partition", type=int, required=True, help="its partition; not in group mode"
    )
    parser.add_argument("--output-topic", required=True, help="the topic to write")
    parser.add_argument("--transactional-id", required=True, help="the producer's transactional.id")
    parser.add_argument("--consumer-group", default="-1", help="the group that commits the offsets")
    parser.add_argument(
        "--max-messages", type=int, default=-1, help="number of records; -1: up to the end at start"
    )
    parser.add_argument(
        "--transaction-size", type=int, default=200, help="records per transaction (200)"
    )
    parser.add_argument(
        "--transaction-timeout", type=int, default=60_000, metavar="MS", help="(60000)"
    )
    parser.add_argument(
        "--enable-random-aborts", action="store_true", help="abort a third of the transactions"
    )
    parser.add_argument(
        "--group-mode", action="store_true", help="share the topic with the group's other members"
    )
    parser.add_argument(
        "--use-group-metadata",
        action="store_true",
        help="let the group's coordinator check that this member still owns its partitions",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Copy until the end or a signal; return the exit code."""
    producer = ottla.Producer(config=configuration(arguments, _producer_config(arguments)))
    consumer = ottla.Consumer(config=configuration(arguments, _consumer_config(arguments)))
    copier = _Copier(arguments, producer, consumer)
    with stop_on_signal(consumer.wakeup) as stopped:
        try:
            copier.start()
            while copier.remaining > 0 and not stopped.is_set():
                copier.print_status("ProcessLoop")
                copier.copy(stopped)
        except WakeupError:
            pass
        finally:
            with contextlib.suppress(KafkaError):
                producer.close()
            with contextlib.suppress(KafkaError):
                consumer.close()
            copier.print_shutdown()
    return 0


def _producer_config(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "transactional.id": arguments.transactional_id,
        "transaction.timeout.ms": arguments.transaction_timeout,
        "batch.size": _BATCH_SIZE,
    }


def _consumer_config(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "group.id": arguments.consumer_group,
        "isolation.level": "read_committed",
        "max.poll.records": arguments.transaction_size,
        "enable.auto.commit": "false",
        "session.timeout.ms": 10_000,
        "heartbeat.interval.ms": 3_000,
        "max.poll.interval.ms": 180_000,
        "auto.offset.reset": "earliest",
    }


class _Copier:
    """Copies one poll's records in each transaction."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        producer: ottla.Producer,
        consumer: ottla.Consumer[bytes, bytes],
    ) -> None:
        self._arguments = arguments
        self._producer = producer
        self._consumer = consumer
        self._total = 0
        self._since_rebalance = 0
        self.remaining = limit(arguments.max_messages)

    def start(self) -> None:
        """Initialize the producer, and begin to read."""
        # Unlike in Java, this comes first: it fences an earlier copier, which then commits no more.
        self._producer.init_transactions()
        topic = self._arguments.input_topic
        if self._arguments.group_mode:
            self._consumer.subscribe([topic], on_assigned=self._on_assigned)
        else:
            partition = (topic, self._arguments.input_partition)
            self._consumer.assign([partition])
            self.remaining = min(self._remaining_in([partition]), self.remaining)

    def copy(self, stopped: threading.Event) -> None:
        """Copy one poll's records, if there are any."""
        records = self._consumer.poll(timeout=_POLL_SECONDS)
        if not records:
            return
        try:
            self._producer.begin_transaction()
            for record in records:
                self._producer.send(
                    self._arguments.output_topic,
                    record.value,
                    key=record.key,
                    partition=record.partition,
                )
            self._send_offsets()
            if self._arguments.enable_random_aborts and random.randrange(3) == 0:  # noqa: S311
                self._abort()
                return
            self._settle(self._producer.commit_transaction, stopped)
        except KafkaError as error:
            if error.fatal:
                raise
            self._abort()
        else:
            self.remaining -= len(records)
            self._since_rebalance += len(records)
            self._total += len(records)

    def _send_offsets(self) -> None:
        if self._arguments.use_group_metadata:
            self._producer.send_offsets_to_transaction(None, self._consumer)
            return
        offsets = {
            (topic, partition): self._consumer.position(topic, partition)
            for topic, partition in self._consumer.assignment()
        }
        group = GroupMetadata(self._arguments.consumer_group)
        self._producer.send_offsets_to_transaction(offsets, group)

    def _abort(self) -> None:
        self._settle(self._producer.abort_transaction, threading.Event())
        assignment = self._consumer.assignment()
        committed = self._consumer.committed(*assignment)
        for topic, partition in assignment:
            known = committed.get((topic, partition))
            if known is None:
                self._consumer.seek_to_beginning((topic, partition))
            else:
                self._consumer.seek(topic, partition, known.offset)

    def _settle(self, end: Callable[[], None], stopped: threading.Event) -> None:
        """End the transaction. A call that times out continues, and is repeated."""
        while True:
            try:
                end()
            except TimeoutError:
                if stopped.is_set():
                    raise
            else:
                return

    def _on_assigned(self, _consumer: object, _added: list[TopicPartition]) -> None:
        self.remaining = self._remaining_in(self._consumer.assignment())
        self._since_rebalance = 0
        self.print_status("RebalanceComplete")

    def _remaining_in(self, partitions: list[TopicPartition]) -> int:
        ends = self._consumer.end_offsets(*partitions)
        return sum(
            ends[topic, partition] - self._consumer.position(topic, partition)
            for topic, partition in partitions
        )

    def print_status(self, stage: str) -> None:
        """Print the progress."""
        print_json({"progress": self._arguments.transactional_id, **self._counts(), "stage": stage})

    def print_shutdown(self) -> None:
        """Print the final counts."""
        print_json({"shutdown_complete": self._arguments.transactional_id, **self._counts()})

    def _counts(self) -> dict[str, object]:
        # Java reports its largest long if there is no limit.
        remaining = min(self.remaining, (1 << 63) - 1)
        return {
            "totalProcessed": self._total,
            "consumed": self._since_rebalance,
            "remaining": int(remaining),
            "time": datetime.now().strftime("%Y/%m/%d %H:%M:%S:%f")[:-3],  # noqa: DTZ005
        }
