"""The console's server: what it serves, its errors and its bounds, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

import ottla
from ottla.console import Console, serve
from ottla.console import survey as survey_module
from ottla.console.observer import Observer
from ottla.console.source import Source
from ottla.console.survey import Survey
from ottla.console.workers import Workers
from ottla.errors import ClosedError, ConfigError, StateError
from ottla.testing import Fault, MockCluster
from tests.support.console import Stream, post, request
from tests.support.waiting import wait_until


def test_wrong_parameters_are_errors_that_name_them(console: Console, topic: str) -> None:
    for path, name in [
        ("/api/topics?count=-1", "count"),
        ("/api/topics?order=size", "order"),
        (f"/api/topics?q={'x' * 5000}", "q"),
        ("/api/topic", "name"),
        ("/api/messages", "topic"),
        (f"/api/messages?topic={topic}&count=100000", "at most 1,000 records"),
        (f"/api/messages?topic={topic}&partition=x", "partition"),
        (f"/api/messages?topic={topic}&where=x", "where"),
        (f"/api/messages?topic={topic}&value_as=yaml", "value_as: expected base64, double, "),
        (f"/api/messages?topic={topic}&value_format=avro", "schema registry"),
        (f"/api/messages?topic={topic}&after=x", "after"),
        (f"/api/messages?topic={topic}&start=soon", "-o"),
        ("/api/group", "name"),
    ]:
        response = request(console, path)
        assert response.status == 400, path
        assert name in response.json["message"], path


# Half of a surrogate pair, and a byte that is none of UTF-8.
@pytest.mark.parametrize("text", ["%ED%A0%BD", "%FF", "a%C3"])
def test_an_address_that_is_no_text_is_refused(console: Console, topic: str, text: str) -> None:
    for path in (
        f"/api/messages?topic={text}",
        f"/api/messages?topic={topic}&value={text}",
        f"/api/messages?topic={topic}&{text}=1",
        f"/api/messages/download?topic={text}",
        f"/api/topics?q={text}",
        f"/api/topic?name={text}",
        f"/api/group?name={text}",
        f"/api/doctor?topic={text}",
        f"/api/{text}",
        f"/static/{text}",
        f"/?page={text}",
    ):
        response = request(console, path)
        assert (response.status, "UTF-8" in response.json["message"]) == (400, True), path


@pytest.mark.parametrize("text", [b'"\\ud83d"', b'"\\ude00\\ud83d"', b'"\xed\xa0\xbd"', b'"\xff"'])
def test_json_that_is_no_text_is_refused(client: ottla.Client, text: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    with serve(client, allow_changes=True) as console:
        for body in (
            b'{"group":' + text + b',"to":"latest"}',
            b'{"group":"billing","to":' + text + b"}",
            b'{"group":"billing","to":"latest","topics":' + text + b"}",
            b'{"group":"billing","to":"latest",' + text + b":1}",
            b'{"group":"billing","to":"latest","deep":[{"a":' + text + b"}]}",
        ):
            path = "/api/change/groups/reset"
            response = request(console, path, method="POST", body=body, headers=headers)
            assert response.status == 400, body


def test_changes_need_json_and_permission(console: Console, topic: str) -> None:
    plan = {"group": "billing", "to": "latest", "topics": topic}
    assert post(console, "/api/change/groups/reset", plan).json["changed"] is False
    refused = post(console, "/api/change/groups/reset", {**plan, "dry_run": False})
    assert refused.status == 403
    assert "--allow-changes" in refused.json["message"]
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    body = json.dumps(plan).encode()
    for headers, sent in [(form, body), ({"Content-Type": "application/json"}, b"x" * 70_000)]:
        response = request(
            console, "/api/change/groups/reset", method="POST", body=sent, headers=headers
        )
        assert response.status == 400
    assert request(console, "/api/change/groups/reset").status == 405


def test_a_reset_is_planned_then_applied(client: ottla.Client, mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("orders", partitions=1)
    mock_cluster.append("orders", 0, [b"x"] * 10)
    mock_cluster.commit("billing", "orders", 0, 3)
    with serve(client, allow_changes=True) as console:
        wanted = {"group": "billing", "to": "latest"}
        planned = post(console, "/api/change/groups/reset", wanted).json
        [change] = planned["changes"]
        assert (change["before"], change["after"]) == ("3", "10")
        assert mock_cluster.committed("billing") == {("orders", 0): 3}
        confirmed = {**wanted, "dry_run": False, "digest": planned["digest"]}
        assert post(console, "/api/change/groups/reset", confirmed).json["changed"]
        assert mock_cluster.committed("billing") == {("orders", 0): 10}


def test_a_change_needs_the_digest_of_its_plan(
    client: ottla.Client, mock_cluster: MockCluster
) -> None:
    mock_cluster.create_topic("orders", partitions=1)
    mock_cluster.append("orders", 0, [b"x"] * 10)
    mock_cluster.commit("billing", "orders", 0, 3)
    with serve(client, allow_changes=True) as console:
        wanted = {"group": "billing", "to": "latest"}
        digest = post(console, "/api/change/groups/reset", wanted).json["digest"]
        apply = {**wanted, "dry_run": False}
        attempts: list[tuple[dict[str, Any], int]] = [
            ({}, 400),
            ({"digest": 7}, 400),
            ({"digest": "f" * 64}, 409),
            # The digest of another request.
            ({"digest": digest, "to": "earliest"}, 409),
        ]
        for given, status in attempts:
            refused = post(console, "/api/change/groups/reset", {**apply, **given})
            assert refused.status == status, given
        # Somebody has committed since the plan was shown.
        mock_cluster.commit("billing", "orders", 0, 5)
        refused = post(console, "/api/change/groups/reset", {**apply, "digest": digest})
        assert refused.status == 409
        assert "the plan has changed" in refused.json["message"]
        assert mock_cluster.committed("billing") == {("orders", 0): 5}
        # Records that arrive do not change it: the end of the log always moves.
        digest = post(console, "/api/change/groups/reset", wanted).json["digest"]
        mock_cluster.append("orders", 0, [b"x"])
        assert post(console, "/api/change/groups/reset", {**apply, "digest": digest}).json[
            "changed"
        ]
        assert mock_cluster.committed("billing") == {("orders", 0): 11}


def test_a_flood_of_requests_leaves_it_usable(console: Console) -> None:
    with ThreadPoolExecutor(32) as pool:
        flood = pool.map(lambda n: request(console, f"/api/{n}", token=False).status, range(1_500))
        assert request(console, "/api/about").status == 200
        assert set(flood) == {401}
    with contextlib.suppress(ConnectionError):
        long = {"X-Long": "x" * 4_000_000}
        assert request(console, "/api/about", headers=long).status in {400, 431}
    # Connections that send nothing, or half a request.
    idle = [socket.create_connection(("127.0.0.1", console.port)) for _ in range(100)]
    for each in idle[:50]:
        each.sendall(b"GET /api/about HTTP/1.1\r\nHost: ")
    assert request(console, "/api/about").status == 200
    for each in idle:
        each.close()


def test_what_is_served_is_the_handles_own(mock_cluster: MockCluster, topic: str) -> None:
    with (
        ottla.Producer(mock_cluster.bootstrap) as producer,
        ottla.Consumer(mock_cluster.bootstrap, group_id="billing", topics=[topic]) as consumer,
    ):
        producer.send(topic, b"value").result(timeout=30)
        with serve(producer) as console, Stream(console) as stream:
            assert request(console, "/api/about").json["kind"] == "producer"
            values = stream.wait_for("metrics")["values"]
            assert values["record-send-total"] == 1
        consumer.poll(timeout=5)
        with serve(consumer) as console, Stream(console) as stream:
            about = request(console, "/api/about").json
            assert (about["kind"], about["group_id"]) == ("consumer", "billing")
            roles = {each["role"] for each in stream.wait_for("connections")}
            assert "coordinator" in roles
        # Closing a console closes no client.
        producer.send(topic, b"value").result(timeout=30)


async def _serve_async(bootstrap: str) -> str:
    async with ottla.AsyncClient(bootstrap) as client:
        with serve(client) as console:
            kind: str = request(console, "/api/about").json["kind"]
            return kind


def test_asyncio_clients_are_served(mock_cluster: MockCluster) -> None:
    assert asyncio.run(_serve_async(mock_cluster.bootstrap)) == "client"


def test_wrong_arguments_are_typed_errors(client: ottla.Client, mock_cluster: MockCluster) -> None:
    with pytest.raises(TypeError, match="a client, a producer or a consumer"):
        serve(mock_cluster)
    with pytest.raises(ConfigError, match="loopback"):
        serve(client, host="0.0.0.0", token=False)
    with pytest.raises(ConfigError, match="port"):
        serve(client, port=70_000)
    with pytest.raises(ConfigError, match="cannot listen at 192\\.0\\.2\\.1"):
        serve(client, host="192.0.2.1")
    for registry in ("text", "registry:8081", "", "ftp://registry"):
        with pytest.raises(ConfigError, match=r"schema\.registry\.url"):
            serve(client, schema_registry=registry)
    with pytest.raises(TypeError, match="schema_registry is of type int"):
        serve(client, schema_registry=8081)  # type: ignore[arg-type]
    with serve(client, schema_registry="http://127.0.0.1:1") as console:
        assert request(console, "/api/about").json["has_registry"]
    with serve(client) as console:
        with pytest.raises(ConfigError, match=f"{console.port}: Address already in use"):
            serve(client, port=console.port)
        assert str(console.token) not in repr(console)
    client.close()
    with pytest.raises(ClosedError):
        serve(client)


def test_closing_ends_streams_and_threads(client: ottla.Client) -> None:
    before = {thread.name for thread in threading.enumerate()}
    console = serve(client)
    stream = Stream(console)
    stream.wait_for("cluster")
    console.close()
    console.close()
    assert console.wait(timeout=60)
    # The stream ends; it does not break.
    list(stream)
    stream.close()
    left = {thread.name for thread in threading.enumerate()} - before
    assert not {name for name in left if name.startswith("ottla-console")}
    assert client.topic_names() == []


def test_closing_does_not_wait_for_a_cluster_that_does_not_respond(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: it took two seconds, and a line of the log spoke of cancelled tasks."""
    monkeypatch.setattr("ottla.console.server._CLOSE_TIMEOUT", 30)
    with (
        ottla.Client("127.0.0.1:1", connect=False) as unreachable,
        ThreadPoolExecutor() as pool,
        serve(unreachable) as console,
    ):
        waiting = pool.submit(request, console, "/api/topics")
        ending = console._server._ending
        wait_until(lambda: ending._waiting)
        started = time.monotonic()
        console.close()
        assert time.monotonic() - started < 20
        assert waiting.result().status == 503
        assert waiting.result().json == {"message": "the console was closed"}
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


