"""Requests for tokens with assertions, compared with those of Kafka's own client (KIP-1139, 1258).

Both get the same configuration and ask the same endpoint, which verifies the signatures.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

import ottla
from ottla.testing import MockCluster
from tests.security.token_server import TokenServer
from tests.support.jars import java_source

pytestmark = pytest.mark.deep

BEARER = "sasl.oauthbearer."
KAFKA = "org.apache.kafka.common.security.oauthbearer."
# A token of three parts: Kafka's client parses what it gets.
TOKEN = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzZXJ2aWNlIn0.c2ln"
# What differs from one assertion to the next, and by the second.
_CHANGING = ("iat", "nbf", "exp", "jti")
_HEADERS = ("content-type", "accept", "authorization")

KEYS: dict[str, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey] = {
    "RS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
}
PARTIES = {"claim.iss": "billing", "claim.sub": "account@example.com"}
TEMPLATE = {
    "header": {"kid": "one", "x": {"deep": [1, None]}},
    "payload": {"sub": "template", "groups": ["a", "ä"], "level": 7, "exp": 0},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with MockCluster(brokers=1, users={"service": TOKEN}) as cluster:
        yield cluster


@pytest.fixture
def server() -> Iterator[TokenServer]:
    with TokenServer(token=TOKEN) as server:
        yield server


def java_token(
    retriever: str, config: dict[str, str], directory: Path, files: Sequence[str] = ()
) -> str:
    """The token that Kafka's client gets; it may read the files of assertions, and these."""
    file = directory / "client.properties"
    escaped = {name: value.replace("\\", "\\\\") for name, value in config.items()}
    file.write_text("".join(f"{name}={value}\n" for name, value in escaped.items()))
    [java, *options] = java_source("RetrieveToken.java")
    url = config[f"{BEARER}token.endpoint.url"]
    files = [*files, *(value for name, value in config.items() if name.endswith(".file"))]
    allowed = [
        f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={url}",
        f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.files={','.join(files)}",
    ]
    done = subprocess.run(
        [java, *allowed, *options, f"{KAFKA}{retriever}", str(file)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def ottla_connects(cluster: MockCluster, retriever: str, config: dict[str, str]) -> None:
    """Let ottla get a token and authenticate with it."""
    with ottla.Client(
        {
            "bootstrap.servers": cluster.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            f"{BEARER}token.endpoint.allow.http": True,
            f"{BEARER}jwt.retriever.class": f"{KAFKA}{retriever}",
            **config,
        },
        timeout=30,
    ) as client:
        assert client.cluster().brokers


def steady(claims: dict[str, Any]) -> dict[str, Any]:
    """The claims without what changes, but with how the times differ from each other."""
    kept = {name: value for name, value in claims.items() if name not in _CHANGING}
    # Java's is a UUID in base64, ottla's one in hexadecimal digits: endpoints only compare it.
    has_jti = bool(claims.get("jti"))
    times = [claims["exp"] - claims["iat"], claims["iat"] - claims["nbf"]]
    kinds = sorted((name, type(claims[name]).__name__) for name in _CHANGING if name in claims)
    return {**kept, "times": times, "jti": has_jti, "kinds": kinds}


@pytest.mark.parametrize("retriever", ["JwtBearerJwtRetriever", "ClientCredentialsJwtRetriever"])
@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
@pytest.mark.parametrize("kind", ["plain", "all", "template"])
def test_both_send_the_same(
    cluster: MockCluster,
    server: TokenServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    retriever: str,
    algorithm: str,
    kind: str,
) -> None:
    key, template = tmp_path / "key.pem", tmp_path / "template.json"
    private = KEYS[algorithm]
    key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    template.write_text(json.dumps(TEMPLATE))
    server.client_key = private.public_key()
    assertion = {
        "private.key.file": str(key),
        "algorithm": algorithm,
        "claim.aud": server.token_url,
        **PARTIES,
    }
    config = {f"{BEARER}token.endpoint.url": server.token_url}
    if kind == "all":
        assertion |= {"claim.jti.include": "true", "claim.exp.seconds": "120"}
        assertion |= {"claim.nbf.seconds": "30"}
        config |= {f"{BEARER}scope": "kafka brokers"}
        config |= {f"{BEARER}client.credentials.client.id": "billing app"}
    if kind == "template":
        assertion |= {"template.file": str(template)}
    config |= {f"{BEARER}assertion.{name}": value for name, value in assertion.items()}
    monkeypatch.setenv("OTTLA_ASSERTION_FILES", f"{key},{template}")
    assert java_token(retriever, config, tmp_path) == TOKEN
    ottla_connects(cluster, retriever, config)
    (their_header, their_claims), (our_header, our_claims) = server.assertions
    assert our_header == their_header
    assert steady(our_claims) == steady(their_claims)
    theirs, ours = server.forms
    for form in (theirs, ours):
        # Compared above.
        form.pop("assertion", None)
        form.pop("client_assertion", None)
    assert ours == theirs
    of_theirs, of_ours = (
        {name: headers.get(name) for name in _HEADERS} for headers in server.http_headers
    )
    assert of_ours == of_theirs


@pytest.mark.parametrize("retriever", ["JwtBearerJwtRetriever", "ClientCredentialsJwtRetriever"])
def test_an_assertion_in_a_file_is_sent_as_it_is(
    cluster: MockCluster,
    server: TokenServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    retriever: str,
) -> None:
    # The endpoint's own key signs it here.
    server.client_key = server.key.public_key()
    file = tmp_path / "assertion.jwt"
    issued = server.issue("billing", audience=server.token_url, nbf=0)
    file.write_text(f"{issued}\n")
    config = {
        f"{BEARER}token.endpoint.url": server.token_url,
        f"{BEARER}assertion.file": str(file),
        f"{BEARER}client.credentials.client.id": "billing",
    }
    monkeypatch.setenv("OTTLA_ASSERTION_FILES", str(file))
    assert java_token(retriever, config, tmp_path) == TOKEN
    ottla_connects(cluster, retriever, config)
    theirs, ours = server.forms
    assert ours == theirs
    assert issued in ours.values()


def test_a_token_in_a_file_is_read_alike(
    cluster: MockCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka's ``FileJwtRetriever`` is ottla's provider ``kubernetes?file=…``."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    url = {f"{BEARER}token.endpoint.url": file.as_uri()}
    assert java_token("FileJwtRetriever", url, tmp_path, files=[str(file)]) == TOKEN
    provider = f"kubernetes?file={file}"
    monkeypatch.setenv("OTTLA_TOKEN_PROVIDERS", provider)
    config = {
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
    }
    with ottla.Client({**config, f"{BEARER}token.provider": provider}, timeout=30) as client:
        assert client.cluster().brokers
