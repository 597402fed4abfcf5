"""The console's server: who is admitted, what it responds, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

import ottla
from ottla.console import Console, serve
from ottla.console.observer import KEPT_EVENTS, Observer
from ottla.console.source import Source
from ottla.doctor import DiagnosisStep
from ottla.errors import ClosedError, ConfigError
from ottla.schema import Avro, Registry
from ottla.testing import Fault, MockCluster, MockRegistry
from tests.support.console import Stream, post, request


@pytest.fixture
def console(client: ottla.Client) -> Iterator[Console]:
    with serve(client) as console:
        yield console


def test_nothing_is_served_without_the_token(console: Console) -> None:
    paths = ["/", "/api/about", "/api/stream", "/static/console.js", "/nowhere", "/?token="]
    for path in [*paths, f"/?token={'x' * 32}", f"/api/about?token={console.token}"]:
        response = request(console, path, token=False)
        assert response.status == 401, path
        assert b"token" in response.body
        assert str(console.token).encode() not in response.body
    for authorization in ["Bearer wrong", "Bearer", f"Basic {console.token}", ""]:
        headers = {"Authorization": authorization}
        assert request(console, "/api/about", token=False, headers=headers).status == 401


def test_the_token_of_the_url_becomes_a_cookie(console: Console) -> None:
    path = console.url.partition(f":{console.port}")[2]
    response = request(console, path, token=False)
    assert (response.status, response.headers["location"]) == (303, "/")
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    signed_in = {"Cookie": cookie.partition(";")[0]}
    page = request(console, "/", token=False, headers=signed_in)
    assert page.status == 200
    assert str(console.token).encode() not in page.body
    wrong = {"Cookie": cookie.partition("=")[0] + "=wrong"}
    assert request(console, "/", token=False, headers=wrong).status == 401
    assert request(console, "/", token=False, headers={"Cookie": "a\x7f;=,;"}).status == 401
    # Cookies of other applications at this host do not matter.
    for other in ['prefs={"a":1}', "noequals", "\xe9=1"]:
        mixed = {"Cookie": f"{other}; {signed_in['Cookie']}"}
        assert request(console, "/", token=False, headers=mixed).status == 200, other


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "", "[::1"]
)
def test_other_host_names_are_refused(console: Console, host: str) -> None:
    response = request(console, "/api/about", headers={"Host": host})
    assert response.status in {400, 421}


def test_further_host_names_are_allowed_by_name(client: ottla.Client) -> None:
    with serve(client, allow_hosts=["Console.example"]) as console:
        headers = {"Host": f"console.example:{console.port}"}
        assert request(console, "/api/about", headers=headers).status == 200
        assert request(console, "/api/about", headers={"Host": "other.example"}).status == 421


def test_a_console_for_other_machines_is_used_by_address(client: ottla.Client) -> None:
    """A page can make a name of its own resolve to this machine, but not an address."""
    with serve(client, host="0.0.0.0") as console:
        for host, status in [
            (f"192.0.2.7:{console.port}", 200),
            ("[2001:db8::1]", 200),
            (socket.gethostname(), 200),
            ("evil.example", 421),
        ]:
            assert request(console, "/api/about", headers={"Host": host}).status == status
        assert f"http://{socket.gethostname()}:{console.port}/" in console.url


def test_pages_of_other_sites_are_refused(console: Console) -> None:
    own = f"http://127.0.0.1:{console.port}"
    assert request(console, "/api/about", headers={"Origin": own}).status == 200
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": f"http://127.0.0.1:{console.port + 1}"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert request(console, "/api/about", headers=headers).status == 403, headers
        reset = {"group": "g", "to": "latest"}
        assert post(console, "/api/group/reset", reset, **headers).status == 403, headers


def test_every_response_has_the_policy(console: Console) -> None:
    for path in ["/", "/api/about", "/static/console.js", "/nowhere"]:
        headers = request(console, path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e%2f%2e%2e%2f%2e%2e%2fpyproject.toml",
        "//etc/passwd",
        "/static//etc/passwd",
        "/static/pages/../../app.py",
        "/static/%00",
    ],
)
def test_files_outside_the_page_are_not_served(console: Console, path: str) -> None:
    response = request(console, path)
    assert response.status in {400, 404, 500}
    assert b"import" not in response.body
    assert b"root:" not in response.body


def test_wrong_parameters_are_errors_that_name_them(console: Console, topic: str) -> None:
    for path, name in [
        ("/api/topics?count=-1", "count"),
        ("/api/topics?order=size", "order"),
        (f"/api/topics?q={'x' * 5000}", "q"),
        ("/api/topic", "name"),
        ("/api/messages", "topic"),
        (f"/api/messages?topic={topic}&count=100000", "count"),
        (f"/api/messages?topic={topic}&partition=x", "partition"),
        (f"/api/messages?topic={topic}&where=x", "where"),
        (f"/api/messages?topic={topic}&value_as=yaml", "value_as"),
        (f"/api/messages?topic={topic}&value_format=avro", "schema registry"),
        (f"/api/messages?topic={topic}&after=x", "after"),
        (f"/api/messages?topic={topic}&start=soon", "-o"),
        ("/api/group", "name"),
    ]:
        response = request(console, path)
        assert response.status == 400, path
        assert name in response.json["message"], path


def test_changes_need_json_and_permission(console: Console, topic: str) -> None:
    plan = {"group": "billing", "to": "latest", "topics": topic}
    assert post(console, "/api/group/reset", plan).json["changed"] is False
    refused = post(console, "/api/group/reset", {**plan, "dry_run": False})
    assert refused.status == 403
    assert "--allow-changes" in refused.json["message"]
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    body = json.dumps(plan).encode()
    for headers, sent in [(form, body), ({"Content-Type": "application/json"}, b"x" * 70_000)]:
        response = request(console, "/api/group/reset", method="POST", body=sent, headers=headers)
        assert response.status == 400
    assert request(console, "/api/group/reset").status == 405


def test_a_reset_is_planned_then_applied(client: ottla.Client, mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("orders", partitions=1)
    mock_cluster.append("orders", 0, [b"x"] * 10)
    mock_cluster.commit("billing", "orders", 0, 3)
    with serve(client, allow_changes=True) as console:
        wanted = {"group": "billing", "to": "latest"}
        [change] = post(console, "/api/group/reset", wanted).json["changes"]
        assert (change["before"], change["after"]) == ("3", "10")
        assert mock_cluster.committed("billing") == {("orders", 0): 3}
        assert post(console, "/api/group/reset", {**wanted, "dry_run": False}).json["changed"]
        assert mock_cluster.committed("billing") == {("orders", 0): 10}


def test_the_stream_has_the_cluster_and_its_events(
    console: Console, mock_cluster: MockCluster, topic: str
) -> None:
    with Stream(console) as stream:
        cluster = stream.wait_for("cluster")
        assert [broker["id"] for broker in cluster["brokers"]] == [1, 2, 3]
        assert cluster["partitions"] == 3
        connections = stream.wait_for("connections")
        assert {each["state"] for each in connections} <= {"connected", "connecting"}
        leader = mock_cluster.leader(topic, 0)
        assert leader is not None
        mock_cluster.move_leader(topic, 0, leader % 3 + 1)
        moved: list[dict[str, Any]] = []
        version = cluster["version"]
        while not moved or version == cluster["version"]:
            kind, value = next(stream)
            if kind == "events":
                moved += [each for each in value if each["kind"] == "leader_changed"]
            if kind == "cluster":
                version = value["version"]
        assert [(each["topic"], each["partition"]) for each in moved] == [(topic, 0)]
        assert (moved[0]["before"], moved[0]["after"]) == (leader, leader % 3 + 1)


def test_an_unreachable_cluster_is_shown(mock_cluster: MockCluster) -> None:
    for broker in mock_cluster.brokers:
        mock_cluster.stop_broker(broker)
    with ottla.Client(mock_cluster.bootstrap, connect=False) as client, serve(client) as console:
        with Stream(console) as stream:
            attempts = next(value for kind, value in stream if kind == "connections" and value)
            assert {each["role"] for each in attempts} == {"bootstrap"}
            problem = next(value for kind, value in stream if kind == "problem" and value)
            assert "no metadata" in problem["message"]
        mock_cluster.start_broker(1)
        with Stream(console) as stream:
            assert stream.wait_for("cluster")["cluster_id"]


def test_a_broker_that_only_replicas_name_is_missing(
    console: Console, mock_cluster: MockCluster, topic: str
) -> None:
    with Stream(console) as stream:
        stream.wait_for("cluster")
        mock_cluster.stop_broker(2)
        missing = next(
            value
            for kind, value in stream
            if kind == "cluster" and any(each["missing"] for each in value["brokers"])
        )
    broker = missing["brokers"][1]
    assert (broker["id"], broker["address"], broker["leads"]) == (2, None, 0)
    assert broker["replicas"] == 3
    rows = request(console, "/api/topics").json["rows"]
    assert rows[0]["under_replicated"] == 3
    partition = request(console, f"/api/topic?name={topic}").json["rows"][0]
    assert partition["state"] == "under"


def test_a_client_without_open_pages_is_not_sampled(
    console: Console, mock_cluster: MockCluster
) -> None:
    with Stream(console) as stream:
        stream.wait_for("cluster")
    # The server notices a closed page with the next sample that it sends.
    while mock_cluster.request_count("Metadata") < 3:
        time.sleep(0.1)
    time.sleep(3)
    before, started = mock_cluster.request_count("Metadata"), time.monotonic()
    time.sleep(4)
    sent = mock_cluster.request_count("Metadata") - before
    # The client's events request the metadata each 5 s.
    assert sent <= 1 + (time.monotonic() - started) / 5


def test_fifty_pages_share_each_sample(console: Console, mock_cluster: MockCluster) -> None:
    pages = [Stream(console) for _ in range(50)]
    try:
        before = mock_cluster.request_count("Metadata")
        with ThreadPoolExecutor(50) as pool:
            versions = list(pool.map(lambda page: page.wait_for("cluster")["version"], pages))
            assert len(set(versions)) == 1
            paths = ["/api/groups"] * 100
            before_groups, started = mock_cluster.request_count("ListGroups"), time.monotonic()
            statuses = list(pool.map(lambda path: request(console, path).status, paths))
        assert statuses == [200] * 100
        # Pages share the list of groups for two seconds: three brokers are asked for each.
        lists = (mock_cluster.request_count("ListGroups") - before_groups) / 3
        assert lists <= 2 + (time.monotonic() - started) / 2
        assert mock_cluster.request_count("Metadata") - before < 50
    finally:
        for page in pages:
            page.close()


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


def test_secrets_never_appear(caplog: pytest.LogCaptureFixture) -> None:
    secret = "correct horse battery"
    with (
        caplog.at_level(logging.DEBUG),
        MockCluster(users={"alice": secret}) as cluster,
        ottla.Client(
            cluster.bootstrap,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-512",
            sasl_username="alice",
            sasl_password=secret,
        ) as client,
        serve(client) as console,
    ):
        cluster.create_topic("orders")
        shown = b""
        with Stream(console) as stream:
            for kind, value in stream:
                shown += json.dumps([kind, value]).encode()
                if kind == "cluster":
                    break
        for path in ["/", "/api/about", "/api/topics", "/api/groups", "/api/messages?topic=orders"]:
            shown += request(console, path).body
        with Stream(console, "/api/doctor") as stream:
            shown += json.dumps(stream.wait_for("report")).encode()
        shown += request(console, "/api/doctor/report.html").body
        shown += repr(console).encode()
        assert secret.encode() not in shown
        assert str(console.token).encode() not in shown
    assert secret not in caplog.text
    assert str(console.token) not in caplog.text


def test_the_diagnosis_is_reported_step_by_step(console: Console, topic: str) -> None:
    with Stream(console, f"/api/doctor?topic={topic}&group=billing") as stream:
        seen = list(stream)
    steps = [value for kind, value in seen if kind == "step"]
    assert {each["phase"] for each in steps} >= {"DNS", "TCP", "ApiVersions", "Metadata", "Leaders"}
    kind, report = seen[-1]
    assert kind == "report"
    assert report["ok"]
    assert report["ends_at"] is None
    saved = request(console, "/api/doctor/report.html")
    assert saved.headers["content-disposition"] == 'attachment; filename="ottla-doctor.html"'
    assert b"<script" not in saved.body


def test_what_is_served_is_the_handles_own(mock_cluster: MockCluster, topic: str) -> None:
    with (
        ottla.Producer(mock_cluster.bootstrap) as producer,
        ottla.Consumer(mock_cluster.bootstrap, group_id="billing", topics=[topic]) as consumer,
    ):
        producer.send(topic, b"value").result(30)
        with serve(producer) as console, Stream(console) as stream:
            assert request(console, "/api/about").json["kind"] == "producer"
            values = stream.wait_for("metrics")["values"]
            assert values["record-send-total"] == 1
        consumer.poll(5)
        with serve(consumer) as console, Stream(console) as stream:
            about = request(console, "/api/about").json
            assert (about["kind"], about["group_id"]) == ("consumer", "billing")
            roles = {each["role"] for each in stream.wait_for("connections")}
            assert "coordinator" in roles
        # Closing a console closes no client.
        producer.send(topic, b"value").result(30)


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
    assert console.wait(60)
    # The stream ends; it does not break.
    list(stream)
    stream.close()
    left = {thread.name for thread in threading.enumerate()} - before
    assert not {name for name in left if name.startswith("ottla-console")}
    assert client.list_topics() == []


def test_a_closed_client_is_shown_as_closed(mock_cluster: MockCluster) -> None:
    client = ottla.Client(mock_cluster.bootstrap)
    with serve(client) as console, Stream(console) as stream:
        stream.wait_for("cluster")
        client.close()
        problem = next(value for kind, value in stream if kind == "problem" and value)
        assert "closed" in problem["message"]


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


def test_messages_with_a_schema_are_decoded(
    client: ottla.Client, mock_cluster: MockCluster, single: str
) -> None:
    schema = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
    with MockRegistry(user_info="alice:secret") as mock:
        registry = Registry(mock.url, basic_auth_user_info="alice:secret")
        value = Avro(registry, schema=schema, register=True)
        with ottla.Producer(mock_cluster.bootstrap, value_serializer=value) as producer:
            producer.send(single, {"id": 7}).result(30)
        with ottla.Producer(mock_cluster.bootstrap) as producer:
            producer.send(single, b"no Avro").result(30)
        with serve(client, schema_registry=registry) as console:
            assert request(console, "/api/about").json["has_registry"]
            path = f"/api/messages?topic={single}&value_format=avro"
            found = request(console, path).json
            first, second = found["records"]
            assert (first["value"]["kind"], first["value"]["text"]) == ("json", '{"id": 7}')
            assert second["error"]
            assert f"--value-format=avro --schema-registry={mock.url}" in found["command"]
            assert "secret" not in json.dumps(found)
            both = request(console, f"{path}&value_as=hex")
            assert (both.status, "excludes" in both.json["message"]) == (400, True)
            saved = request(console, path.replace("?", "/download?") + "&as=jsonl").body
            assert json.loads(saved.splitlines()[0])["value"] == {"id": 7}


async def _events_of_a_late_page(source: Source) -> list[str]:
    observer = Observer(source)
    for number in range(3 * KEPT_EVENTS):
        await observer.add_event({"message": str(number)})
    text = await anext(aiter(observer.stream()))
    return [event["message"] for event in json.loads(text.partition("data: ")[2])]


def test_the_time_line_is_bounded(client: ottla.Client) -> None:
    seen = asyncio.run(_events_of_a_late_page(Source(client)))
    assert seen == [str(number) for number in range(2 * KEPT_EVENTS, 3 * KEPT_EVENTS)]


def test_a_page_that_takes_its_messages_slowly_misses_none(client: ottla.Client) -> None:
    """Regression: what was published between two messages of a page never reached it."""

    async def check() -> None:
        observer = Observer(Source(client))
        await observer.publish("cluster", {})
        await observer.publish("connections", [])
        stream = observer.stream()
        await anext(stream)
        await observer.publish("problem", {"message": "meanwhile"})
        await observer.add_event({"message": "meanwhile"})
        seen = [await anext(stream) for _ in range(3)]
        assert sum("meanwhile" in each for each in seen) == 2

    asyncio.run(check())


def test_the_newest_matches_are_found_backwards(
    console: Console, mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: they were read from the beginning, and an early end returned the oldest."""
    mock_cluster.create_topic("long", partitions=2)
    for partition in range(2):
        values = [b"x" if n % 1_000 == 0 else b"y" for n in range(20_000)]
        mock_cluster.append("long", partition, values)
    path = "/api/messages?topic=long&last=6&value=x"
    found = request(console, path).json
    assert found["ended"] == "end"
    offsets = sorted((each["partition"], each["offset"]) for each in found["records"])
    assert len(offsets) == 6
    everything = request(console, "/api/messages?topic=long&last=1000&value=x").json
    assert len(everything["records"]) == 40
    assert found["records"] == everything["records"][-6:]
    # With room for little, the windows get smaller, and what is shown is the newest.
    monkeypatch.setattr("ottla.console.messages.reading._MAX_BYTES", 100_000)
    small = request(console, "/api/messages?topic=long&last=6").json
    assert {each["offset"] for each in small["records"]} <= set(range(19_990, 20_000))
    assert request(console, "/api/messages?topic=long&last=0&value=x").json["records"] == []


