"""The floor of a client that consumes: blocking sockets, and one buffer for all responses.

It reads what any client must read, and looks only at the heads of batches: it checks no CRC, and no
record becomes anything that an application could use.
"""

from __future__ import annotations

import socket
import struct

from benches.peers import raw_protocol
from benches.peers.consumers.task import Call, Kind, Task

NAME = "raw socket"
_MAX_BYTES = 4_000_000


class _Leader:
    """A broker, and the next offsets of the partitions that it leads."""

    def __init__(self, address: str) -> None:
        self.socket = raw_protocol.connect(address)
        self.offsets: dict[int, int] = {}

    def request(self, topic: str) -> None:
        self.socket.sendall(raw_protocol.fetch_request(topic, self.offsets, _MAX_BYTES))

    def read(self, buffer: memoryview) -> memoryview:
        (size,) = struct.unpack(">i", self.socket.recv(4, socket.MSG_WAITALL))
        got = 0
        while got < size:
            got += self.socket.recv_into(buffer[got:size])
        return buffer[:size]


def _leaders(task: Task) -> list[_Leader]:
    leaders: dict[str, _Leader] = {}
    for partition, address in raw_protocol.leaders(task.bootstrap, task.topic).items():
        if address not in leaders:
            leaders[address] = _Leader(address)
        leaders[address].offsets[partition] = 0
    return list(leaders.values())


def _read(task: Task) -> None:
    leaders, buffer = _leaders(task), memoryview(bytearray(4 * _MAX_BYTES))
    for leader in leaders:
        leader.request(task.topic)
    while True:
        for leader in leaders:
            count = 0
            response = leader.read(buffer)
            for partition, records in raw_protocol.fetched(task.topic, response):
                for offset, number in raw_protocol.batch_ends(records):
                    leader.offsets[partition] = offset
                    count += number
            if count and not task.take(count, count * task.value_bytes):
                return
            leader.request(task.topic)


CALLS = [Call("recv_into", Kind.BYTES, _read)]
