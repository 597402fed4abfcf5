"""The tools that are compared: their versions, and a configuration file of each for a cluster.

Invariant: a tool finds the address and the credentials in its own configuration, so that no
command needs options for them, and none reads the configuration of the user who runs it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OTTLA, KCAT, RPK, KAF, KAFKACTL = "ottla", "kcat", "rpk", "kaf", "kafkactl"
PEERS = (KCAT, RPK, KAF, KAFKACTL)
TOOLS = (OTTLA, *PEERS)
# The releases that the page was written with; tools/command_line_peers.sh installs the first two.
VERSIONS = {
    KCAT: "1.7.1, of Debian",
    KAF: "0.2.14",
    KAFKACTL: "5.20.0",
    RPK: "its main branch of December 2024, after 24.3",
}
INSTALLED = Path(".ottla-build/command-line-tools").resolve()


@dataclass(frozen=True)
class Target:
    """A cluster as a client sees it: with a user it speaks SASL, with tls it starts TLS."""

    bootstrap: str
    registry: str = ""
    user: str = ""
    password: str = ""
    tls: bool = False

    @property
    def protocol(self) -> str:
        """The value of `security.protocol`."""
        return f"{'SASL_' if self.user else ''}{'SSL' if self.tls else 'PLAINTEXT'}"


def path() -> str:
    """Return the search path: this environment's ottla, then the tools that are installed here."""
    own = [str(Path(sys.executable).parent), str(INSTALLED)]
    return os.pathsep.join([*own, os.environ["PATH"]])


def missing() -> list[str]:
    """Return the tools that are not installed."""
    return [tool for tool in TOOLS if shutil.which(tool, path=path()) is None]


def environment(home: Path, target: Target) -> dict[str, str]:
    """Write the configuration files to a home directory; return the environment of the tools."""
    for file, text in _files(target).items():
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_text(text)
        (home / file).chmod(0o600)
    return {
        "PATH": path(),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "OTTLA_PROFILES": str(home / "profiles.ini"),
        "KCAT_CONFIG": str(home / "kcat.conf"),
        **_rpk(target),
    }


def _files(target: Target) -> dict[str, str]:
    return {
        "profiles.ini": "[default]\n" + _lines(_ottla(target)),
        "kcat.conf": _lines(_kcat(target)),
        # JSON is YAML.
        ".kaf/config": json.dumps(_kaf(target)),
        ".config/kafkactl/config.yml": json.dumps(_kafkactl(target)),
    }


def _lines(config: Mapping[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in config.items())


def _common(target: Target) -> dict[str, str]:
    config = {"bootstrap.servers": target.bootstrap, "security.protocol": target.protocol}
    if target.user:
        config |= {"sasl.mechanism": "SCRAM-SHA-256"}
    return config


def _ottla(target: Target) -> dict[str, str]:
    config = _common(target)
    if target.registry:
        config["schema.registry.url"] = target.registry
    if target.user:
        login = "org.apache.kafka.common.security.scram.ScramLoginModule required"
        config["sasl.jaas.config"] = (
            f'{login} username="{target.user}" password="{target.password}";'
        )
    return config


def _kcat(target: Target) -> dict[str, str]:
    config = _common(target)
    if target.user:
        # Brokers of Kafka 4.3 refuse the SCRAM of Debian's build also with the right password.
        config |= {"sasl.mechanism": "PLAIN", "sasl.username": target.user}
        config["sasl.password"] = target.password
    return config


def _rpk(target: Target) -> dict[str, str]:
    config = {"RPK_BROKERS": target.bootstrap}
    if target.registry:
        config["RPK_REGISTRY_HOSTS"] = target.registry.removeprefix("http://")
    if target.tls:
        config["RPK_TLS_ENABLED"] = "true"
    if target.user:
        config |= {"RPK_USER": target.user, "RPK_PASS": target.password}
        config["RPK_SASL_MECHANISM"] = "SCRAM-SHA-256"
    return config


def _kaf(target: Target) -> object:
    cluster: dict[str, object] = {
        "name": "here",
        "brokers": target.bootstrap.split(","),
        # By default it speaks an older protocol, which cannot alter settings.
        "version": "3.6.0",
    }
    if target.registry:
        cluster["schema-registry-url"] = target.registry
    if target.protocol != "PLAINTEXT":
        cluster["security-protocol"] = target.protocol
    if target.tls:
        cluster["TLS"] = {"insecure": False}
    if target.user:
        cluster["SASL"] = {
            "mechanism": "SCRAM-SHA-256",
            "username": target.user,
            "password": target.password,
        }
    return {"current-cluster": "here", "clusters": [cluster]}


def _kafkactl(target: Target) -> object:
    context: dict[str, object] = {"brokers": target.bootstrap.split(",")}
    if target.registry:
        context["schemaRegistry"] = {"url": target.registry}
    if target.tls:
        context["tls"] = {"enabled": True}
    if target.user:
        context["sasl"] = {
            "enabled": True,
            "username": target.user,
            "password": target.password,
            "mechanism": "scram-sha256",
        }
    return {"contexts": {"default": context}}
