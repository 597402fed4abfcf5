"""The gauges of processors: how many messages wait, and for how long.

Invariant: a provider has each gauge once, and it measures all processors of the process. The SDK
ignores the callbacks of an instrument that it already has.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation

from ottla.otel import semantics

if TYPE_CHECKING:
    from ottla.processing import ProcessingMetrics

_WAIT_TIME = "retry-wait-time-seconds"
_GAUGES = (
    (
        "records-waiting",
        "ottla.processor.waiting.messages",
        "{message}",
        "Number of messages that wait for another attempt.",
    ),
    (
        "partitions-blocked",
        "ottla.processor.blocked.partitions",
        "{partition}",
        "Number of partitions that stop until the next attempt of a message.",
    ),
    (
        _WAIT_TIME,
        "ottla.processor.retry.wait_time",
        "s",
        "Time until the next attempt of a message.",
    ),
)


class _Sources:
    """The processors that a provider's gauges measure."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Instruments live as long as their provider; they must not keep the processors.
        self._sources: list[tuple[Callable[[], Any], semantics.Attributes]] = []

    def add(self, read: Callable[[], ProcessingMetrics], attributes: semantics.Attributes) -> None:
        """Measure a processor as long as it exists."""
        with self._lock:
            self._sources = [each for each in self._sources if each[0]() is not None]
            self._sources.append((weakref.WeakMethod(read), attributes))

    def observer(self, key: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        """Return the callback of a gauge."""

        def observe(_: CallbackOptions) -> Iterable[Observation]:
            found: dict[frozenset[Any], tuple[list[float], semantics.Attributes]] = {}
            for value, attributes in self._values(key):
                # Processors of one group have the same attributes, which one value can have.
                same = found.setdefault(frozenset(attributes.items()), ([], attributes))
                same[0].append(value)
            combine = _first if key == _WAIT_TIME else sum
            return [Observation(combine(values), of) for values, of in found.values()]

        return observe

    def _values(self, key: str) -> Iterator[tuple[float, semantics.Attributes]]:
        with self._lock:
            sources = list(self._sources)
        for source, attributes in sources:
            if (read := source()) is not None:
                yield read()[key], attributes


_lock = threading.Lock()
_by_provider: weakref.WeakKeyDictionary[metrics.MeterProvider, _Sources]
_by_provider = weakref.WeakKeyDictionary()
_of_global_provider: list[_Sources] = []


def measure(
    provider: metrics.MeterProvider | None,
    read: Callable[[], ProcessingMetrics],
    attributes: semantics.Attributes,
) -> None:
    """Let a provider's gauges measure a processor as long as it exists.

    Args:
        provider: the provider; None for the global one.
        read: ``Processor.metrics``.
        attributes: the attributes of its values.
    """
    with _lock:
        sources = _sources(provider)
    sources.add(read, attributes)


def _sources(provider: metrics.MeterProvider | None) -> _Sources:
    # The global provider may be set after the first processor: its place has no other key.
    if provider is metrics.get_meter_provider():
        provider = None
    known = (
        next(iter(_of_global_provider), None) if provider is None else _by_provider.get(provider)
    )
    if known is not None:
        return known
    sources = _Sources()
    meter = semantics.meter(provider)
    for key, name, unit, text in _GAUGES:
        meter.create_observable_gauge(name, [sources.observer(key)], unit, text)
    if provider is None:
        _of_global_provider.append(sources)
    else:
        _by_provider[provider] = sources
    return sources


def _first(seconds: Iterable[float]) -> float:
    """Return the time until the first attempt; 0 if none waits."""
    return min((each for each in seconds if each > 0), default=0.0)