def test_the_size_of_a_response_is_bounded(
    console: Console, producer: ottla.Producer, single: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(20):
        producer.send(single, None, headers=[("large", b"x" * 10_000)])
    producer.flush()
    monkeypatch.setattr("ottla.console.messages.reading._MAX_BYTES", 100_000)
    first = request(console, f"/api/messages?topic={single}").json
    assert first["ended"] == "size"
    assert 5 < len(first["records"]) < 15
    places = ",".join(f"{place}:{offset}" for place, offset in first["next"].items())
    rest = request(console, f"/api/messages?topic={single}&after={places}").json
    seen = [each["offset"] for each in [*first["records"], *rest["records"]]]
    assert seen == list(range(len(seen)))
    saved = request(console, f"/api/messages/download?topic={single}").headers
    assert saved["content-disposition"] == f'attachment; filename="{single}.part.jsonl"'


def test_the_end_of_a_reading_holds_for_its_next_page(
    console: Console, producer: ottla.Producer, single: str
) -> None:
    for n in range(10):
        producer.send(single, b"x", timestamp=1_000 + n)
    producer.flush()
    path = f"/api/messages?topic={single}&start=e%401005&count=3"
    first = request(console, path).json
    rest = request(console, f"{path}&after=0:{first['next']['0']}").json
    seen = [each["timestamp"] for each in [*first["records"], *rest["records"]]]
    assert seen == [1_000, 1_001, 1_002, 1_003, 1_004]


def test_odd_records_are_shown(console: Console, producer: ottla.Producer, single: str) -> None:
    """Regression: one of them made the whole page an error."""
    values = [b"[" * 100_000, b'"\\ud800"', b"\xff\x00", b"", b'{"a": 1e999}']
    for value in values:
        producer.send(single, value)
    producer.flush()
    for query in ["", "&value_as=json", "&where=a=1", "&value_as=long"]:
        assert request(console, f"/api/messages?topic={single}{query}").status == 200, query
    for kind in ["jsonl", "csv", "parquet"]:
        path = f"/api/messages/download?topic={single}&as={kind}"
        assert request(console, path).status == 200, kind


def test_a_stalled_partition_does_not_hide_the_others(
    console: Console, mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock_cluster.create_topic("stalled", partitions=2)
    for partition in range(2):
        mock_cluster.append("stalled", partition, [b"x"])
    mock_cluster.inject(Fault.silence(), api="Fetch", topic="stalled", partition=1)
    monkeypatch.setattr("ottla.console.messages.reading.SECONDS", 1.0)
    found = request(console, "/api/messages?topic=stalled").json
    assert found["ended"] == "time"
    assert {each["partition"] for each in found["records"]} <= {0}


def test_the_doctor_runs_while_other_requests_wait(
    console: Console, mock_cluster: MockCluster, topic: str
) -> None:
    with Stream(console) as stream:
        stream.wait_for("cluster")
    mock_cluster.inject(Fault.silence(), api="ListGroups")
    waiting = [
        threading.Thread(target=request, args=(console, f"/api/messages?topic=missing-{n}"))
        for n in range(6)
    ]
    for each in waiting:
        each.start()
    with Stream(console, "/api/doctor") as stream:
        assert stream.wait_for("report")
    for each in waiting:
        each.join()


def test_diagnoses_of_pages_that_are_gone_count_until_they_end(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: a page that went away made room for another one while its checks still ran."""
    ended = threading.Event()

    def diagnose(_: object, *, on_step: Callable[[DiagnosisStep], object], **__: object) -> None:
        step = DiagnosisStep("DNS", "a server", "DNS", "started")
        on_step(step)
        assert ended.wait(120)
        # It notices that its page is gone.
        on_step(step)

    monkeypatch.setattr(ottla, "diagnose", diagnose)
    for _ in range(2):
        stream = Stream(console, "/api/doctor")
        assert next(stream)[0] == "step"
        stream.close()
    assert request(console, "/api/doctor").status == 409
    monkeypatch.undo()
    ended.set()
    deadline = time.monotonic() + 60
    while request(console, "/api/doctor").status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.2)


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


def test_reading_goes_on_in_a_topic_of_many_partitions(
    console: Console, mock_cluster: MockCluster
) -> None:
    mock_cluster.create_topic("wide", partitions=3_000)
    for partition in range(3_000):
        mock_cluster.append("wide", partition, [b"x"])
    first = request(console, "/api/messages?topic=wide&count=1000").json
    assert (first["ended"], len(first["records"])) == ("count", 1_000)
    places = ",".join(f"{place}:{offset}" for place, offset in first["next"].items())
    rest = request(console, f"/api/messages?topic=wide&count=1000&after={places}").json
    seen = [each["partition"] for each in [*first["records"], *rest["records"]]]
    assert len(set(seen)) == len(seen) == 2_000
