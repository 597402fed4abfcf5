"""A console with TLS: its address and cookie, wrong files, and peers that end no handshake."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import ottla
from ottla.console import Console, connections, serve, tls
from ottla.errors import ConfigError
from ottla.testing import MockCluster
from tests.security.certificates import Authority, Identity
from tests.support.command import ottla_here
from tests.support.console import TIMEOUT, Stream, request

AUTHORITY = Authority("console authority")


@pytest.fixture(scope="module")
def identity() -> Identity:
    return AUTHORITY.issue("console", ["127.0.0.1", "localhost"])


@pytest.fixture
def files(tmp_path: Path, identity: Identity) -> tuple[Path, Path]:
    """The files of a certificate and its key."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    certificate.write_text(identity.certificate)
    key.write_text(identity.key())
    return certificate, key


@pytest.fixture
def encrypted(client: ottla.Client, files: tuple[Path, Path]) -> Iterator[Console]:
    """A console with TLS."""
    with serve(client, tls_cert=files[0], tls_key=files[1]) as console:
        yield console


def test_pages_and_streams_are_encrypted(encrypted: Console) -> None:
    assert encrypted.url == f"https://127.0.0.1:{encrypted.port}/?token={encrypted.token}"
    assert request(encrypted, "/api/about").json["kind"] == "client"
    # Larger than a TLS record.
    assert len(request(encrypted, "/static/console.css").body) > 16_384
    own = {"Origin": f"https://127.0.0.1:{encrypted.port}"}
    assert request(encrypted, "/api/about", headers=own).status == 200
    with Stream(encrypted) as stream:
        assert stream.wait_for("cluster")["brokers"]


def test_the_certificate_is_the_given_one(encrypted: Console) -> None:
    trusting = ssl.create_default_context(cadata=AUTHORITY.certificate)
    raw = socket.create_connection(("127.0.0.1", encrypted.port), timeout=TIMEOUT)
    with trusting.wrap_socket(raw, server_hostname="localhost") as connection:
        # The request follows the handshake at once.
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(1_000).startswith(b"HTTP/1.1 401")


def test_the_cookie_is_sent_with_tls_only(encrypted: Console, console: Console) -> None:
    for each, is_secure in [(encrypted, True), (console, False)]:
        response = request(each, f"/?token={each.token}", token=False)
        assert ("Secure" in response.headers["set-cookie"]) is is_secure
        # It is the same origin, and the scheme is that of the connection.
        assert response.headers["location"] == "/"


def test_a_browser_shows_its_pages(browser: Browser, encrypted: Console) -> None:
    context = browser.new_context(ignore_https_errors=True)
    try:
        page = context.new_page()
        page.goto(encrypted.url)
        expect(page.locator("#status")).to_have_text("live")
        assert [each.get("secure") for each in context.cookies()] == [True]
    finally:
        context.close()


def test_one_file_may_have_both(client: ottla.Client, tmp_path: Path, identity: Identity) -> None:
    both = tmp_path / "both.pem"
    both.write_text(identity.key() + identity.certificate)
    assert tls.server_context(both).minimum_version >= ssl.TLSVersion.TLSv1_2
    with serve(client, tls_cert=str(both)) as console:
        assert request(console, "/api/about").status == 200


@pytest.mark.parametrize(
    ("certificate", "key", "message"),
    [
        (lambda i: i.key(), lambda i: i.key(), "has no certificate in PEM form"),
        (lambda i: i.certificate, lambda i: i.certificate, "has no private key in PEM form"),
        (lambda i: i.certificate, lambda i: None, "tls_key: .*key.pem cannot be read: No such"),
        (lambda i: i.certificate, lambda i: i.key("secret"), "is encrypted.*openssl pkey -in"),
        (
            lambda _: AUTHORITY.issue("another").certificate,
            lambda i: i.key(),
            "does not belong to the first certificate.*own certificate comes first",
        ),
        (lambda i: i.certificate[:99], lambda i: i.key(), "cannot be used: "),
    ],
)
def test_files_that_cannot_be_used_are_errors(
    client: ottla.Client,
    tmp_path: Path,
    identity: Identity,
    certificate: Callable[[Identity], str],
    key: Callable[[Identity], str | None],
    message: str,
) -> None:
    paths = tmp_path / "certificate.pem", tmp_path / "key.pem"
    paths[0].write_text(certificate(identity))
    if (text := key(identity)) is not None:
        paths[1].write_text(text)
    with pytest.raises(ConfigError, match=f"(?s){message}") as raised:
        serve(client, tls_cert=paths[0], tls_key=paths[1])
    assert raised.value.__cause__ is None
    assert "BEGIN PRIVATE" not in str(raised.value)


def test_a_key_that_is_missing_is_named(client: ottla.Client, files: tuple[Path, Path]) -> None:
    with pytest.raises(ConfigError, match="name the file of the key with tls_key"):
        serve(client, tls_cert=files[0])
    with pytest.raises(ConfigError, match="no effect without tls_cert"):
        serve(client, tls_key=files[1])


def test_unfinished_handshakes_are_few_and_short(
    encrypted: Console, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The oldest of too many strangers ends at once, and the others with their deadline."""
    caplog.set_level(logging.DEBUG)
    silent = [
        socket.create_connection(("127.0.0.1", encrypted.port), timeout=TIMEOUT) for _ in range(80)
    ]
    try:
        assert len(silent) > connections._MAX_STRANGERS
        assert silent[0].recv(1) == b""
        assert request(encrypted, "/api/about").status == 200
        monkeypatch.setattr(tls, "_HANDSHAKE_TIMEOUT", 0.0)
        assert silent[-1].recv(1) == b""
        monkeypatch.undo()
        # No HTTP, and no TLS.
        with socket.create_connection(("127.0.0.1", encrypted.port), timeout=TIMEOUT) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while plain.recv(100):
                pass
        assert request(encrypted, "/api/about").status == 200
    finally:
        for each in silent:
            each.close()
    assert [each for each in caplog.records if "ottla.console" in each.name] == []
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


def test_the_command_has_an_encrypted_address(
    mock_cluster: MockCluster, files: tuple[Path, Path]
) -> None:
    arguments = ["console", mock_cluster.bootstrap, "--no-browser", "--for", "0.2"]
    given = ["--tls-cert", str(files[0]), "--tls-key", str(files[1])]
    found = ottla_here(*arguments, "--host", "0.0.0.0", *given)
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith(b"ottla console: https://")
