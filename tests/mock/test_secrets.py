"""No secret of a configuration is shown: in errors, logs, reprs, notebooks, reports and pages."""

from __future__ import annotations

import base64
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla._core import config_rows, other_client_config_rows, registry_config_rows
from ottla.console import serve
from ottla.schema import Registry
from ottla.testing import MockCluster
from tests.security.certificates import Authority
from tests.support.command import ottla_here
from tests.support.console import request

SECRET = "hunter2hunter2hunter2hunter2"
USER = "ann"
# One line, as a variable of the environment contains it.
KEY = rf"-----BEGIN PRIVATE KEY-----\n{SECRET}\n{SECRET}!\n-----END PRIVATE KEY-----"
ROWS = [name for name, kind, *_ in config_rows() if kind == "password"]
ALIASES = [name for name, _, row, _ in other_client_config_rows() if row in ROWS]
REGISTRY_ROWS = [name for name, kind, *_ in registry_config_rows() if kind == "password"]
JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required "{SECRET}'

PROTOCOLS = [
    ("PLAINTEXT", "PLAIN"),
    ("SSL", "PLAIN"),
    ("SASL_PLAINTEXT", "PLAIN"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-512"),
    ("SASL_PLAINTEXT", "OAUTHBEARER"),
    ("SASL_PLAINTEXT", "GSSAPI"),
    ("SASL_SSL", "NONE"),
]


def is_shown(text: str) -> bool:
    """Whether a text contains the secret, as it is, as base64 or as the numbers of its bytes."""
    numbers = ", ".join(str(byte) for byte in SECRET[:8].encode())
    encoded = base64.b64encode(f"{USER}:{SECRET}".encode()).decode()
    return "hunter2" in text or encoded in text or numbers in text


def everything_of(error: BaseException) -> str:
    """Return all texts that a program or a notebook may show of an exception."""
    attempts = [str(attempt) for attempt in getattr(error, "attempts", [])]
    context = getattr(error, "context", None)
    shown = traceback.format_exception(error)
    # The lines of this file's source are not what ottla shows.
    shown = [line for line in shown if not line.lstrip().startswith("File ")]
    return f"{error!r} {error} {error.args} {context} {attempts} {shown}"


def check_refused(create: Callable[[], object]) -> None:
    """Check what an attempt shows that may fail."""
    shown = ""
    try:
        create()
    except (errors.KafkaError, TypeError) as error:
        shown = everything_of(error)
    assert not is_shown(shown), shown


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Check the whole log of each test."""
    caplog.set_level(logging.DEBUG)
    yield
    assert not is_shown(caplog.text), caplog.text


@pytest.mark.parametrize("name", [*ROWS, *ALIASES])
def test_no_failure_shows_a_value_of_a_key(name: str) -> None:
    values: list[Any] = [SECRET, KEY, JAAS, [SECRET], (SECRET, KEY), {SECRET: 1}, SECRET.encode()]
    for value in values:
        for protocol, mechanism in PROTOCOLS:
            config: dict[str, Any] = {
                "bootstrap.servers": "127.0.0.1:9",
                "security.protocol": protocol,
                "sasl.mechanism": mechanism,
                name: value,
            }
            check_refused(partial(ottla.Client, config, connect=False))
    # Two names of one row, and a key that is almost one.
    for other in (*ROWS, *ALIASES):
        check_refused(partial(ottla.Client, {name: SECRET, other: f"{SECRET}2"}))
    check_refused(lambda: ottla.Client({f"{name}x": SECRET}))


@pytest.mark.parametrize("name", REGISTRY_ROWS)
@pytest.mark.parametrize("value", [SECRET, f"{USER}:{SECRET}", [SECRET], f"{SECRET}\n{SECRET}"])
def test_no_failure_shows_a_value_of_a_registrys_key(name: str, value: object) -> None:
    for url in ("http://127.0.0.1:9", f"http://{USER}:{SECRET}@127.0.0.1:9"):

        def use(url: str = url) -> None:
            with Registry(
                {"schema.registry.url": url, name: value},
                schema_registry_default_api_timeout_ms=500,
            ) as registry:
                assert not is_shown(repr(registry))
                registry.subjects()

        check_refused(use)


ADDRESSES = [
    f"{USER}:{SECRET}@127.0.0.1:9",
    f"SASL_SSL://{USER}:{SECRET}@127.0.0.1:9",
    f"127.0.0.1:9,{USER}:{SECRET},{SECRET}@127.0.0.1:9",
    f"127.0.0.1:9?sasl.password={SECRET}",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_credentials_in_an_address_are_refused(address: str, tmp_path: Path) -> None:
    for create in (
        lambda: ottla.Client(address),
        lambda: ottla.Client({"metadata.broker.list": address}),
        lambda: ottla.Producer(bootstrap_servers=address.split(",")),
        lambda: ottla.Consumer(address, group_id="g"),
        lambda: ottla.AsyncClient(address),
        lambda: ottla.Admin(address),
        lambda: ottla.diagnose(address),
        lambda: ottla.scan("orders", address),
    ):
        with pytest.raises(errors.ConfigError) as raised:
            create()
        assert not is_shown(everything_of(raised.value))
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={address}\n")
    for arguments in (
        ["topics", "list", address],
        ["topics", "list", "-b", address],
        ["doctor", "--json", address],
        ["consume", "-t", "orders", "-X", f"bootstrap.servers={address}"],
        ["groups", "list", "--config", str(file)],
    ):
        done = ottla_here(*arguments)
        assert done.code != 0
        assert not is_shown(done.text + done.err), done.err


def test_profiles_are_listed_without_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "profiles.ini"
    file.write_text(f"[prod]\nbootstrap.servers={ADDRESSES[0]}\nsasl.password={SECRET}\n")
    monkeypatch.setenv("OTTLA_PROFILES", str(file))
    for arguments in (["profiles"], ["profiles", "--json"], ["--profile", "prod", "doctor"]):
        done = ottla_here(*arguments)
        assert not is_shown(done.text + done.err), done.text
        assert "prod" in done.text or done.code != 0


def test_a_key_file_that_becomes_unusable_is_not_in_the_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mock_cluster: MockCluster
) -> None:
    file = tmp_path / "ca.pem"
    file.write_text(Authority("an authority").certificate)
    config = {"security.protocol": "SSL", "ssl.truststore.location": str(file)}
    with ottla.Client(mock_cluster.bootstrap, config, connect=False) as client:
        file.write_text(KEY.replace("PRIVATE KEY", "CERTIFICATE"))
        with pytest.raises(errors.KafkaError):
            client.cluster(timeout=1)
    assert "the files have changed and cannot be used" in caplog.text
    assert "the block CERTIFICATE" in caplog.text


@pytest.fixture
def secured() -> Iterator[MockCluster]:
    """A cluster that requires a password, with a topic."""
    with MockCluster(brokers=1, users={USER: SECRET}) as cluster:
        cluster.create_topic("orders", 1)
        yield cluster


@pytest.mark.parametrize("password", [SECRET, f"{SECRET}-wrong"])
def test_nothing_about_a_client_shows_its_password(secured: MockCluster, password: str) -> None:
    config = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="{USER}" password="{password}";',
        "default.api.timeout.ms": "5000",
    }
    with ottla.Client(secured.bootstrap, config, connect=False) as client:
        check_refused(client.cluster)
        things = [client, client.connections(), client.metrics(), client.request_statistics()]
        for thing in things:
            shown = getattr(thing, "_repr_html_", str)()
            assert not is_shown(f"{thing!r} {thing} {shown}")
        with serve(client, port=0) as console:
            for path in ("/", "/api/cluster", "/api/connections", "/api/topics", "/api/doctor"):
                response = request(console, path)
                assert not is_shown(response.body.decode() + str(response.headers)), path
            assert not is_shown(repr(console))
    report = ottla.diagnose(secured.bootstrap, config=config)
    text = f"{report!r} {report} {json.dumps(report.to_dict())} {report.to_html()}"
    assert not is_shown(text + report._repr_html_())
    assert report.ok is (password == SECRET)
    keys = [f"--set={name}={value}" for name, value in config.items()]
    for arguments in (["topics", "list"], ["doctor"], ["doctor", "--json"]):
        done = ottla_here(*arguments, secured.bootstrap, *keys)
        assert not is_shown(done.text + done.err), arguments
