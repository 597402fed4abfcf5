"""``ottla topology``, ``doctor`` and ``watch`` on the mock: output and exit codes."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ottla.testing import MockCluster
from tests.support.command import ottla, running_command, without_waiting
from tests.support.ports import free_ports


def test_topology_as_tables(mock_cluster: MockCluster, topic: str, single: str) -> None:
    mock_cluster.stop_broker(3)
    done = ottla("topology", mock_cluster.brokers[1])
    assert (done.code, done.err) == (0, "")
    lines = [line.split() for line in done.text.splitlines()]
    broker = ["1", mock_cluster.brokers[1], "rack-a"]
    assert any(line[:3] == broker for line in lines)
    assert "controller" not in done.text  # with KRaft, brokers name one at random
    assert ["orders", "3", "3", "3"] in lines
    assert "under-replicated: 4 (orders-0, orders-1, orders-2, single-0)" in done.text
    assert "2 brokers, 2 topics, 4 partitions" in done.text
    assert "\x1b" not in done.text


def test_topology_of_one_topic(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.create_topic("alone", partitions=1, replication=1)
    mock_cluster.move_leader(topic, 0, 2)
    leader = mock_cluster.leader("alone", 0)
    assert leader is not None
    mock_cluster.stop_broker(leader)
    other = mock_cluster.brokers[leader % 3 + 1]
    done = ottla("topology", "-b", other, "-t", "alone")
    assert done.text.split("epoch")[1].splitlines()[1].split()[:2] == ["0", "none"]
    assert "offline: 1 (alone-0)" in done.text


def test_topology_as_json(mock_cluster: MockCluster, topic: str) -> None:
    mock_cluster.move_leader(topic, 0, 2)
    decoded = json.loads(ottla("topology", mock_cluster.bootstrap, "--json").out)
    assert [broker["address"] for broker in decoded["brokers"]] == [*mock_cluster.brokers.values()]
    assert [broker["rack"] for broker in decoded["brokers"]] == ["rack-a", "rack-b", "rack-c"]
    [shown] = decoded["topics"]
    assert [partition["leader"] for partition in shown["partitions"]] == [2, 2, 3]
    assert (decoded["partition_count"], decoded["off_preferred_count"]) == (3, 1)
    assert (decoded["under_replicated_count"], decoded["offline_count"]) == (0, 0)


def test_the_live_view_without_rich_names_the_extra_to_install(
    mock_cluster: MockCluster, tmp_path: Path
) -> None:
    """Tables and events need no other package."""
    program = (
        "import sys\n"
        "sys.modules['rich'] = None\n"
        "from ottla.cli import main\n"
        "sys.stdout.isatty = lambda: sys.argv[1] == 'watch'\n"
        "sys.exit(main())\n"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *arguments, mock_cluster.bootstrap],
            capture_output=True,
            text=True,
            check=False,
            timeout=150,
        )

    done = run("watch")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'ottla[cli]'" in done.stderr
    assert run("watch", "--json", "--for", "0.1").returncode == 0
    assert run("topology").returncode == 0
    assert run("doctor").returncode == 0


def test_doctor(mock_cluster: MockCluster, topic: str) -> None:
    done = ottla("doctor", mock_cluster.bootstrap, "--topic", topic, "--group", "g")
    assert (done.code, done.err) == (0, "")
    assert "✓ all 3 brokers respond at their advertised addresses" in done.text
    assert "\x1b" not in done.text
    decoded = json.loads(ottla("doctor", mock_cluster.bootstrap, "--json").out)
    assert (decoded["ok"], decoded["exit_code"]) == (True, 0)


def test_doctor_ends_with_the_code_of_the_phase(mock_cluster: MockCluster) -> None:
    [closed] = free_ports(1)
    assert ottla("doctor", f"127.0.0.1:{closed}").code == 4
    mock_cluster.advertise(2, f"127.0.0.1:{closed}")
    done = ottla("doctor", mock_cluster.brokers[1], "--json")
    assert done.code == 9
    assert json.loads(done.out)["findings"][0]["code"] == "broker_unreachable"


def test_doctor_in_ascii(mock_cluster: MockCluster) -> None:
    done = ottla("doctor", mock_cluster.bootstrap, env={"PYTHONIOENCODING": "ascii"})
    assert done.code == 0
    assert done.out.isascii()


def test_watch_prints_events_as_they_happen(mock_cluster: MockCluster, topic: str) -> None:
    command = ("watch", mock_cluster.brokers[1], "--interval", "0.1", "--json")
    with running_command(*command) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        output = process.stdout
        # Only the first event shows that the watch has begun.
        events: list[dict[str, object]] = []
        leaders = itertools.cycle([2, 3, 1])

        def wait_for(kind: str, act: Callable[[], None]) -> dict[str, object]:
            while not any(event["kind"] == kind for event in events):
                act()
                ready, _, _ = select.select([output], [], [], 0.5)
                if ready:
                    events.append(json.loads(output.readline()))
            return next(event for event in events if event["kind"] == kind)

        def move() -> None:
            mock_cluster.move_leader(topic, 0, next(leaders))

        changed = wait_for("leader_changed", move)
        assert (changed["topic"], changed["partition"]) == (topic, 0)
        mock_cluster.stop_broker(3)
        lost = wait_for("broker_lost", lambda: None)
        assert lost["broker"] == 3
        mock_cluster.create_topic("new", partitions=2)
        appeared = wait_for("topic_appeared", lambda: None)
        assert (appeared["topic"], appeared["current"]) == ("new", 2)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert without_waiting(process.stderr.read().decode()) == ""


def test_watch_ends_after_the_given_time(mock_cluster: MockCluster) -> None:
    done = ottla("watch", mock_cluster.bootstrap, "--for", "0.3")
    assert (done.code, done.err) == (0, "")


def test_watch_on_a_terminal(mock_cluster: MockCluster, topic: str) -> None:
    """On a pseudo terminal, the view is redrawn in place; Ctrl-C restores the screen."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ottla", "watch", mock_cluster.bootstrap, "--interval", "0.1"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "160", "LINES": "50", "NO_COLOR": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    os.close(theirs)
    shown = b""
    leaders = itertools.cycle([2, 3, 1])
    deadline = time.monotonic() + 90
    try:
        while b"leader_changed" not in shown and time.monotonic() < deadline:
            if b"events" in shown:
                mock_cluster.move_leader(topic, 0, next(leaders))
            if select.select([ours], [], [], 0.3)[0]:
                shown += os.read(ours, 1 << 16)
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):
            while select.select([ours], [], [], 60)[0] and (more := os.read(ours, 1 << 16)):
                shown += more
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    text = shown.decode(errors="replace")
    assert "leader_changed" in text
    for address in mock_cluster.brokers.values():
        assert address in text
    assert "connections" in text
    # The alternate screen was entered and left.
    assert "\x1b[?1049h" in text
    assert text.rindex("\x1b[?1049l") > text.rindex("\x1b[?1049h")
    assert "\x1b[3" not in text.replace("\x1b[3J", "")
