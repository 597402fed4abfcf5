"""Commands report on standard error what they wait for, after a second."""

from __future__ import annotations

import signal
import socket
import subprocess
import time

from ottla.testing import Fault, MockCluster
from tests.support.command import ottla, running_command
from tests.support.ports import free_ports


def first_line(process: subprocess.Popen[bytes]) -> str:
    """Return the first line on standard error, and interrupt the command."""
    assert process.stderr is not None
    line = process.stderr.readline().decode().strip()
    process.send_signal(signal.SIGINT)
    return line


def test_a_bootstrap_server_that_does_not_respond() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        with running_command("topology", server) as process:
            assert first_line(process) == f"ottla: waiting for a response from {server}"


def test_a_leader_that_cannot_be_reached(mock_cluster: MockCluster, single: str) -> None:
    leader = mock_cluster.leader(single, 0)
    assert leader is not None
    [closed] = free_ports(1)
    bootstrap = mock_cluster.brokers[leader % 3 + 1]
    mock_cluster.advertise(leader, f"127.0.0.1:{closed}")
    with running_command("consume", bootstrap, "-t", single) as process:
        line = first_line(process)
    assert line.startswith(f"ottla: waiting for records of {single}: broker {leader} at ")
    assert f"127.0.0.1:{closed}" in line
    assert "refused" in line


def test_records_that_are_not_acknowledged(mock_cluster: MockCluster, single: str) -> None:
    mock_cluster.inject(Fault.delay(5), api="Produce")
    with running_command("produce", mock_cluster.bootstrap, "-t", single) as process:
        assert process.stdin is not None
        process.stdin.write(b"one\n")
        process.stdin.close()
        process.stdin = None
        assert first_line(process) == "ottla: waiting for 1 record to be acknowledged"


def test_a_slow_input_is_not_what_the_command_waits_for(
    mock_cluster: MockCluster, single: str
) -> None:
    with running_command("produce", mock_cluster.bootstrap, "-t", single) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        for line in (b"one\n", b"two\n"):
            process.stdin.write(line)
            # Longer than the time after which waits are reported.
            time.sleep(2.5)
        process.stdin.close()
        process.stdin = None
        assert process.stderr.read() == b""


def test_a_command_that_does_not_wait_prints_nothing(
    mock_cluster: MockCluster, single: str
) -> None:
    done = ottla("produce", mock_cluster.bootstrap, "-t", single, "-v", stdin=b"one\n")
    assert (done.code, done.err) == (0, "ottla: 1 record written, 0 failed\n")
    done = ottla("consume", mock_cluster.bootstrap, "-t", single, "-e")
    assert (done.code, done.out, done.err) == (0, b"one\n", "")


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
