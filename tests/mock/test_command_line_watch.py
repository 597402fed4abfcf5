"""``ottla watch``: the lag of groups, the client's rates, and its connections."""

from __future__ import annotations

import itertools
import json
import signal
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ottla.testing import Fault, MockCluster
from tests.support.command import ottla as run_ottla
from tests.support.command import running_command, without_waiting
from tests.support.ports import free_ports
from tests.support.terminal import terminal

TIMEOUT = 60.0


@pytest.fixture
def group(mock_cluster: MockCluster, topic: str) -> str:
    """A group that is 13 records behind."""
    for partition in range(3):
        mock_cluster.append(topic, partition, [b"%d" % n for n in range(10)])
    mock_cluster.commit("billing", topic, 0, 10)
    mock_cluster.commit("billing", topic, 1, 7)
    mock_cluster.commit("billing", topic, 2, 0)
    return "billing"


def row(drawing: str, title: str, first: str) -> dict[str, str]:
    """Return the row of a table that begins with a text, by the table's headings."""
    lines = drawing.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(title))
    found = next(line for line in lines[start + 2 :] if line.strip().startswith(first))
    # Cells are two spaces apart, and no text has two. Numbers are aligned to the right.
    header = lines[start + 1]
    places, at = [], 0
    for heading in (each.strip() for each in header.strip().split("  ") if each.strip()):
        at = header.index(heading, at)
        places.append((heading, at))
        at += len(heading)
    values: dict[str, str] = {}
    for cell_start, cell in _cells(found):
        heading = min(
            places,
            key=lambda place: min(
                abs(place[1] - cell_start),
                abs(place[1] + len(place[0]) - cell_start - len(cell)),
            ),
        )[0]
        values[heading] = cell
    return values


def _cells(line: str) -> Iterator[tuple[int, str]]:
    at = 0
    for part in line.split("  "):
        if part.strip():
            yield at + len(part) - len(part.lstrip()), part.strip()
        at += len(part) + 2


def json_lines(*arguments: str) -> list[dict[str, Any]]:
    done = run_ottla("watch", "--json", *arguments)
    assert (done.code, done.err) == (0, "")
    return [json.loads(line) for line in done.text.splitlines()]


def test_the_lag_is_that_of_groups_lag(mock_cluster: MockCluster, group: str) -> None:
    lines = json_lines(mock_cluster.bootstrap, "--group", group, "--group", group, "--for", "8")
    measured = [line for line in lines if line["kind"] == "lag"]
    # It is looked up no more often than every three seconds, and a group once.
    assert 2 <= len(measured) <= 3
    done = run_ottla("groups", "lag", group, "-b", mock_cluster.bootstrap, "--json")
    [printed] = json.loads(done.text)
    for line in measured:
        assert line["group_id"] == printed["group_id"] == group
        assert line["lag"] == sum(each["lag"] for each in printed["partitions"]) == 13
        assert line["partition_count"] == len(printed["partitions"]) == 3
        assert line["lag_ms"] > 0
        assert line["error"] is None
    unknown = {"read": None, "written": None, "seconds_to_clear": None, "state": "unknown"}
    assert measured[0]["trend"] == unknown
    # No commit was seen yet.
    assert measured[-1]["trend"] == unknown | {"written": 0}


def test_as_text_the_lag_is_the_line_of_groups_lag(mock_cluster: MockCluster, group: str) -> None:
    done = run_ottla("watch", mock_cluster.bootstrap, "--group", group, "--rates", "--for", "8")
    assert (done.code, done.err) == (0, "")
    first, *_, last = (line for line in done.text.splitlines() if " lag: " in line)
    assert " lag: billing: lag 13 in 3 partitions; the oldest unread record is " in first
    assert "per second" not in first
    assert last.endswith(" old; 0 written per second: whether the lag shrinks is not known yet")
    printed = run_ottla("groups", "lag", group, "-b", mock_cluster.bootstrap)
    assert "lag 13 in 3 partitions; the oldest unread record is " in printed.text
    rates = [line for line in done.text.splitlines() if " rates: requests/s " in line]
    assert rates
    assert "retries by cause: none" in rates[0]


