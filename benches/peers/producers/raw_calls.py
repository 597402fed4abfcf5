"""The floor of a client that produces: requests that were built in advance, on blocking sockets.

It writes what any client must write. Nothing takes the records from an application: no record is
copied, and no CRC is calculated, while it is measured.
"""

from __future__ import annotations

import itertools
import socket
import struct

import ottla
from benches.peers import raw_protocol
from benches.peers.producers.task import AT_ONCE, BATCH_SIZE, Call, Kind, Task, values

NAME = "raw socket"
_RECORD_OVERHEAD = 10


class _Partition:
    """A partition's request, and the socket of its leader."""

    def __init__(self, address: str, task: Task, number: int, some: list[bytes]) -> None:
        self.socket = raw_protocol.connect(address)
        self.topic = task.topic
        self.request = raw_protocol.produce_request(task.topic, number, some)

    def write(self) -> None:
        self.socket.sendall(self.request)

    def read(self) -> None:
        size = self.socket.recv(4, socket.MSG_WAITALL)
        (rest,) = struct.unpack(">i", size)
        response = self.socket.recv(rest, socket.MSG_WAITALL)
        raw_protocol.check_produced(self.topic, size + response)


def _write(task: Task) -> None:
    count = _records_of_request(task.value_bytes)
    some = values(task.value_bytes)[:count]
    with ottla.Producer(task.bootstrap) as producer:
        producer.send(task.topic, some[0]).result()
    partitions = [
        _Partition(address, task, number, some)
        for number, address in raw_protocol.leaders(task.bootstrap, task.topic).items()
    ]
    requests = itertools.islice(itertools.cycle(partitions), task.records // count)
    with task.measured():
        in_flight: list[_Partition] = []
        for partition in requests:
            if len(in_flight) == len(partitions):
                in_flight.pop(0).read()
            partition.write()
            in_flight.append(partition)
        for partition in in_flight:
            partition.read()


def _records_of_request(value_bytes: int) -> int:
    """As many as the other clients send in a batch, so that all records fill whole requests."""
    fitting = round(1.04 * BATCH_SIZE) // (value_bytes + _RECORD_OVERHEAD)
    return max(count for count in range(1, fitting + 1) if AT_ONCE % count == 0)


CALLS = [Call("sendall", Kind.BYTES, _write, codecs=("none",))]