def test_a_console_that_is_closed_at_once_ends_its_application(
    client: ottla.Client, caplog: pytest.LogCaptureFixture
) -> None:
    """Regression: a console that was closed as it started left tasks, and logged their end."""
    for _ in range(10):
        with serve(client):
            pass
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


def test_errors_of_the_cluster_become_responses(
    console: Console, mock_cluster: MockCluster, topic: str
) -> None:
    mock_cluster.inject(Fault.error("GROUP_AUTHORIZATION_FAILED"), api="DescribeGroups")
    mock_cluster.inject(Fault.error("GROUP_AUTHORIZATION_FAILED"), api="ConsumerGroupDescribe")
    mock_cluster.commit("billing", topic, 0, 0)
    response = request(console, "/api/group?name=billing")
    assert response.status == 403
    assert "GROUP_AUTHORIZATION_FAILED" in response.json["message"]
    missing = request(console, f"/api/messages?topic={quote('no such topic')}")
    assert missing.status in {400, 404}
    assert request(console, "/api/nowhere").status == 404


def test_the_application_keeps_its_own_access_log(client: ottla.Client) -> None:
    """Regression: uvicorn's switch for this log is that of the process."""
    log = logging.getLogger("uvicorn.access")
    handler = logging.NullHandler()
    log.addHandler(handler)
    try:
        with serve(client) as console:
            assert request(console, "/api/about").status == 200
        assert handler in log.handlers
        assert log.propagate
    finally:
        log.removeHandler(handler)


def test_a_page_of_one_topic_does_not_wait_for_the_whole_cluster(
    client: ottla.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey_module, "_SOON", 0.05)

    async def check() -> None:
        source, workers = Source(client), Workers()
        survey = Survey(source, Observer(source), workers)
        free, ended = asyncio.Event(), asyncio.Event()

        async def slow() -> int:
            await free.wait()
            ended.set()
            return 1

        async def failing() -> int:
            raise StateError("no metadata")

        async def quick() -> int:
            return 2

        assert await survey.soon(slow()) is None
        # It goes on, for the next request.
        free.set()
        await asyncio.wait_for(ended.wait(), 10)
        assert await survey.soon(quick()) == 2
        assert await survey.soon(failing()) is None
        workers.close()

    asyncio.run(check())
