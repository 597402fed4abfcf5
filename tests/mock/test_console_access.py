"""The console's access: the token, host names, other sites, files and secrets."""

from __future__ import annotations

import json
import logging
import socket

import pytest

import ottla
from ottla.console import Console, serve
from ottla.testing import MockCluster
from tests.support.console import Stream, post, request


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
        assert post(console, "/api/change/groups/reset", reset, **headers).status == 403, headers


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
