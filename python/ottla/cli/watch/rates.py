"""The rates of the watch's own client: requests, bytes, latency and retries.

Invariant: a rate is computed from two totals, because the metrics' own rates are averages over half
a minute.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from ottla import AsyncClient
from ottla._internal.text import counted
from ottla.cli.tables import Table
from ottla.cli.units import elapsed, number, size

# The seconds between samples of the totals, and the seconds that a rate covers, which are enough
# for several refreshes of the metadata.
_SAMPLE_INTERVAL = 1.0
_WINDOW = 10.0
_TOTALS = {
    "request_rate": "request-total",
    "outgoing_byte_rate": "outgoing-byte-total",
    "incoming_byte_rate": "incoming-byte-total",
}
_AVERAGES = {"latency_avg": "request-latency-avg", "latency_max": "request-latency-max"}


class Rates:
    """Samples of a client's metrics.

    Args:
        client: the client.
    """

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._samples: deque[tuple[float, Mapping[str, float]]] = deque()
        self.sample()

    def sample(self) -> None:
        """Take a sample, unless the last one is recent."""
        now = time.monotonic()
        if self._samples and now < self._samples[-1][0] + _SAMPLE_INTERVAL:
            return
        metrics: Mapping[str, Any] = self._client.metrics()
        names = *_TOTALS.values(), *_AVERAGES.values()
        self._samples.append((now, {name: metrics[name] for name in names}))
        # Keep one sample that is at least a window older than the newest, if there is one.
        while len(self._samples) > 2 and self._samples[1][0] <= now - _WINDOW:
            self._samples.popleft()

    def values(self) -> dict[str, float | None]:
        """Return the rates per second, and latencies in seconds; None if unknown."""
        (first, before), (last, after) = self._samples[0], self._samples[-1]
        values: dict[str, float | None] = {
            key: (after[name] - before[name]) / (last - first) if last > first else None
            for key, name in _TOTALS.items()
        }
        for key, name in _AVERAGES.items():
            # Milliseconds.
            values[key] = after[name] / 1e3 if math.isfinite(after[name]) else None
        return values

    def to_json(self) -> dict[str, Any]:
        """Return the rates, the slowest request and the retries as plain values."""
        statistics = self._client.request_statistics()
        slowest = next(
            (
                {"api": each.api, "address": each.address, "latency": each.latency, "age": each.age}
                for each in statistics.slowest
            ),
            None,
        )
        return {**self.values(), "slowest": slowest, "retries": statistics.retries}

    def cells(self) -> dict[str, str]:
        """Return the rates as text, by heading. An unknown rate is empty."""
        values = self.values()
        formats = {
            "requests/s": (values["request_rate"], number),
            "sent/s": (values["outgoing_byte_rate"], lambda rate: size(round(rate))),
            "received/s": (values["incoming_byte_rate"], lambda rate: size(round(rate))),
            "average latency": (values["latency_avg"], elapsed),
            "largest": (values["latency_max"], elapsed),
        }
        return {
            heading: "" if value is None else as_text(value)
            for heading, (value, as_text) in formats.items()
        }

    def table(self) -> Table:
        """Return the rates as a table."""
        cells = self.cells()
        statistics = self._client.request_statistics()
        lines = [
            f"slowest request of the last ten minutes: {each.api} to {each.address}, "
            f"{elapsed(each.latency)}, {elapsed(each.age)} ago"
            for each in statistics.slowest[:1]
        ]
        lines.append(f"retries by cause: {_retries(statistics.retries)}")
        return Table("rates of this client", [*cells], [[*cells.values()]], lines)

    def line(self) -> str:
        """Return the rates as a line."""
        cells = [f"{heading} {cell}" for heading, cell in self.cells().items() if cell]
        retries = _retries(self._client.request_statistics().retries)
        return ", ".join([*cells, f"retries by cause: {retries}"])


def _retries(retries: Mapping[str, int]) -> str:
    if not retries:
        return "none"
    largest = sorted(retries.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{cause} {counted(count, 'time')}" for cause, count in largest)
