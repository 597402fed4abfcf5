"""``ottla verifiable-producer``: sends increasing integers, and reports the outcome of each.

The contract is that of ``org.apache.kafka.tools.VerifiableProducer``. Invariant: each record that
was sent has one event, ``producer_send_success`` or ``producer_send_error``.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import threading
import time
from collections.abc import Callable

import ottla
from ottla.cli.system_tests.arguments import add_common, configuration, limit
from ottla.cli.system_tests.events import emit, stop_on_signal
from ottla.errors import KafkaError


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "verifiable-producer",
        help="send integers and print a JSON line for each, as Kafka's VerifiableProducer",
        description="Send increasing integers, and print a JSON line for each record.",
    )
    add_common(parser, "--producer.config")
    parser.add_argument("--topic", required=True, help="the topic")
    parser.add_argument(
        "--max-messages", type=int, default=-1, help="how many records to send; -1: no limit"
    )
    parser.add_argument(
        "--throughput", type=int, default=-1, help="records a second; -1: as many as possible"
    )
    parser.add_argument("--acks", default="-1", help="acks (-1)")
    parser.add_argument(
        "--message-create-time",
        type=int,
        default=-1,
        metavar="MS",
        help="the timestamp of the first record, in milliseconds since 1970",
    )
    parser.add_argument("--value-prefix", type=int, help="a prefix of each value, before a dot")
    parser.add_argument(
        "--repeating-keys", type=int, metavar="N", help="give the records the keys 0 to N-1 in turn"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Send records until the limit or a signal; return the exit code."""
    # As in Java, records are not retried unless the file says so: each failure is visible.
    config = configuration(arguments, {"acks": arguments.acks, "retries": "0"})
    outcome = _Outcome(arguments.topic)
    with stop_on_signal() as stopped:
        producer = ottla.Producer(config=config)
        began = time.monotonic()
        emit("startup_complete")
        _send(producer, arguments, outcome, stopped)
        # Each failed record has an event of its own.
        with contextlib.suppress(KafkaError):
            producer.close()
        emit("shutdown_complete")
        seconds = max(time.monotonic() - began, 1e-3)
        emit(
            "tool_data",
            sent=outcome.sent,
            acked=outcome.acked,
            target_throughput=arguments.throughput,
            avg_throughput=outcome.acked / seconds,
        )
    return 0


class _Outcome:
    """Counts and reports the records."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.sent = 0
        self.acked = 0

    def reporter(
        self, key: str | None, value: str
    ) -> Callable[[KafkaError | None, ottla.RecordMetadata], None]:
        """Return the callback of one record."""

        def report(error: KafkaError | None, metadata: ottla.RecordMetadata) -> None:
            if error is not None:
                self.failed(key, value, error)
                return
            self.acked += 1
            emit(
                "producer_send_success",
                key=key,
                value=value,
                topic=metadata.topic,
                partition=metadata.partition,
                offset=metadata.offset,
            )

        return report

    def failed(self, key: str | None, value: str, error: KafkaError) -> None:
        """Report a record that failed."""
        emit(
            "producer_send_error",
            key=key,
            value=value,
            topic=self.topic,
            exception=f"class {type(error).__module__}.{type(error).__qualname__}",
            message=str(error),
        )


def _send(
    producer: ottla.Producer,
    arguments: argparse.Namespace,
    outcome: _Outcome,
    stopped: threading.Event,
) -> None:
    began = time.monotonic()
    numbers = itertools.count()
    while outcome.sent < limit(arguments.max_messages) and not stopped.is_set():
        number = next(numbers)
        value = str(number)
        if arguments.value_prefix is not None:
            value = f"{arguments.value_prefix}.{value}"
        key = str(number % arguments.repeating_keys) if arguments.repeating_keys else None
        elapsed = time.monotonic() - began
        timestamp = None
        if arguments.message_create_time >= 0:
            timestamp = arguments.message_create_time + round(elapsed * 1000)
        outcome.sent += 1
        report = outcome.reporter(key, value)
        try:
            producer.send(arguments.topic, value, key=key, timestamp=timestamp, on_delivery=report)
        except KafkaError as error:
            outcome.failed(key, value, error)
        if arguments.throughput > 0:
            stopped.wait(max(0.0, outcome.sent / arguments.throughput - elapsed))
        elif arguments.throughput == 0:
            stopped.wait()
