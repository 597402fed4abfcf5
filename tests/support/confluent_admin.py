"""One scenario of an administrator for confluent-kafka and for its stand-in, as a trace to compare.

Invariant: a trace contains what programs rely on: values, codes of errors and classes of
exceptions; never texts of errors, times or generated names.
"""

from __future__ import annotations

import contextlib
import enum
import importlib
import uuid
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from types import ModuleType
from typing import Any, TypeAlias

import ottla
from tests.support.waiting import wait_until

Trace: TypeAlias = list[tuple[str, Any]]

_SECONDS = 30


class Scenario:
    """A scenario with one of the two.

    Args:
        module: ``confluent_kafka`` or its stand-in.
        bootstrap: the addresses of the brokers.
        create_topic: creates a topic with a number of partitions, which all brokers know then.
    """

    def __init__(
        self, module: ModuleType, bootstrap: str, create_topic: Callable[[int], str]
    ) -> None:
        self._create_topic = create_topic
        self.ck = module
        self.admin_module: Any = importlib.import_module(f"{module.__name__}.admin")
        self.bootstrap = bootstrap
        self.name = f"scenario-{uuid.uuid4().hex[:12]}"
        self.admin = self.admin_module.AdminClient({"bootstrap.servers": bootstrap})
        self.trace: Trace = []

    def topic(self, partitions: int) -> str:
        """Return the name of a new topic, which the trace does not show."""
        self.name = self._create_topic(partitions)
        return self.name

    def until(self, call: Callable[[], Any], condition: Callable[[Any], object]) -> Any:
        """Repeat a call until the broker that responds knows of the last change."""
        found: list[Any] = []

        def holds() -> object:
            with contextlib.suppress(self.ck.KafkaException):
                found[:] = [call()]
                return condition(found[0])
            return False

        wait_until(holds)
        return found[0]

    def note(self, label: str, call: Callable[[], Any]) -> None:
        """Add the result of a call to the trace, or its exception."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                result = call()
        except Exception as error:  # noqa: BLE001 - exceptions are compared
            self.trace.append((label, self.plain(error)))
        else:
            self.trace.append((label, self.plain(result)))

    def plain(self, value: Any) -> Any:
        """Return a value without what differs between two runs."""
        match value:
            case Future():
                try:
                    return self.plain(value.result(_SECONDS))
                except Exception as error:  # noqa: BLE001 - exceptions are compared
                    return self.plain(error)
            case self.ck.KafkaException():
                return "KafkaException", self.plain(value.args[0])
            case self.ck.KafkaError():
                return "KafkaError", value.code(), value.name()
            case Exception():
                return type(value).__name__
            case enum.Enum():
                return type(value).__name__, value.name
            case str():
                return value.replace(self.name, "NAME")
            case bytes() | int() | float() | bool() | None:
                return value
            case Mapping():
                return {str(self.plain(key)): self.plain(each) for key, each in value.items()}
            case list() | tuple() | set():
                return [self.plain(each) for each in value]
            case self.ck.TopicPartition():
                metadata = value.metadata
                return self.plain(
                    (value.topic, value.partition, value.offset, metadata, value.error)
                )
            case self.ck.Uuid():
                return "Uuid"
        return type(value).__name__, self.plain(_attributes(value))

    def produce(self, topic: str, times: list[int]) -> None:
        """Write records with times to partition 0."""
        with ottla.Producer(self.bootstrap, linger_ms=0) as producer:
            for each in times:
                producer.send(topic, b"value", partition=0, timestamp=each)


def _attributes(value: Any) -> Any:
    """Return the public attributes of a value of ``admin``; its text if it has none."""
    found = getattr(value, "__dict__", {})
    # The original keeps numbers beside its enumerations.
    public = {n: e for n, e in sorted(found.items()) if n[0] != "_" and not n.endswith("_int")}
    if type(value).__name__ in {"NewTopic", "NewPartitions"}:
        return str(value)
    return public or str(value)