def test_without_the_options_json_has_events_only(mock_cluster: MockCluster, group: str) -> None:
    """Programs that read the output of earlier versions meet no other kinds."""
    lines = json_lines(mock_cluster.bootstrap, "--for", "2.5", "--interval", "0.1")
    assert {line["kind"] for line in lines} <= {"connection_opened", "connection_closed"}
    fields = ["time", "kind", "message", "broker", "topic", "partition", "previous", "current"]
    assert all([*line] == fields for line in lines)


def test_rates_as_json(mock_cluster: MockCluster, topic: str) -> None:
    lines = json_lines(
        mock_cluster.bootstrap, "--rates", "--for", "2.5", "--interval", "0.2", "-t", topic
    )
    rates = [line for line in lines if line["kind"] == "rates"]
    assert 1 <= len(rates) <= 13
    last = rates[-1]
    # A refresh of one topic's metadata is a request.
    assert last["request_rate"] > 0
    assert last["outgoing_byte_rate"] > 0
    assert last["incoming_byte_rate"] > last["outgoing_byte_rate"]
    assert 0 < last["latency_avg"] <= last["latency_max"] < TIMEOUT
    assert last["slowest"]["address"] in mock_cluster.brokers.values()
    assert last["slowest"]["latency"] >= last["latency_avg"]
    assert last["retries"] == {}


def test_a_group_that_does_not_exist_disturbs_no_other(
    mock_cluster: MockCluster, group: str
) -> None:
    lines = json_lines(
        mock_cluster.bootstrap, "--group", "nosuch", "--group", group, "--for", "2.5"
    )
    lags = {line["group_id"]: line for line in lines if line["kind"] == "lag"}
    assert "GROUP_ID_NOT_FOUND" in lags["nosuch"]["error"]
    assert lags["nosuch"]["lag"] is None
    assert (lags[group]["lag"], lags[group]["error"]) == (13, None)


def test_an_id_that_cannot_be_sent_is_refused(mock_cluster: MockCluster) -> None:
    for group in ("", "\udcff"):
        done = run_ottla("watch", mock_cluster.bootstrap, "--group", group)
        assert done.code == 2
        assert "expected the id of a group" in done.err


def test_ctrl_c_does_not_wait_for_a_look_up(mock_cluster: MockCluster, group: str) -> None:
    mock_cluster.inject(Fault.delay(30), api="OffsetFetch")
    command = ("watch", mock_cluster.bootstrap, "--group", group, "--rates", "--interval", "0.2")
    with running_command(*command) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # The look-up has begun: rates are printed meanwhile.
        while b" rates: " not in process.stdout.readline():
            pass
        time.sleep(0.5)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == 130
        # The response comes after 30 s.
        assert time.monotonic() - started < 25
        assert without_waiting(process.stderr.read().decode()) == ""


def test_the_live_view(mock_cluster: MockCluster, topic: str, group: str) -> None:
    hostile = "evil\x1b]0;title\x07"
    arguments = ("--group", group, "--group", hostile, "--interval", "0.2")
    ends = itertools.count(11)
    with terminal("watch", mock_cluster.bootstrap, *arguments) as watch:

        def read_more() -> None:
            # However long it takes, the group reads on, but for the last record.
            end = next(ends)
            for partition in range(3):
                mock_cluster.append(topic, partition, [b"more"])
                mock_cluster.commit(group, topic, partition, end - 1)

        drawing = watch.wait_for("open of", "GROUP_ID_NOT_FOUND", "keeps up", act=read_more)
        lag = row(drawing, "lag ", group)
        assert lag["partitions"] == "3"
        assert int(lag["lag"]) > 0
        assert float(lag["written/s"]) > 0
        assert lag["cleared in"] == "keeps up"
        assert "evil\\x1b]0;title\\x07" in drawing
        assert "\x1b]0;" not in watch.shown
        connection = row(drawing, "connections:", "1 ")
        assert connection["role"] == "data"
        assert connection["state"] == "connected"
        assert connection["address"] == mock_cluster.brokers[1]
        assert connection["round trip"].endswith(" ms")
        assert connection["in flight"].isdecimal()
        assert connection["open for"].endswith(" s")
        rates = drawing[drawing.index("rates of this client") :]
        assert "slowest request of the last ten minutes: " in rates
        assert "retries by cause: none" in rates
        mock_cluster.stop_broker(3)
        watch.wait_for("2 brokers, ", "broker_lost")
        assert watch.interrupt()[0] == 130


