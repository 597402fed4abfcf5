"""Watches the connections through a gateway while a client in another process uses it."""

from __future__ import annotations

import threading
from types import TracebackType

from ottla.gateway import GatewayConnection
from ottla.testing import Gateway

_INTERVAL = 0.01


class Observer:
    """Keeps the last state of each connection that it saw, in a thread."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._before = {each.id for each in gateway.connections()}
        self._seen: dict[int, GatewayConnection] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def connections(self) -> list[GatewayConnection]:
        """Return the connections that were opened in the `with` block."""
        return [each for key, each in self._seen.items() if key not in self._before]

    def _run(self) -> None:
        while not self._stop.wait(_INTERVAL):
            self._seen |= {each.id: each for each in self._gateway.connections()}

    def __enter__(self) -> Observer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
