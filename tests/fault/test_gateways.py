"""Jobs behind gateways, while brokers and gateways are killed -9: nothing is lost or doubled.

The brokers' listener for clients asks for a certificate, which only the gateways have.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ottla
from tests.fault.copy_job import Copiers, JavaReader, OttlaReader
from tests.fault.numbered_records import chunks, compare, read, write
from tests.support.arrow import read_rows
from tests.support.gateway_process import GatewayProcess, gateway_process
from tests.support.guarded_kafka import GuardedKafka
from tests.support.jars import REPOSITORY
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.fault]

log = logging.getLogger(__name__)
TOOLS = "org.apache.kafka.tools"
PARTITIONS = 4
RECORDS = 40_000
ROUNDS = 3
TIMEOUT = 400.0

Kill = Callable[[int], None]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedKafka]:
    """Provide three brokers that only the gateways can reach."""
    kafka = GuardedKafka(tmp_path_factory.mktemp("certificates"), fast_failover=True)
    with kafka:
        yield kafka


@pytest.fixture
def gateways(guarded: GuardedKafka) -> Iterator[list[GatewayProcess]]:
    """Provide two gateways with the same cluster, which keep their ports."""
    options = [f"-X{key}={value}" for key, value in guarded.gateway_config.items()]
    one, two = (gateway_process(guarded.guarded, *options) for _ in range(2))
    with one, two:
        yield [one, two]
        for gateway in (one, two):
            assert "panicked" not in gateway.errors, gateway.errors
    guarded.heal()


def _topic(kafka: GuardedKafka) -> str:
    name = f"gateways-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, PARTITIONS, 3, {"min.insync.replicas": "2"})
    return name


def _kill_broker(kafka: GuardedKafka, topic: str) -> Kill:
    def kill(turn: int) -> None:
        broker = sorted(kafka.nodes)[turn % len(kafka.nodes)]
        kafka.kill(broker)
        kafka.restart(broker)
        for partition in range(PARTITIONS):
            kafka.wait_for_isr(topic, partition, 3)

    return kill


def _kill_gateway(gateways: Sequence[GatewayProcess]) -> Kill:
    def kill(turn: int) -> None:
        gateway = gateways[turn % len(gateways)]
        gateway.kill()
        gateway.start()

    return kill


@pytest.mark.parametrize("victim", ["broker", "gateway"])
@pytest.mark.parametrize("client", ["ottla", "Java"])
def test_verifiable_clients(
    guarded: GuardedKafka, gateways: list[GatewayProcess], client: str, victim: str
) -> None:
    """What is acknowledged is read at its offset, and once."""
    topic = _topic(guarded)
    # Its bootstrap address is that of one gateway, which is the one that is killed.
    arguments = ["--bootstrap-server", gateways[0].bootstrap, "--topic", topic]
    command = guarded.tool(f"{TOOLS}.VerifiableProducer")
    if client == "ottla":
        command = [sys.executable, "-m", "ottla", "verifiable-producer"]
    rate = ("--throughput", "500", "--acks", "-1")
    kill = _kill_broker(guarded, topic) if victim == "broker" else _kill_gateway(gateways[:1])
    producer = subprocess.Popen(
        [*command, *arguments, *rate], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    )
    lines = _Lines(producer)
    try:
        lines.wait_for_more(500)
        for turn in range(ROUNDS):
            kill(turn)
            lines.wait_for_more(500)
    finally:
        producer.terminate()
        events = lines.end()
    acknowledged = {
        (event["partition"], event["offset"]): event["value"]
        for event in events
        if event["name"] == "producer_send_success"
    }
    rows = read_rows(ottla.scan(topic, guarded.bootstrap))
    stored = {(row["partition"], row["offset"]): row["value"].decode() for row in rows}
    lost = {place: value for place, value in acknowledged.items() if stored.get(place) != value}
    assert not lost, (len(acknowledged), lost)
    # Both set retries=0: a lost connection fails a record, and doubles none.
    assert len(set(stored.values())) == len(stored)


@pytest.mark.parametrize("victim", ["broker", "gateway"])
def test_an_idempotent_producer(
    guarded: GuardedKafka, gateways: list[GatewayProcess], victim: str
) -> None:
    """It repeats what a killed connection left open: Java reads each record once, in order."""
    topic, stop = _topic(guarded), threading.Event()
    kill = _kill_broker(guarded, topic) if victim == "broker" else _kill_gateway(gateways)
    both = ",".join(gateway.bootstrap for gateway in gateways)
    sent, goals = 0, list[int]()

    def goes_on(first: int) -> bool:
        nonlocal sent
        sent = first
        return not stop.is_set()

    with ThreadPoolExecutor(1) as threads:
        config: dict[str, str | int] = {"reconnect.backoff.max.ms": 500}
        writing = threads.submit(write, both, topic, chunks(200, 0.05, goes_on), config)
        try:
            for turn in range(ROUNDS):
                goals.append(sent + 2000)
                wait_until(lambda: sent >= goals[-1] or writing.done())
                kill(turn)
        finally:
            stop.set()
        report = writing.result(TIMEOUT)
    compare(report, read(guarded, topic, PARTITIONS)).check(f"{victim} killed")
    assert not report.errors, report.errors


class _Lines:
    """Reads a verifiable producer's events in a thread."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._events: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            self._events.extend(json.loads(line) for line in lines)

    def wait_for_more(self, count: int) -> None:
        """Wait until it has acknowledged more records."""
        goal = self._acknowledged() + count
        deadline = time.monotonic() + TIMEOUT
        while self._acknowledged() < goal:
            assert self._process.poll() is None, "the producer ended"
            assert time.monotonic() < deadline, f"{self._acknowledged()} of {goal}"
            time.sleep(0.05)

    def end(self) -> list[dict[str, Any]]:
        """Wait until the process has ended; return all events."""
        self._process.wait(TIMEOUT)
        self._thread.join(TIMEOUT)
        return self._events

    def _acknowledged(self) -> int:
        return sum(event["name"] == "producer_send_success" for event in self._events[:])


