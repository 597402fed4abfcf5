"""One broker with a listener for every kind of security, including misconfigured ones.

`secured.at("scram")` is the address of a listener, `secured.client("scram")` the configuration of
a client that may use it; both by the names in `LISTENERS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not in its __all__
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from tests.security.certificates import Authority, Identity
from tests.security.token_server import AUDIENCE, TokenServer
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_node import KafkaNode
from tests.support.ports import free_ports

USER, PASSWORD = "alice", 'al"ice, with = and \\ secrets'
KEY_PASSWORD = "the key's password"
# Clients renew a session after at most 95 % of it: the rest is a reserve for slow machines.
REAUTHENTICATE_MS = 6000
_SMALL = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

# The listeners by name: the protocol and the name of the certificate.
LISTENERS = {
    "tls": ("SSL", "good"),
    "mtls": ("SSL", "good"),
    "sasl": ("SASL_PLAINTEXT", ""),
    "sasl_tls": ("SASL_SSL", "good"),
    "oauth": ("SASL_PLAINTEXT", ""),
    "oidc": ("SASL_SSL", "good"),
    "short_sessions": ("SASL_SSL", "good"),
    "expired": ("SSL", "expired"),
    "wrong_host": ("SSL", "wrong_host"),
}
_LOGIN = "org.apache.kafka.common.security"
_OAUTH = f"{_LOGIN}.oauthbearer"


class SecuredKafka:
    """The broker, its certificates, its users and its token server."""

    def __init__(self, directory: Path, tokens: TokenServer) -> None:
        self.authority, self.stranger = Authority("ottla tests"), Authority("somebody else")
        self._directory, self._tokens = directory, tokens
        here = ("localhost", "127.0.0.1")
        self.made = datetime.now(timezone.utc).date()
        self._certificates = {
            "good": self.authority.issue("broker", here),
            "expired": self.authority.issue("broker", here, ends=-timedelta(days=1)),
            "wrong_host": self.authority.issue("broker", ("elsewhere.ottla.test",)),
        }
        self.client_identity = self.authority.issue("client", client=True)
        self._ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
        self._cluster = KafkaCluster(
            1,
            self._properties,
            # Kafka fetches keys only from URLs in this list.
            jvm=(*_SMALL, f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.jwks_url}"),
        )

    def at(self, listener: str, host: str = "localhost") -> str:
        """Return the address of a listener; `plaintext` is the one without security."""
        if listener == "plaintext":
            return self._cluster.bootstrap
        return f"{host}:{self._ports[listener]}"

    @property
    def ports(self) -> dict[str, int]:
        """The listeners' ports by name, starting with `plaintext`."""
        return {"plaintext": int(self._cluster.bootstrap.rpartition(":")[2]), **self._ports}

    def tls(self) -> dict[str, Any]:
        """Return the configuration of a client that trusts the broker's authority."""
        return {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": self.authority.certificate,
        }

    def mutual_tls(self, identity: Identity, key_password: str | None = None) -> dict[str, Any]:
        """Return the configuration of a client with a certificate."""
        config = {
            **self.tls(),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": identity.certificate,
            "ssl.keystore.key": identity.key(key_password),
        }
        return config if key_password is None else {**config, "ssl.key.password": key_password}

    def start(self) -> None:
        """Start the broker and create its users."""
        self._cluster.start()
        self._admin = AdminClient({"bootstrap.servers": self._cluster.bootstrap})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            self.add_user(USER, PASSWORD, mechanism)

    def stop(self) -> None:
        """Stop the broker."""
        self._cluster.stop()

    def add_user(self, name: str, password: str, mechanism: ScramMechanism) -> None:
        """Create a SCRAM user."""
        credential = ScramCredentialInfo(mechanism, 4096)
        self._alter(UserScramCredentialUpsertion(name, credential, password.encode()))

    def revoke_user(self, name: str, mechanism: ScramMechanism) -> None:
        """Delete a SCRAM user."""
        self._alter(UserScramCredentialDeletion(name, mechanism))

    def run_tool(self, main: str, config: Mapping[str, str], *arguments: str) -> str:
        """Run a Java command of kafka-tools on the listener `sasl`."""
        path = self._directory / "tool.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
        return self._cluster.run_tool(
            main,
            *("--bootstrap-server", self.at("sasl"), "--command-config", str(path), *arguments),
        )

    def create_topic(self, name: str) -> None:
        """Create a topic of two partitions."""
        self._cluster.create_topic(name, 2, 1)

    def _alter(self, change: UserScramCredentialUpsertion | UserScramCredentialDeletion) -> None:
        for done in self._admin.alter_user_scram_credentials([change]).values():
            done.result(60)

    def _properties(self, node: KafkaNode) -> dict[str, str]:
        defaults = node.properties
        at = [f"{name.upper()}://127.0.0.1:{port}" for name, port in self._ports.items()]
        # By name, as in the certificates.
        advertised = [f"{name.upper()}://localhost:{port}" for name, port in self._ports.items()]
        kinds = [f"{name.upper()}:{protocol}" for name, (protocol, _) in LISTENERS.items()]
        properties = {
            "listeners": ",".join([defaults["listeners"], *at]),
            "advertised.listeners": ",".join([defaults["advertised.listeners"], *advertised]),
            "listener.security.protocol.map": ",".join(
                ["PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT", *kinds]
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.name.mtls.ssl.client.auth": "required",
            "delegation.token.secret.key": "the key of the brokers",
        }
        for name, (protocol, certificate) in LISTENERS.items():
            if certificate:
                properties |= self._stores(f"listener.name.{name}.", certificate)
            if protocol.startswith("SASL"):
                properties |= self._logins(f"listener.name.{name}.", name)
        return properties

    def _stores(self, prefix: str, certificate: str) -> dict[str, str]:
        identity = self._certificates[certificate]
        store = self._directory / f"{certificate}.pem"
        store.write_text(identity.key() + identity.certificate)
        trusted = self._directory / "authority.pem"
        trusted.write_text(self.authority.certificate)
        return {
            f"{prefix}ssl.keystore.type": "PEM",
            f"{prefix}ssl.keystore.location": str(store),
            f"{prefix}ssl.truststore.type": "PEM",
            f"{prefix}ssl.truststore.location": str(trusted),
        }

    def _logins(self, prefix: str, listener: str) -> dict[str, str]:
        if listener in ("oauth", "oidc"):
            bearer = f"{prefix}oauthbearer."
            logins = {
                f"{prefix}sasl.enabled.mechanisms": "OAUTHBEARER",
                f"{bearer}sasl.jaas.config": f"{_OAUTH}.OAuthBearerLoginModule required;",
            }
            if listener == "oidc":
                handler = f"{_OAUTH}.OAuthBearerValidatorCallbackHandler"
                logins |= {
                    f"{bearer}sasl.server.callback.handler.class": handler,
                    f"{bearer}sasl.oauthbearer.jwks.endpoint.url": self._tokens.jwks_url,
                    f"{bearer}sasl.oauthbearer.expected.audience": AUDIENCE,
                    f"{bearer}sasl.oauthbearer.expected.issuer": self._tokens.issuer,
                }
            return logins
        users = f'user_{USER}="{_escape(_escape(PASSWORD))}"'
        logins = {
            f"{prefix}sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            f"{prefix}plain.sasl.jaas.config": f"{_LOGIN}.plain.PlainLoginModule required {users};",
        }
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            module = f"{_LOGIN}.scram.ScramLoginModule required;"
            logins[f"{prefix}{mechanism}.sasl.jaas.config"] = module
        if listener == "short_sessions":
            for mechanism in ("plain", "scram-sha-256", "scram-sha-512"):
                logins[f"{prefix}{mechanism}.connections.max.reauth.ms"] = str(REAUTHENTICATE_MS)
        return logins


def _escape(text: str) -> str:
    """Escape a string for JAAS; apply it twice for a Java properties file."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


@pytest.fixture(scope="package")
def tokens() -> Iterator[TokenServer]:
    """Provide the token server."""
    with TokenServer() as server:
        yield server


# For the package: a worker of pytest-xdist runs other tests afterwards, and idle brokers cost time.
@pytest.fixture(scope="package")
def secured(
    tmp_path_factory: pytest.TempPathFactory, tokens: TokenServer
) -> Iterator[SecuredKafka]:
    """Provide the broker."""
    kafka = SecuredKafka(tmp_path_factory.mktemp("certificates"), tokens)
    kafka.start()
    yield kafka
    kafka.stop()
