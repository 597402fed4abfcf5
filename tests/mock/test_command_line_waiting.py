"""Commands report on standard error what they wait for, after a second."""

from __future__ import annotations

import contextlib
import io
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import SimpleNamespace

import pytest

from ottla.cli import produce, waiting
from ottla.cli.waiting import report_waiting
from ottla.testing import Fault, MockCluster
from tests.support.command import ottla, ottla_here, running_command
from tests.support.ports import free_ports
from tests.support.waiting import wait_until


def lines_until(process: subprocess.Popen[bytes], *texts: str) -> list[str]:
    """Read lines of standard error until they have all texts, and interrupt the command.

    A busy machine causes further waits, and is told of a connection before it was refused.
    """
    assert process.stderr is not None
    lines: list[str] = []
    while not all(any(text in line for line in lines) for text in texts):
        line = process.stderr.readline()
        assert line, (texts, lines)
        lines.append(line.decode().strip())
    while process.poll() is None:
        # The second one ends the wait for acknowledgements.
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.3)
    return lines


def test_a_bootstrap_server_that_does_not_respond() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        with running_command("topology", server) as process:
            line = lines_until(process, "waiting")[-1]
    assert line == f"ottla: waiting for a response from {server}"


def test_a_leader_that_cannot_be_reached(mock_cluster: MockCluster, single: str) -> None:
    leader = mock_cluster.leader(single, 0)
    assert leader is not None
    [closed] = free_ports(1)
    bootstrap = mock_cluster.brokers[leader % 3 + 1]
    mock_cluster.advertise(leader, f"127.0.0.1:{closed}")
    at = f"broker {leader} at 127.0.0.1:{closed}"
    with running_command("consume", bootstrap, "-t", single) as process:
        lines_until(process, f"ottla: waiting for records of {single}: {at}", "refused")


def test_records_that_are_not_acknowledged(mock_cluster: MockCluster, single: str) -> None:
    mock_cluster.inject(Fault.silence(), api="Produce")
    with running_command("produce", mock_cluster.bootstrap, "-t", single) as process:
        assert process.stdin is not None
        process.stdin.write(b"one\n")
        process.stdin.close()
        process.stdin = None
        lines = lines_until(process, "acknowledged")
    assert lines[-1] == "ottla: waiting for 1 record to be acknowledged"


def test_a_slow_input_is_not_what_the_command_waits_for(
    mock_cluster: MockCluster, single: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits_for: list[Callable[[], str | None]] = []

    def report(
        describe: Callable[[], str | None], *, identify: Callable[[], object]
    ) -> AbstractContextManager[Callable[[], None]]:
        waits_for.append(describe)
        return report_waiting(describe, identify=identify)

    def slow_input() -> Iterator[bytes]:
        for line in (b"one\n", b"two\n"):
            yield line
            # The command does not look at acknowledgements while it reads.
            wait_until(lambda: waits_for[0]() is None)
        yield b""

    chunks = slow_input()
    buffer = SimpleNamespace(read=None, read1=lambda _: next(chunks))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=buffer, isatty=lambda: False))
    monkeypatch.setattr(produce, "report_waiting", report)
    done = ottla_here("produce", mock_cluster.bootstrap, "-t", single)
    assert (done.code, done.err, mock_cluster.end_offset(single, 0)) == (0, "", 2)


def test_a_wait_is_reported_when_it_has_lasted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: one that had begun a moment before the end of a second was reported."""
    monkeypatch.setattr(waiting, "SECONDS", 0.01)
    monkeypatch.setattr(sys, "stderr", reported := io.StringIO())
    # What is seen at the end of each second: the wait, and what it is for.
    seen: list[tuple[int, str | None]]
    seen = [(1, None), (1, "short"), (1, None), (2, "one"), (3, "another"), (3, "another")]
    seen += [(3, "another"), (4, None), (5, "last"), (5, "last")]
    current: tuple[int, str | None] = (0, None)

    def describe() -> str | None:
        nonlocal current
        current = seen.pop(0) if seen else (0, None)
        return current[1]

    with report_waiting(describe, identify=lambda: current[0]):
        wait_until(lambda: not seen)
    assert reported.getvalue() == "ottla: waiting for another\nottla: waiting for last\n"


def test_blocks_within_each_other_forget_only_their_own_reports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Regression: the end of the inner block forgot what the outer one had reported."""
    monkeypatch.setattr(waiting, "SECONDS", 0.01)
    monkeypatch.setattr(sys, "stderr", reported := io.StringIO())

    def is_news() -> bool:
        text = "connecting to broker 3 has been failing for 2 s: refused"
        return waiting.is_news(logging.makeLogRecord({"msg": text}))

    began = threading.Event()
    with report_waiting(lambda: "broker 3: refused" if began.is_set() else None):
        with report_waiting(lambda: None):
            began.set()
            wait_until(reported.getvalue)
        assert not is_news()
    assert is_news()


def test_a_command_that_does_not_wait_prints_nothing(
    mock_cluster: MockCluster, single: str
) -> None:
    for command, stdin, out, err in (
        (("produce", "-v"), b"one\n", b"", "ottla: 1 record written, 0 failed\n"),
        (("consume", "-e"), b"", b"one\n", ""),
    ):
        started = time.monotonic()
        done = ottla(*command, mock_cluster.bootstrap, "-t", single, stdin=stdin)
        assert (done.code, done.out, done.err) == (0, out, err)
        assert not done.waits or time.monotonic() - started > waiting.SECONDS


def test_following_an_idle_topic_prints_nothing(mock_cluster: MockCluster, single: str) -> None:
    """Waiting at the end of a topic is normal, and reported only on a terminal."""
    mock_cluster.append(single, 0, [b"one"])
    with running_command("consume", mock_cluster.bootstrap, "-t", single) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"one\n"
        # Longer than the second after which a wait is reported.
        time.sleep(2.5)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""


def test_a_setting_without_a_value_is_not_shown(mock_cluster: MockCluster) -> None:
    """It may be a password."""
    wrong = ["-X", "linger.ms=5", "-X", "sasl.password:secret-word"]
    done = ottla("topology", mock_cluster.bootstrap, *wrong)
    assert done.code == 2
    assert "argument 2 of -X" in done.err
    assert "secret-word" not in done.err
