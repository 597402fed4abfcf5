"""``ottla produce`` and ``consume`` on the mock: output, exit codes, and unchanged bytes."""

from __future__ import annotations

import json
import logging
import signal
from pathlib import Path

import pytest

import ottla as package
from ottla._internal.stderr_log import prints_warnings, show_warnings
from ottla.cli.produce.failures import without_unchecked
from ottla.testing import Fault, MockCluster
from tests.support.command import ottla, running_command, without_waiting


def consume(cluster: MockCluster, topic: str, *arguments: str) -> bytes:
    done = ottla("consume", cluster.bootstrap, "-t", topic, "-e", *arguments)
    assert (done.code, done.err) == (0, "")
    return done.out


@pytest.fixture
def filled(producer: package.Producer, single: str) -> str:
    """A topic with ten records in one partition: offset i, key i, timestamp 1000 * i."""
    for i in range(10):
        producer.send(single, f"value {i}", f"{i}", headers=[("n", str(i))], timestamp=1000 * i)
    producer.flush()
    return single


def test_lines_round_trip(mock_cluster: MockCluster, single: str) -> None:
    lines = b"".join(b"line %d\n" % i for i in range(1000)) + b"the last without a newline"
    done = ottla("produce", mock_cluster.bootstrap, "-t", single, "-v", stdin=lines)
    written = done.err.splitlines()[-1:]
    assert (done.code, written) == (0, ["ottla: 1001 records written, 0 failed"])
    assert consume(mock_cluster, single) == lines + b"\n"


def test_keys_headers_and_any_bytes(mock_cluster: MockCluster, single: str) -> None:
    key, value = bytes(range(1, 58)), bytes(range(59, 256)) + b"\n\r\n"
    record = key + b":" + value + b"\x00"
    done = ottla(
        "produce", mock_cluster.bootstrap, "-t", single, "-K", ":", "-D", "\\x00",
        "-H", "source=web", "-H", "empty=", "-H", "null", stdin=record * 2,
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    printed = consume(mock_cluster, single, "-f", "%k:%s\\0")
    assert printed == record * 2
    formatted = consume(mock_cluster, single, "-f", "%t %p %o %h %K %S%%\\n", "-c", "1")
    assert formatted == b"single 0 0 source=web,empty=,null=NULL 57 200%\n"


def test_empty_parts_as_null(mock_cluster: MockCluster, single: str) -> None:
    arguments = ("produce", mock_cluster.bootstrap, "-t", single, "-K", ":")
    assert ottla(*arguments, "-Z", stdin=b":v\nk:\n").code == 0
    assert ottla(*arguments, stdin=b":v\n").code == 0
    assert consume(mock_cluster, single, "-f", "%K %S;") == b"-1 1;1 -1;0 1;"


def test_files_are_records(mock_cluster: MockCluster, single: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"two\nlines of " + name.encode())
    files = [f"-F{tmp_path / name}" for name in ("a", "b")]
    done = ottla("produce", mock_cluster.bootstrap, "-t", single, "-k", "key", "-z", "zstd", *files)
    assert done.code == 0
    assert consume(mock_cluster, single, "-f", "%k=%s;") == (
        b"key=two\nlines of a;key=two\nlines of b;"
    )


def test_records_that_cannot_be_written_are_reported(
    mock_cluster: MockCluster, single: str
) -> None:
    mock_cluster.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="Produce")
    done = ottla("produce", mock_cluster.bootstrap, "-t", single, stdin=b"a\nb\n")
    assert done.code == 1
    assert "TOPIC_AUTHORIZATION_FAILED" in done.err
    assert "0 records written, 2 failed: records 1-2 of the input" in done.err
    # One cause is told once, and so is what the log says about it.
    assert len(done.err.splitlines()) == 2, done.err
    done = ottla(
        "produce", mock_cluster.bootstrap, "-t", single, "-X", "max.request.size=1000",
        stdin=b"x" * 5000,
    )  # fmt: skip
    assert done.code == 1
    assert "record 1:" in done.err
    assert "the input after it was not read" in done.err
    assert "0 records written, 1 failed: record 1 of the input" in done.err