@pytest.mark.parametrize("group", [False, True], ids=["assigned", "group"])
def test_the_copy_job(
    guarded: GuardedKafka, gateways: list[GatewayProcess], tmp_path: Path, *, group: bool
) -> None:
    """Transactions copy each integer once and in order, while brokers, gateways and copiers die."""
    source, target = _topic(guarded), _topic(guarded)
    numbers = range(RECORDS)
    with ottla.Producer(guarded.bootstrap) as producer:
        producer.send_batch(
            source, [b"%d" % n for n in numbers], partitions=[n % PARTITIONS for n in numbers]
        )
    readers = [reader(guarded, target, PARTITIONS) for reader in (OttlaReader, JavaReader)]
    both = ",".join(gateway.bootstrap for gateway in gateways)
    copiers = Copiers(both, source, target, PARTITIONS, tmp_path, group=group)
    kills = [_kill_gateway(gateways), _kill_broker(guarded, target), copiers.kill]
    started, turn, gave_up = time.monotonic(), 0, list[str]()
    try:
        while (least := min(reader.count() for reader in readers)) < RECORDS:
            where = f"{least} of {RECORDS} are committed; copiers gave up: {gave_up}"
            assert time.monotonic() - started < TIMEOUT, where
            time.sleep(0.5)
            # At even steps of the job, so that it is not over before all of them.
            if turn < 3 * ROUNDS and least >= RECORDS * turn // (4 * ROUNDS):
                kills[turn % 3](turn // 3)
                turn += 1
            gave_up += copiers.restart_failed()
        # A record that is copied twice would still arrive.
        time.sleep(3)
    finally:
        copiers.end()
        for reader in readers:
            reader.end()
        guarded.heal()
    for reader in readers:
        for partition, values in reader.values.items():
            assert values == list(range(partition, RECORDS, PARTITIONS)), type(reader)
    assert turn == 3 * ROUNDS, "the job was over before all kills: make it larger"
    log.warning("%d kills, %d gave up, %.0f s", turn, len(gave_up), time.monotonic() - started)


def test_one_of_two_gateways_dies(guarded: GuardedKafka, gateways: list[GatewayProcess]) -> None:
    """Clients that bootstrap from both continue with the other one, which has all brokers."""
    topic = _topic(guarded)
    both = ",".join(gateway.bootstrap for gateway in gateways)
    config = {"group.id": topic, "auto.offset.reset": "earliest", "reconnect.backoff.max.ms": 500}
    found: list[bytes | None] = []
    with ottla.Producer(both) as producer, ottla.Consumer(both, config) as consumer:
        consumer.subscribe([topic])

        def send_and_read(first: int) -> None:
            sent = [producer.send(topic, b"%d" % n) for n in range(first, first + 100)]
            for delivery in sent:
                delivery.result(timeout=120)
            deadline = time.monotonic() + TIMEOUT
            while len(found) < first + 100:
                assert time.monotonic() < deadline, len(found)
                found.extend(record.value for record in consumer.poll(timeout=0.2))
            consumer.commit()

        send_and_read(0)
        for number, gateway in enumerate(gateways, 1):
            gateway.kill()
            send_and_read(200 * number - 100)
            gateway.start()
            send_and_read(200 * number)
    assert sorted(map(int, filter(None, found))) == [*range(500)]
