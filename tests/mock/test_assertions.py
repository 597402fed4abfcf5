"""Tokens for assertions (KIP-1139, KIP-1258) from an endpoint that verifies their signatures."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

import ottla
from ottla import errors
from ottla.compat.confluent_kafka.admin import AdminClient
from ottla.testing import MockCluster
from tests.security.token_server import CLIENT_ASSERTION, JWT_BEARER, TokenServer, encode

PASSWORD = "correct horse"
TOKEN = "head.body.sign"
FILES = "OTTLA_ASSERTION_FILES"
BEARER = "sasl.oauthbearer."
KAFKA = "org.apache.kafka.common.security.oauthbearer."
PEM, PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
PLAIN = serialization.NoEncryption()
# PKCS#8 around a number of 32 bytes: id-ecPublicKey, prime256v1, no public key.
_BARE_P256 = ("3041020100", "301306072a8648ce3d020106082a8648ce3d030107", "042730250201010420")
Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@pytest.fixture(scope="module")
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    with MockCluster(brokers=2, users={"service": TOKEN}) as cluster:
        cluster.create_topic("orders", 2)
        yield cluster


@pytest.fixture
def server(rsa_key: rsa.RSAPrivateKey) -> Iterator[TokenServer]:
    with TokenServer(token=TOKEN) as server:
        server.client_key = rsa_key.public_key()
        yield server


def pem(key: Key, encryption: serialization.KeySerializationEncryption = PLAIN) -> str:
    return key.private_bytes(PEM, PKCS8, encryption).decode()


def configured(cluster: MockCluster, server: TokenServer, **more: object) -> dict[str, Any]:
    """The configuration for jwt-bearer; names after `sasl.oauthbearer.` with underscores."""
    return {
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        f"{BEARER}token.endpoint.url": server.token_url,
        f"{BEARER}token.endpoint.allow.http": True,
        f"{BEARER}jwt.retriever.class": f"{KAFKA}JwtBearerJwtRetriever",
        f"{BEARER}assertion.claim.iss": "billing",
        f"{BEARER}assertion.claim.sub": "account@example.com",
        f"{BEARER}assertion.claim.aud": server.token_url,
        **named(more),
    }


def named(more: dict[str, object]) -> dict[str, Any]:
    return {
        BEARER + name.replace("_", "."): str(value) if isinstance(value, Path) else value
        for name, value in more.items()
    }


def connect(config: dict[str, Any], timeout: float = 30) -> None:
    with ottla.Client(config, timeout=timeout) as client:
        assert client.cluster().brokers


def refused(config: dict[str, Any], error: type[errors.KafkaError], *parts: str) -> str:
    with pytest.raises(error) as raised:
        connect(config, timeout=10)
    message = f"{raised.value} {raised.value!r}"
    for part in parts:
        assert part in message
    assert PASSWORD not in message
    assert "PRIVATE KEY" not in message.replace("-----BEGIN PRIVATE", "")
    return message


@pytest.fixture
def key_file(tmp_path: Path, rsa_key: rsa.RSAPrivateKey, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The client's key, which the process may use."""
    file = tmp_path / "key.pem"
    file.write_text(pem(rsa_key))
    monkeypatch.setenv(FILES, f"/nowhere, {file}")
    return file


def test_jwt_bearer_with_a_key_in_a_file(
    cluster: MockCluster, server: TokenServer, key_file: Path
) -> None:
    config = configured(
        cluster, server, assertion_private_key_file=key_file, scope=" kafka ",
        assertion_claim_jti_include=True, assertion_claim_exp_seconds=120,
    )  # fmt: skip
    before = int(time.time())
    connect(config)
    connect(config)
    [form, _] = server.forms
    assert (form["grant_type"], form["scope"]) == (JWT_BEARER, "kafka")
    assert set(form) == {"grant_type", "assertion", "scope"}
    [(header, claims), (_, second)] = server.assertions
    assert header == {"alg": "RS256", "typ": "JWT"}
    assert (claims["iss"], claims["sub"]) == ("billing", "account@example.com")
    assert before <= claims["iat"] <= time.time()
    assert claims["exp"] - claims["iat"] == 120
    assert claims["iat"] - claims["nbf"] == 60
    assert claims["jti"] != second["jti"]


