"""The floor of a client that produces: one request, built in advance, on a blocking socket.

It does no more than any client must: one write and one read a record, by the thread that waits. It
has no idempotence and looks only at the response's error code.
"""

from __future__ import annotations

import socket
import struct
import time

_PRODUCE_VERSION = 8
_ALL = -1


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _varint(number: int) -> bytes:
    zigzag, out = (number << 1) ^ (number >> 63), bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


def _batch(value: bytes) -> bytes:
    """A batch of one record, in the format of version 2."""
    record = b"\0" + _varint(0) + _varint(0) + _varint(-1) + _varint(len(value)) + value
    record += _varint(0)
    record = _varint(len(record)) + record
    now = int(time.time() * 1000)
    rest = struct.pack(">hiqqqhii", 0, 0, now, now, -1, -1, -1, 1) + record
    checked = struct.pack(">I", _crc32c(rest)) + rest
    return struct.pack(">qiib", 0, len(checked) + 5, -1, 2) + checked


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _request(topic: str, value: bytes) -> bytes:
    batch = _batch(value)
    header = struct.pack(">hhi", 0, _PRODUCE_VERSION, 1) + _string("raw")
    body = struct.pack(">hhii", -1, _ALL, 30_000, 1) + _string(topic)
    body += struct.pack(">iii", 1, 0, len(batch)) + batch
    return struct.pack(">i", len(header + body)) + header + body


class RawProducer:
    """Writes the same record to partition 0 of a topic again and again."""

    def __init__(self, leader: str, topic: str, value: bytes) -> None:
        host, port = leader.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._request = _request(topic, value)
        # The length, the correlation id, the number of topics, the topic, the number of partitions
        # and the partition.
        self._error_code = 4 + 4 + 4 + len(_string(topic)) + 4 + 4

    def send(self) -> None:
        """Write the record, and wait for its acknowledgement."""
        self._socket.sendall(self._request)
        response = self._socket.recv(4096)
        (code,) = struct.unpack_from(">h", response, self._error_code)
        if code != 0:
            raise SystemExit(f"the raw socket's record was refused: error code {code}")
