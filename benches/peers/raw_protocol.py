"""Just enough of Kafka's protocol for the floors: programs that do no more than any client must.

Sources: the protocol guide, Produce version 8, Fetch version 4, and the format of record batches,
version 2.
"""

from __future__ import annotations

import functools
import socket
import struct
import time
from collections.abc import Iterator, Sequence

import ottla

PRODUCE, FETCH = (0, 8), (1, 4)
_ALL = -1
_TIMEOUT_MS = 30_000
# The length, the epoch, the magic byte, the checksum and the attributes come before it.
_LAST_OFFSET_DELTA = 8 + 4 + 4 + 1 + 4 + 2


def leaders(bootstrap: str, topic: str) -> dict[int, str]:
    """The address of each partition's leader."""
    with ottla.Client(bootstrap) as client:
        cluster = client.cluster([topic])
    addresses = {}
    for number, partition in cluster.topics[topic].partitions.items():
        if partition.leader is None:
            raise SystemExit(f"partition {number} of {topic} has no leader")
        broker = cluster.brokers[partition.leader]
        addresses[number] = f"{broker.host}:{broker.port}"
    return addresses


def connect(address: str) -> socket.socket:
    """Connect to a broker."""
    host, port = address.rsplit(":", 1)
    connected = socket.create_connection((host, int(port)), timeout=30)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected


def string(text: str) -> bytes:
    """A string with its length."""
    return struct.pack(">h", len(text)) + text.encode()


def frame(api: tuple[int, int], body: bytes) -> bytes:
    """A request with its length and header."""
    header = struct.pack(">hhi", *api, 1) + string("raw")
    return struct.pack(">i", len(header + body)) + header + body


def batch(values: Sequence[bytes]) -> bytes:
    """A batch of records without keys."""
    records = b"".join(_record(number, value) for number, value in enumerate(values))
    now, last = int(time.time() * 1000), len(values) - 1
    rest = struct.pack(">hiqqqhii", 0, last, now, now, -1, -1, -1, len(values)) + records
    checked = struct.pack(">I", _crc32c(rest)) + rest
    return struct.pack(">qiib", 0, len(checked) + 5, -1, 2) + checked


def produce_request(topic: str, partition: int, values: Sequence[bytes]) -> bytes:
    """A request that writes one batch."""
    records = batch(values)
    body = struct.pack(">hhii", -1, _ALL, _TIMEOUT_MS, 1) + string(topic)
    return frame(PRODUCE, body + struct.pack(">iii", 1, partition, len(records)) + records)


def check_produced(topic: str, response: bytes | memoryview) -> None:
    """Fail unless the batch was written."""
    # The length, the correlation id, the number of topics, the topic, the number of partitions and
    # the partition come before it.
    (code,) = struct.unpack_from(">h", response, 4 + 4 + 4 + len(string(topic)) + 4 + 4)
    if code != 0:
        raise SystemExit(f"the raw socket's records were refused: error code {code}")


def fetch_request(topic: str, offsets: dict[int, int], max_bytes: int) -> bytes:
    """A request for what comes at these offsets, by partition."""
    body = struct.pack(">iiiibi", -1, 500, 1, max_bytes, 0, 1) + string(topic)
    body += struct.pack(">i", len(offsets))
    for partition, offset in offsets.items():
        body += struct.pack(">iqi", partition, offset, max_bytes)
    return frame(FETCH, body)


def fetched(topic: str, response: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the partitions of a response without its length, with their batches."""
    # The correlation id, the throttle time, the number of topics and the topic.
    at = 4 + 4 + 4 + len(string(topic))
    (partitions,) = struct.unpack_from(">i", response, at)
    at += 4
    for _ in range(partitions):
        partition, code, _, _, aborted = struct.unpack_from(">ihqqi", response, at)
        if code != 0:
            raise SystemExit(f"the raw socket's fetch was refused: error code {code}")
        at += 26 + max(aborted, 0) * 16
        (size,) = struct.unpack_from(">i", response, at)
        at += 4
        yield partition, response[at : at + max(size, 0)]
        at += max(size, 0)


def batch_ends(records: memoryview) -> Iterator[tuple[int, int]]:
    """Yield the offset after each complete batch, and its number of records."""
    at = 0
    while len(records) - at >= _LAST_OFFSET_DELTA + 4:
        first, size = struct.unpack_from(">qi", records, at)
        (delta,) = struct.unpack_from(">i", records, at + _LAST_OFFSET_DELTA)
        at += 12 + size
        if at > len(records):
            return
        yield first + delta + 1, delta + 1


def _record(number: int, value: bytes) -> bytes:
    record = b"\0" + _varint(0) + _varint(number) + _varint(-1) + _varint(len(value)) + value
    record += _varint(0)
    return _varint(len(record)) + record


def _varint(number: int) -> bytes:
    zigzag, out = (number << 1) ^ (number >> 63), bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


@functools.cache
def _crc_table() -> list[int]:
    table = []
    for number in range(256):
        crc = number
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


def _crc32c(data: bytes) -> int:
    table, crc = _crc_table(), 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