def test_a_client_assertion_replaces_the_secret(
    cluster: MockCluster, server: TokenServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signed with ES256 by an encrypted key; the template's claims go over those of the keys."""
    key = ec.generate_private_key(ec.SECP256R1())
    server.client_key = key.public_key()
    encrypted = serialization.BestAvailableEncryption(PASSWORD.encode())
    file, template = tmp_path / "key.pem", tmp_path / "template.json"
    file.write_text(pem(key, encrypted))
    header = {"kid": "one", "alg": "none"}
    payload = {"sub": "billing", "exp": 0, "groups": ["a", "b"]}
    template.write_text(json.dumps({"header": header, "payload": payload}))
    monkeypatch.setenv(FILES, f"{file},{template}")
    config = configured(
        cluster, server, jwt_retriever_class=f"{KAFKA}DefaultJwtRetriever",
        assertion_private_key_file=file, assertion_private_key_passphrase=PASSWORD,
        assertion_algorithm="es256", assertion_template_file=template,
        client_credentials_client_id="billing app", client_credentials_client_secret="unused",
    )  # fmt: skip
    connect(config)
    [form] = server.forms
    assert form["grant_type"] == "client_credentials"
    assert form["client_id"] == "billing app"
    assert form["client_assertion_type"] == CLIENT_ASSERTION
    assert "assertion" not in form
    [(header, claims)] = server.assertions
    assert header == {"alg": "ES256", "typ": "JWT", "kid": "one"}
    assert (claims["sub"], claims["groups"]) == ("billing", ["a", "b"])
    assert claims["exp"] > time.time()


def test_librdkafkas_names_and_a_key_in_the_old_form(
    cluster: MockCluster, server: TokenServer
) -> None:
    """SEC1 and PKCS#1 are accepted as for TLS."""
    old = serialization.PrivateFormat.TraditionalOpenSSL
    for algorithm, key in (
        ("ES256", ec.generate_private_key(ec.SECP256R1())),
        ("RS256", rsa.generate_private_key(public_exponent=65537, key_size=2048)),
    ):
        server.client_key = key.public_key()
        text = key.private_bytes(PEM, old, PLAIN).decode()
        config = configured(
            cluster, server, method="oidc", grant_type=JWT_BEARER,
            assertion_private_key_pem=text, assertion_algorithm=algorithm,
        )  # fmt: skip
        del config[f"{BEARER}jwt.retriever.class"]
        connect(config)
        # Of ottla alone, for a stand-in.
        del config[f"{BEARER}token.endpoint.allow.http"]
        config["sasl.oauthbearer.token.endpoint.url"] = "https://localhost/token"
        assert AdminClient(config) is not None
    assert [form["grant_type"] for form in server.forms] == [JWT_BEARER] * 2


def test_an_assertion_in_a_file_is_read_again(
    cluster: MockCluster,
    server: TokenServer,
    tmp_path: Path,
    rsa_key: rsa.RSAPrivateKey,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "assertion.jwt"
    monkeypatch.setenv(FILES, str(file))

    def write(subject: str, lifetime: int = 60) -> None:
        now = int(time.time())
        claims = {"sub": subject, "iat": now, "nbf": now, "exp": now + lifetime}
        parts = [{"alg": "RS256"}, claims | {"aud": server.token_url, "iss": "billing"}]
        signed = ".".join(encode(json.dumps(part).encode()) for part in parts)
        signature = rsa_key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        # As those who rotate files write them: at once.
        new = tmp_path / "new"
        new.write_text(f"{signed}.{encode(signature)}\n")
        new.rename(file)

    write("first")
    config = configured(cluster, server, assertion_file=file)
    # A token that lives for no time is requested for each connection.
    server.lifetime = 0
    with ottla.Producer(config, timeout=30) as producer:
        write("the second")
        for partition in range(2):
            producer.send("orders", b"x", partition=partition).result(timeout=30)
    subjects = [claims["sub"] for _, claims in server.assertions]
    assert subjects[0] == "first"
    assert subjects[-1] == "the second"
    write("third", lifetime=-300)
    refused(config, errors.AuthenticationError, "the assertion expired 30", 'sub "third"')


def test_refusals_say_what_to_check(
    cluster: MockCluster, server: TokenServer, rsa_key: rsa.RSAPrivateKey
) -> None:
    config = configured(cluster, server, assertion_private_key_pem=pem(rsa_key))
    public, server.client_key = server.client_key, None
    message = refused(
        config, errors.AuthenticationError,
        "status 400", "invalid_grant: the signature is wrong", "knows the public key",
        '(the assertion has alg "RS256", iss "billing", sub "account@example.com", ',
        f'aud "{server.token_url}")',
    )  # fmt: skip
    assert "clock" not in message
    server.client_key = public
    for ahead, direction in ((-400.0, "ahead of"), (4000.0, "behind")):
        server.clock_ahead = ahead
        message = refused(config, errors.AuthenticationError, direction, "iat, nbf and exp")
        assert "this machine's clock is" in message
        assert "public key" not in message
    server.clock_ahead = 0
    wrong_audience = {f"{BEARER}assertion.claim.aud": "https://elsewhere"}
    refused(config | wrong_audience, errors.AuthenticationError, 'aud "https://elsewhere"')
    assert not server.forms


def test_files_need_permission(
    cluster: MockCluster, server: TokenServer, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The author of a configuration chooses the endpoint, and so who gets files and signatures."""
    other = key_file.with_name("other.json")
    other.write_text('{"payload": {"password": "hunter2"}}')
    config = configured(cluster, server, assertion_private_key_file=key_file)
    for more in (
        {f"{BEARER}assertion.file": str(other)},
        {f"{BEARER}assertion.private.key.file": f"{key_file.parent}/./key.pem"},
        {f"{BEARER}assertion.template.file": str(other)},
    ):
        message = refused(config | more, errors.ConfigError, next(iter(more)), FILES)
        assert "hunter2" not in message
    monkeypatch.delenv(FILES)
    refused(config, errors.ConfigError, "private.key.file", FILES)
    assert not server.forms


def test_what_cannot_be_used_is_an_error_before_connecting(
    cluster: MockCluster, server: TokenServer, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = f"{BEARER}assertion.private.key.file"
    config = configured(cluster, server, assertion_private_key_file=key_file)

    def wrong(parts: list[str], **more: object) -> None:
        refused(config | named(more), errors.ConfigError, *parts)

    wrong([key, "ES256 needs a key on the curve P-256"], assertion_algorithm="ES256")
    wrong(["expected RS256 or ES256"], assertion_algorithm="HS256")
    wrong(["no class is loaded"], jwt_retriever_class="com.example.Mine")
    wrong(["kubernetes?file="], jwt_retriever_class=f"{KAFKA}FileJwtRetriever")
    wrong(["choose one"], assertion_private_key_pem="x")
    wrong(["assertion.claim.iss"], assertion_claim_iss="")
    wrong([f"{BEARER}assertion.file"], assertion_private_key_file="")
    wrong(["0", "86400"], assertion_claim_exp_seconds=86_401)
    for text, part in (
        ("not a key", "no private key"),
        (pem(ec.generate_private_key(ec.SECP384R1())), "RS256 needs"),
        (
            pem(
                rsa.generate_private_key(public_exponent=65537, key_size=2048),
                serialization.BestAvailableEncryption(PASSWORD.encode()),
            ),
            f"set {BEARER}assertion.private.key.passphrase",
        ),
    ):
        key_file.write_text(text)
        wrong([key, part])
    wrong(
        [key, f"is {BEARER}assertion.private.key.passphrase right?"],
        assertion_private_key_passphrase="another",
    )
    # As Java writes keys on curves, from before it had the public key.
    number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
    bare = "".join(_BARE_P256) + number.to_bytes(32, "big").hex()
    body = base64.b64encode(bytes.fromhex(bare)).decode()
    key_file.write_text(f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n")
    wrong([key, "openssl ec -in key.pem"], assertion_algorithm="ES256")
    other = key_file.with_name("other")
    monkeypatch.setenv(FILES, f"{other},{key_file}")
    for text in ("secret", "a.b", "e30.e30.!", "e30.W10.e30"):
        other.write_text(text)
        wrong(["no signed JSON web token"], assertion_file=other)
    key_file.write_text(pem(rsa.generate_private_key(public_exponent=65537, key_size=2048)))
    for text in ("[]", "{", '{"payload": 1}', '{"claims": {}}'):
        other.write_text(text)
        wrong(['"header" and "payload"'], assertion_template_file=other)
    assert not server.forms


def test_nothing_shows_the_key(
    cluster: MockCluster, server: TokenServer, rsa_key: rsa.RSAPrivateKey
) -> None:
    text = pem(rsa_key)
    config = configured(cluster, server, assertion_private_key_pem=text)
    with ottla.Client(config, timeout=30) as client:
        shown = f"{client!r} {client.connections()}"
    assert text.splitlines()[3] not in shown
    assert TOKEN not in shown
