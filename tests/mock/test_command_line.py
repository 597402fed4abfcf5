"""The command line's options on the mock: configuration, wrong arguments, help."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import ottla as package
from ottla.testing import Fault, MockCluster
from tests.support.command import ottla, running_command
from tests.support.ports import free_ports


def consume(cluster: MockCluster, topic: str, *arguments: str) -> bytes:
    done = ottla("consume", cluster.bootstrap, "-t", topic, "-e", *arguments)
    assert (done.code, done.err) == (0, "")
    return done.out


@pytest.fixture
def filled(producer: package.Producer, single: str) -> str:
    """Ten records in one partition; the offset is the key, the timestamp a thousand times that."""
    for i in range(10):
        producer.send(single, f"value {i}", f"{i}", headers=[("n", str(i))], timestamp=1000 * i)
    producer.flush()
    return single


# -- produce and consume ------------------------------------------------------------------------


def test_lines_go_in_and_come_out(mock_cluster: MockCluster, single: str) -> None:
    lines = b"".join(b"line %d\n" % i for i in range(1000)) + b"the last without an end"
    done = ottla("produce", mock_cluster.bootstrap, "-t", single, "-v", stdin=lines)
    assert (done.code, done.err) == (0, "ottla: 1001 records written, 0 failed\n")
    assert consume(mock_cluster, single) == lines + b"\n"


def test_keys_headers_and_any_bytes(mock_cluster: MockCluster, single: str) -> None:
    key, value = bytes(range(1, 58)), bytes(range(59, 256)) + b"\n\r\n"
    record = key + b":" + value + b"\x00"
    done = ottla(
        "produce", mock_cluster.bootstrap, "-t", single, "-K", ":", "-D", "\\x00",
        "-H", "source=web", "-H", "empty=", "-H", "null", stdin=record * 2,
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    shown = consume(mock_cluster, single, "-f", "%k:%s\\0")
    assert shown == record * 2
    told = consume(mock_cluster, single, "-f", "%t %p %o %h %K %S%%\\n", "-c", "1")
    assert told == b"single 0 0 source=web,empty=,null=NULL 57 200%\n"


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


def test_what_cannot_be_written_is_told(mock_cluster: MockCluster, single: str) -> None:
    mock_cluster.inject(Fault.error("TOPIC_AUTHORIZATION_FAILED"), api="Produce")
    done = ottla("produce", mock_cluster.bootstrap, "-t", single, stdin=b"a\nb\n")
    assert done.code == 1
    assert "TOPIC_AUTHORIZATION_FAILED" in done.err
    assert "0 records written, 2 failed" in done.err
    done = ottla(
        "produce", mock_cluster.bootstrap, "-t", single, "-X", "max.request.size=1000",
        stdin=b"x" * 5000,
    )  # fmt: skip
    assert done.code == 1
    assert "record 1:" in done.err


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
    shown = consume(mock_cluster, filled, "-f", "%o %k %T\\n", *arguments)
    assert shown.decode().splitlines() == [f"{i} {i} {1000 * i}" for i in expected]


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
        # Each record is printed when it comes, and a leader that moves is followed.
        with package.Producer(mock_cluster.bootstrap, linger_ms=0) as producer:
            for i in range(3):
                producer.send(filled, f"new {i}").result(10)
                assert process.stdout.readline() == b"new %d\n" % i
            leader = mock_cluster.leader(filled, 0)
            assert leader is not None
            mock_cluster.move_leader(filled, 0, leader % 3 + 1)
            producer.send(filled, "after the move").result(10)
            assert process.stdout.readline() == b"after the move\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == b""


def test_producing_from_a_pipe_that_stays_open(mock_cluster: MockCluster, single: str) -> None:
    with running_command("produce", mock_cluster.bootstrap, "-t", single) as process:
        assert process.stdin is not None
        process.stdin.write(b"first\n")
        process.stdin.flush()
        # It is written although the input has not ended.
        with running_command("consume", mock_cluster.bootstrap, "-t", single, "-c", "1") as reader:
            assert reader.stdout is not None
            assert reader.stdout.read() == b"first\n"
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_reader_that_goes_away_is_no_error(
    mock_cluster: MockCluster, producer: package.Producer, single: str
) -> None:
    producer.send_batch(single, ["x" * 1000] * 2000).result(20)
    with running_command("consume", mock_cluster.bootstrap, "-t", single) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr.read() == b""


# -- topology -----------------------------------------------------------------------------------


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
    told = json.loads(ottla("topology", mock_cluster.bootstrap, "--json").out)
    assert [broker["address"] for broker in told["brokers"]] == [*mock_cluster.brokers.values()]
    assert [broker["rack"] for broker in told["brokers"]] == ["rack-a", "rack-b", "rack-c"]
    [shown] = told["topics"]
    assert [partition["leader"] for partition in shown["partitions"]] == [2, 2, 3]
    assert (told["partition_count"], told["off_preferred_count"]) == (3, 1)
    assert (told["under_replicated_count"], told["offline_count"]) == (0, 0)


def test_tables_need_rich_and_say_so(mock_cluster: MockCluster, tmp_path: Path) -> None:
    (tmp_path / "rich.py").write_text("raise ImportError('not here')")
    without = {"PYTHONPATH": str(tmp_path)}
    done = ottla("topology", mock_cluster.bootstrap, env=without)
    assert (done.code, done.out) == (2, b"")
    assert "pip install 'ottla[cli]'" in done.err
    assert ottla("topology", mock_cluster.bootstrap, "--json", env=without).code == 0
    assert ottla("doctor", mock_cluster.bootstrap, env=without).code == 0


# -- doctor -------------------------------------------------------------------------------------


def test_doctor(mock_cluster: MockCluster, topic: str) -> None:
    done = ottla("doctor", mock_cluster.bootstrap, "--topic", topic, "--group", "g")
    assert (done.code, done.err) == (0, "")
    assert "✓ the 3 brokers answer where clients are told to find them" in done.text
    assert "\x1b" not in done.text
    told = json.loads(ottla("doctor", mock_cluster.bootstrap, "--json").out)
    assert (told["ok"], told["exit_code"]) == (True, 0)


def test_doctor_ends_with_the_code_of_the_phase(mock_cluster: MockCluster) -> None:
    [closed] = free_ports(1)
    assert ottla("doctor", f"127.0.0.1:{closed}").code == 4
    mock_cluster.advertise(2, f"127.0.0.1:{closed}")
    done = ottla("doctor", mock_cluster.brokers[1], "--json")
    assert done.code == 9
    assert json.loads(done.out)["findings"][0]["code"] == "broker_unreachable"


def test_doctor_without_letters_beyond_ascii(mock_cluster: MockCluster) -> None:
    done = ottla("doctor", mock_cluster.bootstrap, env={"PYTHONIOENCODING": "ascii"})
    assert done.code == 0
    assert done.out.isascii()


# -- configuration ------------------------------------------------------------------------------


def test_configuration_from_files_and_arguments(
    mock_cluster: MockCluster, single: str, tmp_path: Path
) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text(f"bootstrap.servers = {mock_cluster.bootstrap}\nlinger.ms=1\n")
    assert ottla("produce", "--config", str(properties), "-t", single, stdin=b"a\n").code == 0
    if sys.version_info >= (3, 11):
        toml = tmp_path / "client.toml"
        toml.write_text(f'"bootstrap.servers" = "{mock_cluster.bootstrap}"\n[linger]\nms = 1\n')
        assert ottla("produce", "--config", str(toml), "-t", single, stdin=b"b\n").code == 0
    done = ottla("topology", "--config", str(properties), "-X", "bootstrap.servers=no.invalid:1")
    assert done.code == 1
    assert "no.invalid" in done.err
    # With another client's names, arguments still win over the file.
    properties.write_text(f"metadata.broker.list={mock_cluster.bootstrap}\nlinger.ms=1\n")
    again = ("-X", "queue.buffering.max.ms=2", "-t", single)
    assert ottla("produce", "--config", str(properties), *again, stdin=b"c\n").code == 0
    done = ottla("topology", "--config", str(properties), "no.invalid:1")
    assert done.code == 1
    assert "no.invalid" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["topology"], "no broker address"),
        (["topology", "localhost"], "has no port"),
        (["topology", "localhost:1", "-X", "lingr.ms=1"], "did you mean linger.ms"),
        (["topology", "localhost:1", "-X", "linger.ms"], "expected KEY=VALUE"),
        (["topology", "--config", "/nowhere/at/all"], "/nowhere/at/all"),
        (["produce", "localhost:1", "-t", "t", "-D", ""], "-D"),
        (["consume", "localhost:1", "-t", "t", "-f", "%x"], "%x does not exist"),
        (["consume", "localhost:1", "-t", "t", "-c", "-1"], "-c/--count: expected a number"),
        (["produce", "localhost:1", "-t", "t", "-c", "-1"], "-c/--count: expected a number"),
        (["consume", "localhost:1", "-t", "t", "-c", "ten"], "0 or more, got 'ten'"),
        (["nonsense"], "invalid choice"),
    ],
)
def test_wrong_arguments_end_with_2(arguments: list[str], message: str) -> None:
    done = ottla(*arguments)
    assert (done.code, done.out) == (2, b"")
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_cluster_that_cannot_be_reached() -> None:
    [closed] = free_ports(1)
    done = ottla("topology", f"127.0.0.1:{closed}", "--timeout", "30")
    assert (done.code, done.out) == (1, b"")
    assert done.err.startswith("ottla: ")
    assert "connection refused" in done.err


@pytest.mark.parametrize("command", ["", "doctor", "topology", "produce", "consume", "watch"])
def test_help(command: str) -> None:
    done = ottla(*([command] if command else []), "--help")
    assert done.code == 0
    assert "usage: ottla" in done.text


# -- watch --------------------------------------------------------------------------------------


def test_watching_prints_events_as_they_happen(mock_cluster: MockCluster, topic: str) -> None:
    command = ("watch", mock_cluster.brokers[1], "--interval", "0.1", "--json")
    with running_command(*command) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        output = process.stdout
        # Until the first event is seen, it is not known that the watch has begun.
        told: list[dict[str, object]] = []
        leaders = itertools.cycle([2, 3, 1])

        def wait_for(kind: str, act: Callable[[], None]) -> dict[str, object]:
            while not any(event["kind"] == kind for event in told):
                act()
                ready, _, _ = select.select([output], [], [], 0.5)
                if ready:
                    told.append(json.loads(output.readline()))
            return next(event for event in told if event["kind"] == kind)

        def move() -> None:
            mock_cluster.move_leader(topic, 0, next(leaders))

        changed = wait_for("leader_changed", move)
        assert (changed["topic"], changed["partition"]) == (topic, 0)
        mock_cluster.stop_broker(3)
        lost = wait_for("broker_lost", lambda: None)
        assert lost["broker"] == 3
        mock_cluster.create_topic("new", partitions=2)
        appeared = wait_for("topic_appeared", lambda: None)
        assert (appeared["topic"], appeared["after"]) == ("new", 2)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == b""


def test_watching_ends_with_its_time(mock_cluster: MockCluster) -> None:
    done = ottla("watch", mock_cluster.bootstrap, "--for", "0.3")
    assert (done.code, done.err) == (0, "")


def test_the_picture_on_a_terminal(mock_cluster: MockCluster, topic: str) -> None:
    """A pseudo terminal: drawn in place, and left as it was after Ctrl-C."""
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
    # The other screen was entered and left.
    assert "\x1b[?1049h" in text
    assert text.rindex("\x1b[?1049l") > text.rindex("\x1b[?1049h")
    assert "\x1b[3" not in text.replace("\x1b[3J", "")
