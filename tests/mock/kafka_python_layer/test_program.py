"""Programs and processes on the layer: unchanged imports, Ctrl-C, objects that nobody closes."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from ottla.compat.kafka import ConsumerRebalanceListener, KafkaConsumer
from ottla.testing import MockCluster
from tests.support.child import assert_interruptible

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


WATCHED = """
import sys
import ottla.compat

class Watch:
    seen = []

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        cls.seen.append(name)

sys.meta_path.insert(0, Watch)
ottla.compat.install("kafka")
import kafka.net.sasl
assert "kafka" in Watch.seen and "kafka.net.sasl" in Watch.seen
assert (kafka.__name__, kafka.net.sasl.__name__) == ("kafka", "kafka.net.sasl")
"""


def test_instrumentation_sees_the_imports_of_the_client() -> None:
    # Regression: ddtrace's patches waited for a module of this name, and for its finder.
    subprocess.run([sys.executable, "-c", WATCHED], timeout=120, check=True)


FORKING = """
import os, sys, warnings
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import IllegalStateError

# Python 3.12 warns of each fork in a process with threads.
warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)
producer = KafkaProducer(bootstrap_servers=sys.argv[1])
consumer = KafkaConsumer("orders", bootstrap_servers=sys.argv[1], auto_offset_reset="earliest")
producer.send("orders", b"parent").get(30)
child = os.fork()
if child == 0:
    for call in (lambda: producer.send("orders", b"v"), lambda: consumer.poll(10)):
        try:
            call()
        except IllegalStateError:
            print("refused", flush=True)
    with KafkaProducer(bootstrap_servers=sys.argv[1]) as own:
        own.send("orders", b"child").get(30)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print(sorted([next(consumer).value, next(consumer).value]))
"""


def test_a_forked_child_leaves_its_parent_alone(mock_cluster: MockCluster, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(FORKING)
    command = [sys.executable, "-m", "ottla.compat", "kafka", str(program), mock_cluster.bootstrap]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "refused\nrefused\n[b'child', b'parent']\n"
    assert mock_cluster.end_offset("orders", 0) == 2


# R1, and R4 for callbacks: what a consumer holds does not keep it alive.
SETUP = """
from ottla.compat.kafka import KafkaConsumer, KafkaProducer
cluster = MockCluster(brokers=1)
cluster.create_topic("t")
"""

WAITS = {
    "iteration": "for _ in KafkaConsumer('t', bootstrap_servers=cluster.bootstrap): pass",
    "nothing to read": "KafkaConsumer(bootstrap_servers=cluster.bootstrap).poll(timeout_ms=60_000)",
    "flush": (
        "producer = KafkaProducer(bootstrap_servers=cluster.bootstrap)\n"
        "    cluster.inject(Fault.silence(), api='Produce')\n"
        "    producer.send('t', b'v')\n    producer.flush()"
    ),
}


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_wait(wait: str) -> None:
    program = (
        f"{SETUP}say('waiting')\ntry:\n    {WAITS[wait]}\n"
        "except KeyboardInterrupt:\n    say('interrupted')\nos._exit(0)"
    )
    assert_interruptible(program, within=0.5)


def test_a_consumer_that_nobody_closes_is_freed(mock_cluster: MockCluster) -> None:
    class Listener(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked: object) -> None:
            pass

        def on_partitions_assigned(self, assigned: object) -> None:
            pass

    mock_cluster.create_topic("orders")
    consumer = KafkaConsumer(bootstrap_servers=mock_cluster.bootstrap, group_id="g")
    consumer.subscribe(["orders"], listener=Listener())
    consumer.poll(timeout_ms=10)
    freed = weakref.ref(consumer)
    del consumer
    gc.collect()
    assert freed() is None
