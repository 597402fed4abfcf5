"""Brokers of the mock that turn hostile: frames pass through a proxy until a test changes that.

Invariant: responses name the proxies' addresses in place of the brokers', so that all connections
pass through these.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping

from tests.support.hostile_gateways import read_frame
from tests.support.scripted_servers import scripted_server

# What it sends in place of a response, given the response; None ends the connection.
Answer = Callable[[bytes], bytes | None]


class FaultyBroker:
    """A broker, and how it answers."""

    def __init__(self, broker: str, ports: Mapping[str, int]) -> None:
        self._broker, self._ports = broker, ports
        self.answer: Answer = bytes
        self.ends = False
        """Whether a connection ends after a response."""

    def serve(self, client: socket.socket) -> None:
        """Pass a connection on to the broker."""
        host, _, port = self._broker.rpartition(":")
        with socket.create_connection((host, int(port))) as broker:
            requests = threading.Thread(target=_copy, args=(client, broker), daemon=True)
            requests.start()
            with contextlib.suppress(OSError):
                while response := read_frame(broker):
                    answer = self.answer(self._with_proxies(response))
                    if answer is None:
                        break
                    client.sendall(answer)
                    if self.ends:
                        break
            for each in (client, broker):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            requests.join()

    def _with_proxies(self, response: bytes) -> bytes:
        """Return a response with the proxies' ports after the host, which have the same length."""
        for broker, proxy in self._ports.items():
            host, _, port = broker.rpartition(":")
            old, new = (host.encode() + struct.pack(">i", n) for n in (int(port), proxy))
            response = response.replace(old, new)
        return response


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(1 << 16):
            sink.sendall(chunk)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def faulty_brokers(brokers: Mapping[int, str]) -> Iterator[tuple[str, dict[int, FaultyBroker]]]:
    """Run a proxy in front of each broker of the mock; yield the first one's address, and all."""
    ports: dict[str, int] = {}
    faulty = {n: FaultyBroker(address, ports) for n, address in brokers.items()}
    with contextlib.ExitStack() as running:
        for n, address in brokers.items():
            ports[address] = running.enter_context(scripted_server(faulty[n].serve))
        yield f"127.0.0.1:{next(iter(ports.values()))}", faulty
