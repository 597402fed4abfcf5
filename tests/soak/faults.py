"""The faults of a run: one after the other, at moments and places that a seed decides.

Invariants: one fault at a time; the next one comes once every replica is in sync again and a pause
has passed, so that a majority of each partition lives all the time, and nothing that is sent may
fail.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tests.soak.leaders import OFFSETS, SHARES, TRANSACTIONS, move_leaders
from tests.soak.plan import Plan
from tests.soak.processes import PartProcess
from tests.soak.settings import PARTITIONS, TOPICS
from tests.support.kafka_cluster import KafkaCluster

log = logging.getLogger("soak")
_DOWN = (1.0, 8.0)
"""Seconds for which a broker is down or frozen, or connections are slow."""
KINDS = (
    "broker killed",
    "broker stopped",
    "broker frozen",
    "leaders moved",
    "coordinators moved",
    "connections cut",
    "requests lost",
    "responses lost",
    "connections slow",
    "connections frozen",
)
_INTERNAL = {OFFSETS: 5, TRANSACTIONS: 5, SHARES: 5}


class Faults(threading.Thread):
    """Injects faults until it is stopped, and heals the last one."""

    def __init__(self, kafka: KafkaCluster, gateway: PartProcess, plan: Plan) -> None:
        super().__init__(name="faults", daemon=True)
        self._kafka, self._gateway, self._pause = kafka, gateway, plan.pause
        self._random = random.Random(plan.seed)
        self._began = time.monotonic()
        self.stop = threading.Event()
        self.injected: Counter[str] = Counter()
        self.moments: list[tuple[float, str]] = []
        """Seconds since the start, and the kind."""
        self.leaders_moved = 0
        self.error: BaseException | None = None
        kinds: Mapping[str, Callable[[int], None]] = {
            "broker killed": self._kill,
            "broker stopped": self._stop_broker,
            "broker frozen": self._freeze,
            "leaders moved": self._move_leaders,
            "coordinators moved": self._move_coordinators,
            "connections cut": self._cut,
            "requests lost": lambda _: self._lose("before"),
            "responses lost": lambda _: self._lose("after"),
            "connections slow": self._slow,
            "connections frozen": self._freeze_connections,
        }
        assert tuple(kinds) == KINDS
        self._kinds = {kind: kinds[kind] for kind in plan.only or KINDS}

    def run(self) -> None:
        """Inject faults; all kinds take turns in a random order."""
        turn: list[str] = []
        try:
            while not self.stop.wait(self._pause * self._random.uniform(0.5, 1.5)):
                if not turn:
                    turn = self._random.sample(sorted(self._kinds), len(self._kinds))
                self._inject(turn.pop())
        except BaseException as error:
            log.exception("no more faults")
            self.error = error
        finally:
            self._gateway.command("clear")
            self._kafka.heal()

    def _inject(self, kind: str) -> None:
        broker = self._random.choice(sorted(self._kafka.nodes))
        self.moments.append((time.monotonic() - self._began, kind))
        log.info("%6.0f s: %s (broker %d)", self.moments[-1][0], kind, broker)
        self._kinds[kind](broker)
        self.injected[kind] += 1
        self._wait_until_in_sync()

    def _wait(self) -> None:
        self.stop.wait(self._random.uniform(*_DOWN))

    def _kill(self, broker: int) -> None:
        self._kafka.kill(broker)
        self._wait()
        self._kafka.restart(broker)

    def _stop_broker(self, broker: int) -> None:
        self._kafka.nodes[broker].shut_down()
        self._wait()
        self._kafka.restart(broker)

    def _freeze(self, broker: int) -> None:
        self._kafka.nodes[broker].pause()
        self._wait()
        self._kafka.nodes[broker].resume()

    def _move_leaders(self, _: int) -> None:
        self.leaders_moved += move_leaders(self._kafka.bootstrap, list(TOPICS), self._random)

    def _move_coordinators(self, _: int) -> None:
        self.leaders_moved += move_leaders(self._kafka.bootstrap, list(_INTERNAL), self._random)

    def _command(self, fault: str, *arguments: object, **conditions: object) -> None:
        order = {"fault": fault, "arguments": arguments, "conditions": conditions}
        self._gateway.command(json.dumps(order))

    def _cut(self, _: int) -> None:
        self._command("cut", self._random.randrange(5_000), times=self._random.randrange(5, 50))

    def _lose(self, when: str) -> None:
        self._command("disconnect", when, times=self._random.randrange(1, 10))

    def _slow(self, _: int) -> None:
        self._command("slow", 20_000)
        self._wait()
        self._gateway.command("clear")

    def _freeze_connections(self, broker: int) -> None:
        self._command("freeze", broker=broker)
        self._wait()
        self._gateway.command("clear")

    def _wait_until_in_sync(self) -> None:
        replicas = len(self._kafka.nodes)
        for topic in TOPICS:
            self._wait_for_topic(topic, range(PARTITIONS), replicas)
        for topic, partitions in _INTERNAL.items():
            self._wait_for_topic(topic, range(partitions), replicas)

    def _wait_for_topic(self, topic: str, partitions: Sequence[int], replicas: int) -> None:
        for partition in partitions:
            self._kafka.wait_for_isr(topic, partition, replicas)
