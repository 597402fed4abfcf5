"""The floor of a client that produces: one request, built in advance, on a blocking socket.

It does no more than any client must: one write and one read a record, by the thread that waits. It
has no idempotence and looks only at the response's error code.
"""

from __future__ import annotations

from benches.peers import raw_protocol


class RawProducer:
    """Writes the same record to partition 0 of a topic again and again."""

    def __init__(self, leader: str, topic: str, value: bytes) -> None:
        self._socket = raw_protocol.connect(leader)
        self._topic = topic
        self._request = raw_protocol.produce_request(topic, 0, [value])

    def send(self) -> None:
        """Write the record, and wait for its acknowledgement."""
        self._socket.sendall(self._request)
        raw_protocol.check_produced(self._topic, self._socket.recv(4096))
