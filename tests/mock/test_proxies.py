"""Clients through a proxy of another make: every class, registry, token endpoint and doctor."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import ottla
from ottla import errors, schema
from ottla.admin import NewTopic
from ottla.testing import MockCluster, MockRegistry
from tests.support.command import ottla_here
from tests.support.ports import free_ports
from tests.support.pproxy_server import pproxy_server

USER_INFO = "ann:hunter2"
SCHEMES = pytest.mark.parametrize("scheme", ["socks5h", "http"])


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    """A proxy for anyone."""
    with pproxy_server() as address:
        yield address


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """A proxy with a user and a password."""
    with pproxy_server(USER_INFO) as address:
        yield address


@SCHEMES
def test_every_class_works_through_a_proxy(
    scheme: str, guarded: str, mock_cluster: MockCluster
) -> None:
    url = f"{scheme}://{USER_INFO}@{guarded}"
    servers = mock_cluster.bootstrap
    with ottla.Admin(servers, proxy_url=url) as admin:
        admin.create_topics([NewTopic(f"proxied-{scheme}", 3)])
    topic = f"proxied-{scheme}"
    with ottla.Producer(servers, proxy_url=url) as producer:
        for partition in range(3):
            producer.send(topic, f"{partition}".encode(), partition=partition).result(timeout=30)
        for status in producer.connections():
            assert [phase for phase, _ in status.phases][:3] == ["DNS", "TCP", "Proxy"]
            assert status.address.endswith(f"(proxy {guarded})")
        assert "hunter2" not in f"{producer!r} {producer.connections()}"
    with ottla.Consumer(servers, proxy_url=url, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, number) for number in range(3)])
        values: set[bytes | None] = set()
        while len(values) < 3:
            values |= {record.value for record in consumer.poll(timeout=30)}
        assert values == {b"0", b"1", b"2"}

    async def count() -> int:
        async with ottla.AsyncClient(servers, proxy_url=url) as client:
            return len((await client.cluster()).brokers)

    assert asyncio.run(count()) == 3


@SCHEMES
def test_a_proxy_that_asks_for_a_password(
    scheme: str, guarded: str, mock_cluster: MockCluster
) -> None:
    for user_info in ("", "ann:wrong-hunter2@"):
        with pytest.raises(errors.KafkaError) as caught:
            ottla.Client(
                mock_cluster.bootstrap,
                proxy_url=f"{scheme}://{user_info}{guarded}",
                default_api_timeout_ms=1500,
            )
        # This proxy hangs up where SOCKS5 has a reply for clients without a password.
        if user_info or scheme == "http":
            assert isinstance(caught.value, errors.AuthenticationError)
            assert "proxy.url" in str(caught.value)
        assert "a user and a password" in str(caught.value) or user_info
        assert "hunter2" not in f"{caught.value!r} {caught.value}"


@SCHEMES
def test_a_registry_has_a_proxy_of_its_own(scheme: str, proxy: str) -> None:
    with (
        MockRegistry() as registry,
        schema.Registry(registry.url, proxy_url=f"{scheme}://{proxy}") as through,
    ):
        through.register("orders-value", schema.Schema('"string"'))
        assert through.subjects() == ["orders-value"]
    [port] = free_ports(1)
    with (
        schema.Registry("http://registry:1", proxy_url=f"http://127.0.0.1:{port}") as without,
        pytest.raises(errors.KafkaError, match=rf"the proxy http://127.0.0.1:{port}"),
    ):
        without.subjects(timeout=0.5)


class _Tokens(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.dumps({"access_token": "a.b.c", "expires_in": 3600}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_a_token_endpoint_uses_the_proxy_of_the_brokers_or_its_own(proxy: str) -> None:
    [nothing] = free_ports(1)
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), _Tokens) as tokens,
        MockCluster(users={"service": "a.b.c"}) as cluster,
    ):
        threading.Thread(target=tokens.serve_forever, daemon=True).start()
        login = {
            "bootstrap.servers": cluster.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{tokens.server_port}/token",
            "sasl.oauthbearer.token.endpoint.allow.http": "true",
            "sasl.oauthbearer.client.credentials.client.id": "me",
            "sasl.oauthbearer.client.credentials.client.secret": "hunter2",
            "proxy.url": f"http://{proxy}",
        }
        own = "sasl.oauthbearer.token.endpoint.proxy.url"
        for more in ({}, {own: "none"}, {own: f"socks5h://{proxy}"}):
            ottla.Client(login | more).close()
        with pytest.raises(errors.KafkaError, match=rf"the proxy http://127.0.0.1:{nothing}"):
            ottla.Client(login | {own: f"http://127.0.0.1:{nothing}"}, default_api_timeout_ms=500)
        tokens.shutdown()


def test_environment_variables_are_not_read(
    mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    [nothing] = free_ports(1)
    for name in ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"):
        for spelled in (name, name.lower()):
            monkeypatch.setitem(os.environ, spelled, f"http://127.0.0.1:{nothing}")
    with ottla.Client(mock_cluster.bootstrap) as client:
        assert len(client.cluster().brokers) == 3


def test_the_doctor_has_a_step_for_the_proxy(
    proxy: str, guarded: str, mock_cluster: MockCluster, tmp_path: Path
) -> None:
    def diagnose(url: str) -> tuple[int, dict[str, object], str]:
        config = tmp_path / "client.properties"
        config.write_text(f"proxy.url={url}\n")
        done = ottla_here(
            "doctor", mock_cluster.bootstrap, "--config", str(config), "--json", "--timeout", "10"
        )
        assert "hunter2" not in done.text + done.err
        found = json.loads(done.text)
        codes = [finding["code"] for finding in found["findings"]]
        return done.code, found, ",".join(codes)

    code, found, _ = diagnose(f"http://{proxy}")
    assert code == 0
    assert '"Proxy"' in json.dumps(found)
    code, _, codes = diagnose(f"socks5h://ann:no-hunter2@{guarded}")
    assert (code, "proxy_credentials" in codes) == (4, True), codes
    [nothing] = free_ports(1)
    code, _, codes = diagnose(f"socks5h://{USER_INFO}@127.0.0.1:{nothing}")
    assert (code, "proxy_unreachable" in codes) == (4, True), codes
    # A Kafka broker is not a proxy.
    broker = mock_cluster.bootstrap.split(",")[0]
    code, _, codes = diagnose(f"http://{broker}")
    assert code == 4, codes


class _Echo(BaseHTTPRequestHandler):
    """A proxy that repeats what it was sent in place of its reason."""

    def do_CONNECT(self) -> None:
        self.send_response(500, f"refused {self.headers['Proxy-Authorization']} of hunter2")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


def test_a_proxy_that_repeats_the_password_does_not_show_it() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(errors.KafkaError) as caught:
            ottla.Client(
                "kafka.internal:9092",
                proxy_url=f"http://{USER_INFO}@127.0.0.1:{server.server_port}",
                default_api_timeout_ms=1500,
            )
    finally:
        server.shutdown()
        server.server_close()
    shown = f"{caught.value} {caught.value!r} {caught.value.context}"
    assert "500" in shown
    for secret in ("hunter2", base64.b64encode(USER_INFO.encode()).decode()):
        assert secret not in shown
