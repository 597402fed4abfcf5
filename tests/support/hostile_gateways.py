"""What tests of hostile peers share: requests as bytes, and a client that must not notice them."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from types import TracebackType

import ottla
from tests.support.jars import REPOSITORY
from tests.support.waiting import wait_until

# Of the client "c": API versions in version 0, and the metadata of all topics in version 1.
API_VERSIONS = bytes.fromhex("0000000b 0012 0000 00000001 0001 63")
METADATA = bytes.fromhex("0000000f 0003 0001 00000002 0001 63 ffffffff")
_SECONDS = 10.0
_SEEDS = REPOSITORY / "rust" / "fuzz" / "seeds"


def seeds(*names: str) -> list[bytes]:
    """Return the inputs with which these fuzz targets start."""
    files = [path for name in names for path in sorted((_SEEDS / name).iterdir())]
    assert files
    return [path.read_bytes() for path in files]


def connect(address: str) -> socket.socket:
    """Connect to a gateway."""
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), _SECONDS)


def read_frame(connection: socket.socket) -> bytes:
    """Read a response with its length; empty at the end of the connection."""
    prefix = _read(connection, 4)
    return prefix + _read(connection, *struct.unpack(">i", prefix)) if prefix else b""


def _read(connection: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count and (chunk := connection.recv(count - len(read))):
        read += chunk
    return read


def send_and_wait_for_end(address: str, data: bytes) -> bytes:
    """Send bytes and an end; return what the gateway sends until it closes the connection."""
    with connect(address) as connection:
        return end_with(connection, data)


def end_with(connection: socket.socket, data: bytes) -> bytes:
    """Send the last bytes of a connection; return what the gateway sends until it closes it."""
    received = b""
    # The gateway may close it before all is sent.
    with contextlib.suppress(ConnectionError):
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        while chunk := connection.recv(65536):
            received += chunk
    return received


class Bystander:
    """Writes and reads through the gateway in the `with` block, at whose end all has arrived."""

    def __init__(self, bootstrap: str, topic: str, partition: int = 0) -> None:
        self._bootstrap, self._where = bootstrap, (topic, partition)
        self._stop = threading.Event()
        self._sent: list[ottla.Delivery] = []
        self._found: list[bytes | None] = []
        self._errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        topic, partition = self._where
        # A broken connection would be an error at once, and not be hidden by another attempt.
        config = {"retries": 0, "enable.idempotence": False, "linger.ms": 0}
        try:
            with (
                ottla.Producer(self._bootstrap, config) as producer,
                ottla.Consumer(self._bootstrap) as consumer,
            ):
                consumer.assign([(topic, partition)])
                consumer.seek(topic, partition, 0)
                while not self._stop.is_set() or len(self._found) < len(self._sent):
                    if not self._stop.is_set():
                        value = b"%d" % len(self._sent)
                        self._sent.append(producer.send(topic, value, partition=partition))
                        self._sent[-1].result(timeout=_SECONDS)
                    self._found += [record.value for record in consumer.poll(timeout=1)]
        except BaseException as error:  # noqa: BLE001 (raised at the end of the block)
            self._errors.append(error)

    def __enter__(self) -> Bystander:
        self._thread.start()
        wait_until(lambda: self._found or self._errors)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join(60)
        if error is None:
            assert not self._errors, self._errors
            assert not self._thread.is_alive()
            assert self._found == [b"%d" % n for n in range(len(self._sent))]