def test_a_warning_that_the_log_thread_brings_late_is_not_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logger = logging.getLogger("ottla")
    # As in a process of the command line, which has no handlers.
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    show_warnings()
    with without_unchecked():
        pass
    (handler,) = logger.handlers
    assert prints_warnings(handler)
    unchecked = "records were not written, and their results were not checked"
    for text, is_printed in ((unchecked, False), ("another", True)):
        late = logger.makeRecord("ottla.producer", logging.WARNING, "", 0, text, (), None)
        assert bool(handler.filter(late)) == is_printed


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (["beginning"], range(10)),
        (["end"], []),
        (["7"], [7, 8, 9]),
        (["-2"], [8, 9]),
        (["-100"], range(10)),
        (["s@6000"], [6, 7, 8, 9]),
        (["s@6001", "e@9000"], [7, 8]),
        (["s@99000"], []),
    ],
)
def test_offsets(
    mock_cluster: MockCluster, filled: str, offset: list[str], expected: list[int]
) -> None:
    arguments = [f"-o{text}" for text in offset]
    printed = consume(mock_cluster, filled, "-f", "%o %k %T\\n", *arguments)
    assert printed.decode().splitlines() == [f"{i} {i} {1000 * i}" for i in expected]


def test_counts_and_partitions(mock_cluster: MockCluster, topic: str) -> None:
    with package.Producer(mock_cluster.bootstrap) as producer:
        for i in range(30):
            producer.send(topic, str(i), partition=i % 3)
    assert len(consume(mock_cluster, topic).split()) == 30
    assert consume(mock_cluster, topic, "-p", "1", "-c", "3").split() == [b"1", b"4", b"7"]
    assert consume(mock_cluster, topic, "-c", "0") == b""
    two = consume(mock_cluster, topic, "-p", "0", "-p", "2", "-f", "%p ")
    assert sorted(two.split()) == [b"0"] * 10 + [b"2"] * 10
    done = ottla("consume", mock_cluster.bootstrap, "-t", topic, "-p", "9", "-e")
    assert (done.code, done.out) == (1, b"")
    assert "partition 9 of topic orders does not exist" in done.err


def test_records_as_json(mock_cluster: MockCluster, filled: str) -> None:
    lines = consume(mock_cluster, filled, "-J", "-o", "9").decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "key": "9",
            "value": "value 9",
            "topic": filled,
            "partition": 0,
            "offset": 9,
            "timestamp": 9000,
            "headers": [["n", "9"]],
        }
    ]


def test_following_a_topic_until_ctrl_c(mock_cluster: MockCluster, filled: str) -> None:
    command = ("consume", mock_cluster.bootstrap, "-t", filled, "-o", "-1", "-f", "%s\\n")
    with running_command(*command) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"value 9\n"
        # Each record is printed immediately, also after the leader has moved.
        with package.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
            for i in range(3):
                producer.send(filled, f"new {i}").result(timeout=10)
                assert process.stdout.readline() == b"new %d\n" % i
            leader = mock_cluster.leader(filled, 0)
            assert leader is not None
            mock_cluster.move_leader(filled, 0, leader % 3 + 1)
            producer.send(filled, "after the move").result(timeout=10)
            assert process.stdout.readline() == b"after the move\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert without_waiting(process.stderr.read().decode()) == ""


def test_producing_from_a_pipe_that_stays_open(mock_cluster: MockCluster, single: str) -> None:
    with running_command("produce", mock_cluster.bootstrap, "-t", single) as process:
        assert process.stdin is not None
        process.stdin.write(b"first\n")
        process.stdin.flush()
        # The record is written before the input ends.
        with running_command("consume", mock_cluster.bootstrap, "-t", single, "-c", "1") as reader:
            assert reader.stdout is not None
            assert reader.stdout.read() == b"first\n"
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_closed_output_pipe_ends_the_command_with_141(
    mock_cluster: MockCluster, producer: package.Producer, single: str
) -> None:
    producer.send_batch(single, ["x" * 1000] * 2000).result(timeout=20)
    with running_command("consume", mock_cluster.bootstrap, "-t", single) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 141
        assert without_waiting(process.stderr.read().decode()) == ""
