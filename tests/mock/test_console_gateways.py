"""What a console gets from the addresses of gateways: late, too deep, or of another version."""

from __future__ import annotations

import json
import math
import socket
import time
from typing import Any

import pytest

from ottla.console import gateways
from ottla.console.gateway_rows import event_of
from ottla.console.gateways import fetch
from tests.support.scripted_servers import Serve, read_line, scripted_server, wait_for_end

CONNECTION: dict[str, Any] = {
    "id": 1,
    "peer": "10.0.0.1:5000",
    "broker": None,
    "roles": [],
    "client_id": "future",
    "software": None,
    "user": None,
    "in_flight": 0,
    "groups": [],
    "transactional_ids": [],
    "requests": {"Fetch": 1},
    "throttled": 0.0,
    "errors": {},
}


def status(document: bytes) -> Serve:
    """Return a server whose status is a document, for every path."""

    def serve(connection: socket.socket) -> None:
        read_line(connection)
        head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(document)}\r\n\r\n"
        connection.sendall(head.encode() + document)
        wait_for_end(connection)

    return serve


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"requests": None}, "'requests' is not an object"),
        ({"requests": {"Fetch": "1"}}, "'requests' is not an integer"),
        ({"errors": {"Fetch": {"X": True}}}, "'errors' is not an integer"),
        ({"peer": 5}, "'peer' is not a text"),
        ({"client_id": None}, "'client_id' is not a text"),
        ({"broker": "1"}, "'broker' is not an integer"),
        ({"groups": "billing"}, "'groups' is not a list of texts"),
        ({"throttled": "1"}, "'throttled' is not a number"),
        ({"throttled": math.inf}, "Infinity is no number of JSON"),
    ],
)
def test_a_value_of_another_kind_is_a_problem(changed: dict[str, Any], problem: str) -> None:
    with scripted_server(status(json.dumps([{**CONNECTION, **changed}]).encode())) as port:
        fetched = fetch(f"http://127.0.0.1:{port}")
    assert fetched["problem"].startswith(f"http://127.0.0.1:{port}: ")
    assert problem in fetched["problem"]
    assert (fetched["connections"], fetched["events"]) == ([], [])


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (b"[" * 100_000, "another version"),
        (b'{"a":' * 100_000, "another version"),
        (json.dumps([CONNECTION]).encode(), "there is no 'time'"),
        (json.dumps([CONNECTION]).encode()[:-1], "Expecting"),
        (json.dumps([CONNECTION]).replace("0.0", "1e999").encode(), "'throttled' is not a number"),
        (b"{}", "expected a list"),
    ],
)
def test_what_is_nostatus(document: bytes, problem: str) -> None:
    with scripted_server(status(document)) as port:
        fetched = fetch(f"http://127.0.0.1:{port}")
    assert problem in fetched["problem"]
    assert (fetched["connections"], fetched["events"]) == ([], [])


@pytest.mark.parametrize("when", ["yesterday", "2026-11-27T20:00:00", 1, None])
def test_the_time_of_an_event_is_checked(when: object) -> None:
    with pytest.raises(TypeError, match="'time' is not a t"):
        event_of({"time": when, "kind": "refused", "text": ""}, "http://h:1")


def test_an_answer_of_another_kind_is_a_problem() -> None:
    def missing(connection: socket.socket) -> None:
        read_line(connection)
        connection.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
        wait_for_end(connection)

    with scripted_server(missing) as port:
        assert fetch(f"http://127.0.0.1:{port}")["problem"].endswith(": HTTP status 404 Not Found")


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nx: ",
        b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n",
    ],
)
def test_a_gateway_that_sends_a_byte_at_a_time_is_cut_off(
    monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    monkeypatch.setattr(gateways, "_TIMEOUT", 0.3)

    def drip(connection: socket.socket) -> None:
        read_line(connection)
        connection.sendall(head)
        while True:
            connection.sendall(b" ")
            time.sleep(0.02)

    with scripted_server(drip) as port:
        before = time.monotonic()
        fetched = fetch(f"http://127.0.0.1:{port}")
    assert fetched["problem"].endswith("the response was not complete after 0.3 s")
    assert time.monotonic() - before < 10
