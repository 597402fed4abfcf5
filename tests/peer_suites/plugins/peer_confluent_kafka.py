"""A pytest plugin for confluent-kafka's suites: trivup's clusters, without trivup.

trivup starts brokers for the fixtures of the suite that need SASL. Here, its class describes the
broker of this run, whose listeners accept the users that the suite names. All other fixtures are
the suite's own: they find the broker and the registry by BROKERS and SR_URL.
"""

from __future__ import annotations

import os
import sys
import types
from typing import Any

import pytest

_USER = "sasl_user"


class KafkaCluster:
    """Describes a running cluster, by the interface of trivup's class of this name."""

    def __init__(self, **config: Any) -> None:
        self._mechanism: str | None = config.get("sasl_mechanism")

    def wait_operational(self, timeout: float = 0) -> None:
        """Return: the broker has started before the suite."""

    def stop(self, cleanup: bool = True) -> None:
        """Return: the broker ends after the suite."""

    def client_conf(self) -> dict[str, Any]:
        """Return the configuration of a client."""
        if self._mechanism is None:
            return {"bootstrap.servers": os.environ["BROKERS"]}
        config = {
            "bootstrap.servers": os.environ[f"OTTLA_PEER_{self._mechanism}"],
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanisms": self._mechanism,
        }
        if self._mechanism == "PLAIN":
            config |= {"sasl.username": _USER, "sasl.password": _USER}
        return config


def _add_trivup() -> None:
    module = types.ModuleType("trivup.clusters.KafkaCluster")
    module.__dict__["KafkaCluster"] = KafkaCluster
    sys.modules |= {
        "trivup": types.ModuleType("trivup"),
        "trivup.clusters": types.ModuleType("trivup.clusters"),
        "trivup.clusters.KafkaCluster": module,
    }


def pytest_collection_finish(session: pytest.Session) -> None:
    """Give the suite's fixture for existing clusters the asyncio client that it lacks."""
    fixtures = sys.modules.get("tests.integration.cluster_fixture")
    if fixtures is None or hasattr(fixtures.ByoFixture, "async_schema_registry"):
        return

    def async_schema_registry(self: Any, conf: dict[str, Any] | None = None) -> Any:
        return fixtures.AsyncSchemaRegistryClient({"url": os.environ["SR_URL"], **(conf or {})})

    fixtures.ByoFixture.async_schema_registry = async_schema_registry


_add_trivup()
