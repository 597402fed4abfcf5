"""A pytest plugin that installs one of ottla's stand-ins before anything imports the client.

Test files also import names from modules of the client that are private, or internal to it, often
for tests that are excluded. Modules and names that the stand-in lacks are added here: placeholders,
which make the import work, and fail or do nothing when they are used.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import types
from collections.abc import Mapping
from typing import Any

import ottla.compat

LAYER = "OTTLA_PEER_LAYER"
"""An environment variable: the name of the stand-in."""


class Internal:
    """A placeholder for a class of the client's own."""

    API_KEY = -1

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        raise NotImplementedError("the stand-in has no such class")


class InternalError(Exception):
    """A placeholder for an exception of the client's own."""


class BrokerVersionData:
    """The version that the suite was told, of which it compares the first two numbers."""

    def __init__(self, version: tuple[int, ...]) -> None:
        self.broker_version = tuple(version)[:2]


def _internals_of_kafka() -> dict[str, Mapping[str, Any]]:
    structs = importlib.import_module("kafka.structs")

    return {
        "kafka.coordinator.base": {"MemberState": structs.MemberState},
        "kafka.protocol.broker_version_data": {"BrokerVersionData": BrokerVersionData},
        "kafka.net.compat": {"KafkaNetClient": Internal},
        "kafka.net.backend": {"list_backends": list},
        "kafka.util": {
            "Timer": Internal,
            "TOPIC_LEGAL_CHARS": re.compile("[a-zA-Z0-9._-]+"),
            "TOPIC_MAX_LENGTH": 249,
            "ensure_valid_topic_name": lambda name: None,
        },
    }


def _internals_of_aiokafka() -> dict[str, Mapping[str, Any]]:
    return {
        "aiokafka.consumer.fetcher": {
            "FetchRequest": Internal,
            "PartitionRecords": Internal,
            "RecordTooLargeError": InternalError,
        },
        "aiokafka.record": {"MemoryRecords": Internal},
        "aiokafka.cluster": {"ClusterMetadata": Internal},
        "aiokafka.protocol": {},
        "aiokafka.protocol.produce": {
            "ProduceResponse_v0": Internal,
            "ProduceResponse_v2": Internal,
        },
        "aiokafka.producer.transaction_manager": {"TransactionState": Internal},
    }


def _add(name: str, attributes: Mapping[str, Any]) -> None:
    """Add a module with some names, or the names that an existing module lacks."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        module = types.ModuleType(name)
        module.__path__ = []
        sys.modules[name] = module
        parent, _, leaf = name.rpartition(".")
        setattr(importlib.import_module(parent), leaf, module)
    for attribute, value in attributes.items():
        if not hasattr(module, attribute):
            setattr(module, attribute, value)


def install() -> None:
    """Install the stand-in, and add the placeholders that its suite imports."""
    layer = os.environ[LAYER]
    ottla.compat.install(layer)  # type: ignore[arg-type]
    internals = {"kafka": _internals_of_kafka, "aiokafka": _internals_of_aiokafka}
    if layer in internals:
        for name, attributes in internals[layer]().items():
            _add(name, attributes)


if LAYER in os.environ:
    install()
