"""Identities by name in a configuration: what they send where, and what needs permission."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ottla
from ottla import errors, identities
from ottla._internal.identities import kubernetes
from ottla.compat.aiokafka import AIOKafkaConsumer
from ottla.compat.confluent_kafka.admin import AdminClient
from ottla.compat.kafka import KafkaAdminClient
from ottla.compat.kafka.errors import KafkaConfigurationError
from ottla.testing import MockCluster
from tests.support.command import ottla_here
from tests.support.identity_endpoints import (
    Answer,
    Seen,
    identity_endpoint,
    service_account_token,
)
from tests.support.scripted_servers import scripted_server, wait_for_end
from tests.support.subprocesses import run_python

PROVIDER = "sasl.oauthbearer.token.provider"
VARIABLE = "OTTLA_TOKEN_PROVIDERS"
_CLOUDS = ("AWS_", "AZURE_", "GOOGLE_", "GCE_", "IDENTITY_", "IMDS_", "CLOUDSDK_", VARIABLE)


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No identity of the machine that runs the tests."""
    for name in list(os.environ):
        if name.startswith(_CLOUDS):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


def named(provider: str) -> dict[str, str]:
    return {
        "bootstrap.servers": "127.0.0.1:9",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        PROVIDER: provider,
    }


# Kubernetes


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that a pod has for Kafka."""
    file = tmp_path / "token"
    monkeypatch.setattr(kubernetes, "TOKEN_FILE", str(file))
    return file


@pytest.fixture
def trusting(mounted: Path, tmp_path: Path) -> Iterator[MockCluster]:
    """A cluster that accepts the token in the file."""
    token = service_account_token("billing")
    # As the kubelet writes it: behind a link.
    (tmp_path / "data").write_text(f"{token}\n")
    mounted.symlink_to(tmp_path / "data")
    with MockCluster(brokers=1, users={"ann": token}) as cluster:
        cluster.create_topic("orders", 1)
        yield cluster


def test_a_projected_token_works_in_every_route(
    trusting: MockCluster, mounted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = trusting
    config = named("kubernetes") | {"bootstrap.servers": cluster.bootstrap}
    with ottla.Client(cluster.bootstrap, config) as client:
        assert len(client.cluster().brokers) == 1
        assert mounted.read_text().strip() not in repr(client)

    async def connect() -> None:
        async with ottla.AsyncClient(cluster.bootstrap, config):
            pass

    asyncio.run(connect())
    assert ottla.diagnose(cluster.bootstrap, config).ok
    assert list(ottla.scan("orders", cluster.bootstrap, config=config)) == []
    text = "".join(f"{key}={value}\n" for key, value in config.items())
    (tmp_path / "client.properties").write_text(text)
    (tmp_path / "profiles.ini").write_text(f"[pod]\n{text}")
    monkeypatch.setenv("OTTLA_PROFILES", str(tmp_path / "profiles.ini"))
    done = ottla_here("topics", "list", "--profile", "pod", "--json")
    assert done.code == 0, done.err
    assert "orders" in done.text
    admin = AdminClient(config)
    assert list(admin.list_topics(timeout=10).topics) == ["orders"]
    with ottla.Client(
        cluster.bootstrap,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauth_token=identities.KubernetesServiceAccount(mounted),
    ):
        pass


def test_a_name_works_in_the_layers_of_other_clients(trusting: MockCluster) -> None:
    by_name: dict[str, Any] = {
        "bootstrap_servers": trusting.bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": "kubernetes",
    }
    admin = KafkaAdminClient(**by_name)
    assert admin.list_topics() == ["orders"]
    admin.close()

    async def topics() -> set[str]:
        consumer = AIOKafkaConsumer(**by_name)
        await consumer.start()
        try:
            return await consumer.topics()
        finally:
            await consumer.stop()

    assert asyncio.run(topics()) == {"orders"}
    with pytest.raises(KafkaConfigurationError, match=r"sasl\.oauthbearer\.token\.provider"):
        KafkaAdminClient(**by_name | {"sasl_oauth_token_provider": "no-such-provider"})


def test_the_file_is_read_again_when_the_token_is_renewed(mounted: Path) -> None:
    source = identities.KubernetesServiceAccount(mounted)
    for subject in ("before", "after"):
        token = service_account_token(subject)
        mounted.write_text(token)
        value, expires = source()
        assert value == token
        assert expires == pytest.approx(time.time() + 600, abs=10)


def test_a_child_of_fork_gets_a_token(mounted: Path) -> None:
    mounted.write_text(service_account_token("billing"))
    run_python(
        "import os\n"
        "from ottla.identities import KubernetesServiceAccount\n"
        f"source = KubernetesServiceAccount({str(mounted)!r})\n"
        "source()\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(0 if source()[0] else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory; mount a projected"),
        ("", "is empty"),
        ("hunter2-hunter2", "does not contain a JSON Web Token"),
        ("h.hunter2.s", "does not contain a JSON Web Token"),
        ("x" * 70_000, "more than 65536 bytes"),
    ],
)
def test_a_file_without_a_token_is_an_error(
    mounted: Path, content: str | None, message: str
) -> None:
    if content is not None:
        mounted.write_text(content)
    with pytest.raises(errors.AuthenticationError, match=message) as raised:
        identities.KubernetesServiceAccount(mounted)()
    assert str(raised.value).startswith("kubernetes: ")
    assert "hunter2" not in str(raised.value)


def test_an_expired_token_and_a_pipe_are_errors(mounted: Path, tmp_path: Path) -> None:
    mounted.write_text(service_account_token("billing", -7200))
    with pytest.raises(errors.AuthenticationError, match="expired 2 h 0 min ago: check that"):
        identities.KubernetesServiceAccount(mounted)()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(errors.AuthenticationError, match="is not a regular file"):
        identities.KubernetesServiceAccount(tmp_path / "pipe")()


# Permission


def test_a_configuration_alone_sends_no_file_and_no_broad_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mock_cluster: MockCluster
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(service_account_token("the API server's"))
    file = f"kubernetes?file={secret}"
    restricted = [
        file,
        "kubernetes?file=/var/run/secrets/kafka/../kubernetes.io/serviceaccount/token",
        "gcp-managed-kafka",
        "entra-id?audience=https://management.azure.com",
    ]
    for name in restricted:
        with pytest.raises(errors.ConfigError, match=rf"needs permission.*{VARIABLE}"):
            ottla.Client(mock_cluster.bootstrap, named(name))
    # Without the arguments, the name allows other arguments no more than other code.
    monkeypatch.setenv(VARIABLE, "kubernetes, gcp-managed-kafka?source=adc")
    for name in restricted[:3]:
        with pytest.raises(errors.ConfigError, match="needs permission"):
            ottla.Client(mock_cluster.bootstrap, named(name))
    monkeypatch.setenv(VARIABLE, ", ".join(restricted))
    for name in restricted:
        ottla.check_config(named(name))


def test_the_application_may_register_an_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ottla._internal.token_providers._registered", {})
    ottla.register_token_provider(identities.GcpManagedKafka(), name="gcp-managed-kafka")
    ottla.check_config(named("gcp-managed-kafka"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("kubernetes?hunter2", r"kubernetes: expected arguments as in kubernetes\?file=…"),
        ("kubernetes?file=", "each once and with a value"),
        ("azure-event-hubs", r"the argument namespace is missing: azure-event-hubs\?namespace=…"),
        ("azure-event-hubs?namespace=a.example.com/", "expected the first part of the host name"),
        ("azure-event-hubs?namespace=orders&namespace=others", "each once"),
        ("azure-event-hubs?namespace=orders&client_secret=hunter2", "it has namespace, tenant"),
        ("azure-event-hubs?namespace=orders&tenant=evil.com/hunter2", "tenant: expected the id"),
        ("azure-event-hubs?namespace=orders&source=hunter2", "expected one of client-secret"),
        ("azure-event-hubs?namespace=orders&cloud=hunter2", "expected one of public"),
        ("gcp-managed-kafka?source=hunter2", "expected one of metadata, adc"),
        ("aws-msk-iam?region=evil.com/hunter2", "region: expected one such as eu-central-1"),
        ("aws-msk-iam?role=hunter2", "role: expected arn:aws:iam::123456789012:role/NAME"),
        ("hunter2", "package.module:function, or one of aws-msk-iam, azure-event-hubs"),
    ],
)
def test_malformed_names_are_errors_that_show_no_value(name: str, message: str) -> None:
    with pytest.raises(errors.ConfigError, match=message) as raised:
        ottla.check_config(named(name))
    assert "hunter2" not in str(raised.value)
    assert str(raised.value).startswith(PROVIDER)


def test_identities_are_loaded_by_their_names_alone() -> None:
    run_python(
        "import sys, ottla, ottla.cli, ottla._internal.token_providers as providers\n"
        "ottla.Client\n"
        "loaded = {m for m in sys.modules if 'identities' in m or m.startswith('urllib.request')}\n"
        "assert not loaded, loaded\n"
        "import ottla.identities\n"
        "assert not {'botocore', 'google.auth', 'azure', 'requests'} & sys.modules.keys()\n"
    )


def test_a_missing_sdk_is_an_error_before_connecting() -> None:
    run_python(
        "import sys\n"
        "for name in ('botocore', 'google.auth'): sys.modules[name] = None\n"
        "import ottla\n"
        f"config = {named('aws-msk-iam')!r}\n"
        "for name, extra in (('aws-msk-iam', 'aws'), ('gcp-managed-kafka?source=adc', 'gcp')):\n"
        f"    config[{PROVIDER!r}] = name\n"
        "    try:\n"
        "        ottla.Client('127.0.0.1:9', config)\n"
        "    except ottla.errors.ConfigError as error:\n"
        "        assert f\"pip install 'ottla[{extra}]'\" in str(error), error\n"
        "    else:\n"
        "        raise SystemExit('no error')\n"
    )


# Metadata servers


def envelope(token: str) -> list[Any]:
    parts = [base64.urlsafe_b64decode(part + "==") for part in token.split(".")]
    return [json.loads(parts[0]), json.loads(parts[1]), parts[2].decode()]


def metadata_server(seen: Seen) -> Answer:
    assert seen.headers["metadata-flavor"] == "Google"
    if seen.path.endswith("/email"):
        return 200, "billing@shop.iam.gserviceaccount.com\n"
    assert seen.path == "/computeMetadata/v1/instance/service-accounts/default/token"
    assert seen.query == {"scopes": "https://www.googleapis.com/auth/cloud-platform"}
    return 200, {"access_token": "ya29.hunter2", "expires_in": 3599, "token_type": "Bearer"}


def test_google_clouds_metadata_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with identity_endpoint(metadata_server) as endpoint:
        monkeypatch.setenv("GCE_METADATA_HOST", endpoint.url.removeprefix("http://"))
        # Not asked: a metadata server is one hop away, and a proxy would learn the token.
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        token, expires = identities.GcpManagedKafka()()
        assert expires == pytest.approx(time.time() + 3599, abs=30)
        header, claims, access_token = envelope(token)
        assert header == {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}
        assert access_token == "ya29.hunter2"
        assert claims.pop("exp") == expires
        assert claims.pop("iat") == pytest.approx(time.time(), abs=30)
        subject = "billing@shop.iam.gserviceaccount.com"
        assert claims == {"iss": "Google", "scope": "kafka", "sub": subject}
        monkeypatch.setenv("GOOGLE_MANAGED_KAFKA_AUTH_PRINCIPAL", "ann@example.com")
        assert envelope(identities.GcpManagedKafka()()[0])[1]["sub"] == "ann@example.com"


def test_an_endpoint_that_is_busy_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    responses = iter([(503, "busy"), (429, "busy")])

    def respond(seen: Seen) -> Answer:
        return next(responses, None) or metadata_server(seen)

    with identity_endpoint(respond) as endpoint:
        monkeypatch.setenv("GCE_METADATA_HOST", endpoint.url.removeprefix("http://"))
        assert identities.GcpManagedKafka(principal="ann@example.com")()[0]
        assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((403, {"error": "forbidden", "error_description": "no\x1b[2J"}), r"403: forbidden: no\\"),
        ((403, ["hunter2"]), "responded with status 403$"),
        ((200, "<html>hunter2"), "something else than a JSON object"),
        ((200, {"access_token": "hunter2"}), "without access_token and expires_in"),
        ((302, "", {"Location": "http://evil.example.com/"}), "responded with status 302$"),
        ((200, "x" * 2_000_000), "sent more than 1048576 bytes"),
    ],
)
def test_an_endpoint_that_fails_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, message: str
) -> None:
    with identity_endpoint(lambda _: answer) as endpoint:
        monkeypatch.setenv("GCE_METADATA_HOST", endpoint.url.removeprefix("http://"))
        with pytest.raises(errors.AuthenticationError, match=message) as raised:
            identities.GcpManagedKafka()()
        assert "the metadata server of Google Cloud (http://127.0.0.1:" in str(raised.value)
        assert "hunter2" not in str(raised.value)
        assert "\x1b" not in str(raised.value)


def test_an_endpoint_that_does_not_respond_ends_with_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ottla._internal.identities.http_exchange.WAIT", 0.2)
    with scripted_server(wait_for_end) as port:
        monkeypatch.setenv("GCE_METADATA_HOST", f"127.0.0.1:{port}")
        with pytest.raises(errors.AuthenticationError, match="does not respond: timed out"):
            identities.GcpManagedKafka()()
        # However long a source's own waits are.
        monkeypatch.setattr("ottla._internal.identities.http_exchange.WAIT", 5)
        monkeypatch.setattr("ottla._internal.identities.identity.DEADLINE", 0.2)
        with pytest.raises(errors.AuthenticationError, match="no token within 0 s"):
            identities.GcpManagedKafka()()


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"])
def test_a_response_that_arrives_byte_by_byte_ends_with_its_time(
    monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    ended = threading.Event()

    def drip(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(start)
        try:
            while not ended.wait(0.05):
                connection.sendall(b"x")
        except OSError:
            ended.set()

    monkeypatch.setattr("ottla._internal.identities.http_exchange.WAIT", 0.3)
    with scripted_server(drip) as port:
        monkeypatch.setenv("GCE_METADATA_HOST", f"127.0.0.1:{port}")
        monkeypatch.setattr("ottla._internal.identities.identity.DEADLINE", 3)
        with pytest.raises(errors.AuthenticationError, match="does not respond: timed out"):
            identities.GcpManagedKafka()()
        # The connection, too, so that no thread is left.
        assert ended.wait(10)


@pytest.mark.parametrize(
    ("variable", "value", "source"),
    [
        ("IDENTITY_HEADER", "hunter2\n", "managed-identity"),
        ("https_proxy", "user:hunter2", "client-secret"),
        ("https_proxy", "http:/user:hunter2@proxy:80", "client-secret"),
    ],
)
def test_a_malformed_variable_is_an_error_that_does_not_show_it(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, source: str
) -> None:
    for name in ("TENANT_ID", "CLIENT_ID", "CLIENT_SECRET"):
        monkeypatch.setenv(f"AZURE_{name}", "x")
    monkeypatch.setenv("IDENTITY_ENDPOINT", "http://127.0.0.1:9/token")
    monkeypatch.setenv(variable, value)
    with pytest.raises(errors.AuthenticationError, match="malformed") as raised:
        identities.AzureEventHubs("orders", source=source)()
    assert "hunter2" not in str(raised.value)


def test_the_doctor_names_the_identity_and_the_step_that_failed(
    mounted: Path, mock_cluster: MockCluster
) -> None:
    token = service_account_token("system:serviceaccount:shop:billing")
    with MockCluster(brokers=1, users={"ann": "another"}) as cluster:
        report = ottla.diagnose(cluster.bootstrap, named("kubernetes"))
        [finding] = report.findings
        assert finding.code == "no_token"
        assert "kubernetes: the token file" in finding.summary
        assert "cannot be read" in finding.summary
        assert "sasl.oauthbearer.token.endpoint.url" not in finding.fix
        mounted.write_text(token)
        report = ottla.diagnose({**named("kubernetes"), "bootstrap.servers": cluster.bootstrap})
        [finding] = report.findings
        assert finding.code == "credentials"
        assert "system:serviceaccount:shop:billing for kafka, from " in finding.summary
        assert token not in str(report)


@pytest.mark.parametrize(
    ("name", "hosts", "region"),
    [
        ("aws-msk-iam", ["b-1.demo.x1.c2.kafka.us-east-1.amazonaws.com:9098"], "us-east-1"),
        ("aws-msk-iam", ["boot-x1.c2.kafka-serverless.eu-west-1.amazonaws.com:9098"], "eu-west-1"),
        ("aws-msk-iam", ["b-1.demo.x1.c2.kafka.cn-north-1.amazonaws.com.cn:9098"], "cn-north-1"),
        ("aws-msk-iam?region=us-west-2", ["b.x.kafka.us-east-1.amazonaws.com:1"], "us-west-2"),
        ("aws-msk-iam", ["b.kafka.us-east-1.amazonaws.com.evil.com:1"], None),
        ("aws-msk-iam", ["kafka1:9098"], None),
        (
            "aws-msk-iam",
            ["b.kafka.us-east-1.amazonaws.com:1", "b.kafka.us-east-2.amazonaws.com:1"],
            None,
        ),
    ],
)
def test_the_region_is_that_of_the_brokers(
    name: str, hosts: list[str], region: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ottla._internal.identities import names

    given: dict[str, str] = {}
    _, required, optional = names._NAMED["aws-msk-iam"]

    def create(**arguments: str) -> identities.KubernetesServiceAccount:
        given.update(arguments)
        return identities.KubernetesServiceAccount()

    patched = {**names._NAMED, "aws-msk-iam": (create, required, optional)}
    monkeypatch.setattr(names, "_NAMED", patched)
    ottla.Client(named(name) | {"bootstrap.servers": ",".join(hosts)}, connect=False).close()
    assert given.get("region") == region


def test_the_namespace_is_that_of_the_address() -> None:
    found = {"bootstrap.servers": "orders.servicebus.windows.net:9093"}
    ottla.Client(named("azure-event-hubs") | found, connect=False).close()
    with pytest.raises(errors.ConfigError, match=r"the argument namespace is missing"):
        ottla.Client(named("azure-event-hubs"), connect=False)


def test_librdkafkas_key_for_azure_names_the_identities() -> None:
    key = "sasl.oauthbearer.metadata.authentication.type"
    with pytest.raises(errors.ConfigError, match=r"token.provider=azure-event-hubs.*entra-id"):
        ottla.Client({"bootstrap.servers": "kafka:1", key: "azure_imds"}, connect=False)
