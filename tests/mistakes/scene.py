"""The cluster for a mistake, and how its report is captured: exception, warning, or doctor.

Invariant: each wait ends after `TIMEOUT`, so that a mistake that is never reported fails the test
instead of hanging it.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import ottla
from ottla.errors import KafkaError
from ottla.testing import MockCluster

TIMEOUT = 90.0


@dataclass(frozen=True)
class Reported:
    """The report of a mistake.

    Attributes:
        seconds: from the mistake to its report.
        where: ``ConfigError``, ``WARNING`` and the like.
        text: the message.
    """

    seconds: float
    where: str
    text: str


@dataclass
class Scene:
    """A mock cluster with a topic `orders` of three partitions, and the addresses to show."""

    cluster: MockCluster
    shown: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cluster.create_topic("orders", partitions=3)
        for broker, address in self.cluster.brokers.items():
            self.shown[address] = f"broker{broker}:9092"

    @property
    def bootstrap(self) -> str:
        """The address of broker 1."""
        return self.cluster.brokers[1]

    def text(self, message: str) -> str:
        """The message, with everything that differs between runs replaced."""
        for address, name in self.shown.items():
            message = message.replace(address, name)
        message = re.sub(r"\bfor \d+ s\b", "for N s", message)
        message = re.sub(r"\bwithin \d+ ms\b", "within N ms", message)
        message = re.sub(r"\bthread \d+\b|\bprocess \d+\b", "process N", message)
        message = re.sub(r"failed to lookup address[^;\]\[]*", "the resolver's words", message)
        return " ".join(message.split())


def raised(call: Callable[[], Any]) -> Reported:
    """Capture the error that a call raises."""
    started = time.monotonic()
    try:
        result = call()
    except (KafkaError, ImportError, TypeError, ValueError, OverflowError, RuntimeError) as error:
        return Reported(time.monotonic() - started, type(error).__name__, str(error))
    raise AssertionError(f"nothing was raised, but {result!r} returned")


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def _warnings() -> Iterator[list[str]]:
    collector = _Collector()
    logger = logging.getLogger("ottla")
    logger.addHandler(collector)
    try:
        yield collector.messages
    finally:
        logger.removeHandler(collector)


def warned(step: Callable[[], Any], *, about: str = "") -> Reported:
    """Repeat a step until a warning contains the text ``about``."""
    with _warnings() as messages:
        started = time.monotonic()
        while time.monotonic() < started + TIMEOUT:
            step()
            found = [message for message in messages if about in message]
            if found:
                return Reported(time.monotonic() - started, "WARNING", found[0])
    raise AssertionError(f"no warning about {about!r} within {TIMEOUT} s, but {messages}")


def diagnosed(
    code: str, bootstrap: str, config: Mapping[str, Any] | None = None, **more: Any
) -> Reported:
    """Run the doctor and return its finding with this code."""
    report = ottla.diagnose(bootstrap, config, **more)
    found = [finding for finding in report.findings if finding.code == code]
    assert found, str(report)
    text = f"{found[0].summary}. Fix: {found[0].fix}"
    return Reported(report.facts.seconds, f"doctor ({code})", text)


Make = Callable[[Scene], Reported]