def test_a_low_terminal_shows_the_latest_events(mock_cluster: MockCluster, topic: str) -> None:
    with terminal("watch", mock_cluster.bootstrap, "--interval", "0.1", lines=28) as watch:
        moves = 0

        def move() -> None:
            nonlocal moves
            moves += 1
            mock_cluster.move_leader(topic, 0, moves % 3 + 1)

        watch.wait_for("events", "leader_changed", act=move)
        mock_cluster.create_topic("the-last-event", partitions=1)
        watch.wait_for("cluster ", "rates of this client", "topic_appeared", "the-last-event")
        assert watch.interrupt()[0] == 130


def test_the_view_shows_how_the_cluster_is_searched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        [closed] = free_ports(1)
        with terminal("watch", f"{address},127.0.0.1:{closed}", "--group", "billing") as watch:
            drawing = watch.wait_for("2 bootstrap servers tried so far", "refused", "ApiVersions")
            connecting = row(drawing, "connections: 0 open of 2", f"none  bootstrap  {address} ")
            assert connecting["state"].startswith("connecting: ApiVersions, ")
            refused = f"none  bootstrap  127.0.0.1:{closed}"
            assert "TCP failed" in row(drawing, "connections: 0 open of 2", refused)["state"]
            assert f"bootstrap server 127.0.0.1:{closed}: last error: connection refused" in drawing
            # It does not wait until the server responds, which never happens.
            assert watch.interrupt()[0] == 130


def test_the_view_begins_once_a_broker_starts(mock_cluster: MockCluster) -> None:
    for broker in (1, 2, 3):
        mock_cluster.stop_broker(broker)
    with terminal("watch", mock_cluster.bootstrap) as watch:
        watch.wait_for("looking for the cluster", "bootstrap servers tried so far")
        mock_cluster.start_broker(2)
        drawing = watch.wait_for("open of", "rates of this client")
        assert "looking for the cluster" not in drawing
        assert watch.interrupt()[0] == 130


def test_exit_codes_of_a_cluster_that_cannot_be_reached(mock_cluster: MockCluster) -> None:
    [closed] = free_ports(1)
    server = f"127.0.0.1:{closed}"
    done = run_ottla("watch", server, "--json")
    assert (done.code, done.out) == (1, b"")
    assert "refused" in done.err
    with terminal("watch", server, "-X", "default.api.timeout.ms=1500") as watch:
        code, shown = watch.end()
    assert code == 1
    # After the screen was restored.
    message = shown[shown.rindex("\x1b[?1049l") :]
    assert "ottla: " in message
    assert "refused" in message
    done = run_ottla("watch", mock_cluster.bootstrap, "-t", "nosuch", "--json")
    assert done.code == 1
    assert "nosuch" in done.err


def test_wrong_credentials_end_the_search() -> None:
    with MockCluster(1, users={"alice": "a password"}) as secured:
        settings = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": "wrong",
        }
        options = [word for pair in settings.items() for word in ("-X", "=".join(pair))]
        with terminal("watch", secured.bootstrap, *options) as watch:
            code, shown = watch.end()
    assert code == 1
    message = shown[shown.rindex("\x1b[?1049l") :]
    assert "ottla: " in message
    assert "SASL" in message
