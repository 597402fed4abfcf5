"""A member of a group of Kafka Streams, which speaks the protocol and processes nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.jars import java_source
from tests.support.kafka_cluster import KafkaCluster

_TIMEOUT = 60


@contextmanager
def streams_member(kafka: KafkaCluster, group: str, topic: str, changelog: str) -> Iterator[str]:
    """Yield the id of a member that has the tasks of its one subtopology; it leaves at the end.

    The coordinator creates the changelog topic.
    """
    host, _, port = kafka.bootstrap.partition(",")[0].rpartition(":")
    with subprocess.Popen(
        [*java_source("StreamsMember.java"), host, port, group, topic, changelog],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            member_id = process.stdout.readline().strip()
            assert member_id, "the member has ended"
            yield member_id
            process.stdin.write("\n")
            process.stdin.close()
            assert process.wait(_TIMEOUT) == 0
        finally:
            process.kill()
