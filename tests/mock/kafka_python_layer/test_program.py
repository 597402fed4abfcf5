"""A program that imports kafka-python, run on the layer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ottla.testing import MockCluster

PROGRAM = """
import sys
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.consumer.fetcher import ConsumerRecord
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError, NoBrokersAvailable, TopicAlreadyExistsError
from kafka.partitioner.default import murmur2
from kafka.producer.future import FutureRecordMetadata, RecordMetadata
from kafka.sasl.oauth import AbstractTokenProvider
from kafka.structs import OffsetAndMetadata
import kafka, kafka.codec, kafka.net.sasl.oauth, kafka.oauth.abstract, kafka.protocol.consumer

bootstrap = sys.argv[1]
admin = KafkaAdminClient(bootstrap_servers=bootstrap)
admin.create_topics([NewTopic("orders", 1, 1)])
try:
    admin.create_topics([NewTopic("orders", 1, 1)])
except TopicAlreadyExistsError as error:
    assert isinstance(error, KafkaError)
producer = KafkaProducer(bootstrap_servers=bootstrap.split(","))
future = producer.send("orders", value=b"v", key=b"k")
assert isinstance(future, FutureRecordMetadata) and isinstance(future.get(30), RecordMetadata)
consumer = KafkaConsumer("orders", bootstrap_servers=bootstrap, auto_offset_reset="earliest")
record = next(consumer)
assert isinstance(record, ConsumerRecord)
assert consumer.assignment() == {TopicPartition("orders", 0)}
print(kafka.__file__.endswith("ottla/compat/kafka/__init__.py"), record.value, murmur2(b"a"))
# The producer is not closed: what it holds is sent at exit.
producer.send("orders", b"at exit")
"""


def test_a_program_runs_unchanged(mock_cluster: MockCluster, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "ottla.compat", "kafka", str(program), mock_cluster.bootstrap]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["True", "b'v'", "2731586172"]
    assert mock_cluster.end_offset("orders", 0) == 2
