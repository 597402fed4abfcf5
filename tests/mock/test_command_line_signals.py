"""Signals that end a command: it commits, leaves its group, closes its clients, and says why."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import ottla
from ottla.testing import Fault, MockCluster
from tests.support.command import without_waiting
from tests.support.console import TIMEOUT
from tests.support.jars import REPOSITORY
from tests.support.waiting import wait_until

SIGNALS = [signal.SIGTERM, signal.SIGHUP]


@contextmanager
def _running(*arguments: str, ignores: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command with the signals' usual effects, whatever those of this process are."""

    def prepare() -> None:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        if ignores:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with subprocess.Popen(
        [sys.executable, "-m", "ottla", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=REPOSITORY,
        preexec_fn=prepare,
        bufsize=0,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _end(process: subprocess.Popen[bytes], number: int) -> tuple[int, str]:
    """Send a signal; return the exit code and standard error without reports of waiting."""
    process.send_signal(number)
    _, errors = process.communicate(timeout=TIMEOUT)
    return process.returncode, without_waiting(errors.decode())


@pytest.mark.parametrize("number", SIGNALS)
def test_a_member_of_a_group_commits_and_leaves(
    mock_cluster: MockCluster, single: str, number: int
) -> None:
    mock_cluster.append(single, 0, [b"value"] * 3)
    with _running("consume", mock_cluster.bootstrap, "-t", single, "-G", "billing") as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == [b"value\n"] * 3
        assert _end(process, number) == (128 + number, "")
    assert mock_cluster.committed("billing") == {(single, 0): 3}
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        assert admin.describe_groups(["billing"])["billing"].members == []


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("command", ["consume", "watch", "console"])
def test_a_command_that_runs_for_long_closes_its_clients(
    mock_cluster: MockCluster, single: str, command: str, number: int
) -> None:
    mock_cluster.append(single, 0, [b"value"])
    more = {
        "consume": ["-t", single],
        "watch": ["--rates", "--interval", "0.1"],
        "console": ["--no-browser"],
    }[command]
    with _running(command, mock_cluster.bootstrap, *more) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        assert _end(process, number) == (128 + number, "")


@pytest.mark.parametrize("number", SIGNALS)
def test_a_producer_writes_what_it_has_read(
    mock_cluster: MockCluster, single: str, number: int
) -> None:
    command = ["produce", mock_cluster.bootstrap, "-t", single, "-X", "linger.ms=0"]
    with _running(*command) as process, ottla.Consumer(mock_cluster.bootstrap) as consumer:
        assert process.stdin is not None
        process.stdin.write(b"value\n")
        consumer.assign([(single, 0)])
        consumer.seek_to_beginning((single, 0))
        assert [record.value for record in consumer.poll(timeout=TIMEOUT)] == [b"value"]
        counts = "ottla: interrupted: 1 record written\n"
        assert _end(process, number) == (128 + number, counts)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_interrupted_producer_counts_what_it_wrote(
    mock_cluster: MockCluster, single: str, options: tuple[str, ...]
) -> None:
    # Closing waits for acknowledgements, or until the records expire.
    limits = ("linger.ms=0", "request.timeout.ms=1000", "delivery.timeout.ms=1500")
    settings = [word for each in limits for word in ("-X", each)]
    command = ["produce", mock_cluster.bootstrap, "-t", single, *settings, *options]
    with _running(*command) as process:
        assert process.stdin is not None
        process.stdin.write(b"one\ntwo\n")
        wait_until(lambda: mock_cluster.end_offset(single, 0) == 2)
        lost = mock_cluster.inject(Fault.silence(), api="Produce")
        process.stdin.write(b"three\n")
        wait_until(lambda: mock_cluster.fault_hits(lost) > 0)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 128 + signal.SIGINT
    text = without_waiting(errors.decode())
    if options:
        expected = {"written_count": 2, "failed_count": 1, "unknown_count": 1}
        assert json.loads(output) == {"topic": single, **expected}
        assert text == ""
    else:
        assert text == "ottla: interrupted: 2 records written, 1 unknown\n"


def test_a_second_signal_ends_the_wait_without_a_warning(
    mock_cluster: MockCluster, single: str
) -> None:
    with _running("produce", mock_cluster.bootstrap, "-t", single, "-X", "linger.ms=0") as process:
        assert process.stdin is not None
        lost = mock_cluster.inject(Fault.silence(), api="Produce")
        process.stdin.write(b"one\n")
        wait_until(lambda: mock_cluster.fault_hits(lost) > 0)
        assert process.stderr is not None
        errors = b""
        # The first one may come before the command waits.
        for _ in range(100):
            process.send_signal(signal.SIGTERM)
            if select.select([process.stderr], [], [], 0.5)[0]:
                errors += os.read(process.stderr.fileno(), 4096)
            if b"interrupted" in errors:
                break
        errors += process.stderr.read()
        assert process.wait(TIMEOUT) == 128 + signal.SIGTERM
    assert without_waiting(errors.decode()) == "ottla: interrupted: 0 records written, 1 unknown\n"


def test_a_signal_that_is_ignored_stays_ignored(mock_cluster: MockCluster, single: str) -> None:
    mock_cluster.append(single, 0, [b"value"])
    command = ["consume", mock_cluster.bootstrap, "-t", single]
    with _running(*command, ignores=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"value\n"
        process.send_signal(signal.SIGHUP)
        mock_cluster.append(single, 0, [b"another"])
        assert process.stdout.readline() == b"another\n"
        assert _end(process, signal.SIGTERM) == (128 + signal.SIGTERM, "")
