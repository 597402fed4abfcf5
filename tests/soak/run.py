"""The run: starts brokers and parts, injects faults, samples, stops everything in order, judges.

Invariant: whatever fails, the rest is still judged, and all processes end. Writers stop first, then
what reads and copies their numbers, then the readers of the copies, so that each can finish.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
import os
import platform
import shutil
import time
from collections.abc import Sequence
from importlib.metadata import version

import ottla
from ottla.admin import ConfigResource
from ottla.testing import MockRegistry
from tests.soak.faults import Faults
from tests.soak.judgement import judge_deliveries, judge_parts
from tests.soak.outcome import Outcome
from tests.soak.plan import Plan
from tests.soak.processes import PartProcess
from tests.soak.settings import COPIED, NUMBERS, PARTITIONS, SHARE_GROUP, SPARK, TOPICS, Settings
from tests.support import kafka_properties, kafka_releases
from tests.support.kafka_cluster import KafkaCluster

log = logging.getLogger("soak")
_START, _FINISH, _END_OF_FAULTS = 120.0, 180.0, 300.0
_SHARE_CONFIG = {
    "share.auto.offset.reset": "earliest",
    "share.record.lock.duration.ms": "10000",
    "share.delivery.count.limit": "10",
}
WRITERS = [("writing",), ("typed_writing",), ("short_lived",)]
COPIERS = [
    ("reading", NUMBERS, "classic"),
    ("reading", NUMBERS, "consumer"),
    ("sharing",),
    ("copying",),
    ("typed_reading",),
    ("spark_copying",),
]
READERS = [("reading", COPIED, "consumer"), ("reading", SPARK, "classic")]


def soak(plan: Plan) -> Outcome:
    """Run it; the result is in the directory, too."""
    with contextlib.ExitStack() as stack:
        kafka = stack.enter_context(KafkaCluster(config=kafka_properties.FAST_FAILOVER))
        registry = stack.enter_context(MockRegistry())
        for topic in TOPICS:
            kafka.create_topic(topic, PARTITIONS, 3, {"min.insync.replicas": "2"})
        with ottla.Admin(kafka.bootstrap) as admin:
            admin.alter_configs({ConfigResource("group", SHARE_GROUP): _SHARE_CONFIG})
        direct = Settings(
            kafka.bootstrap, "", registry.url, plan.directory, plan.rate, plan.seed, plan.interval
        )
        gateway = stack.enter_context(PartProcess(direct, "gateway"))
        address = gateway.wait_for("listening", _START)["bootstrap"]
        settings = Settings(**{**vars(direct), "gateway": address})
        waves = [
            [stack.enter_context(PartProcess(settings, *part)) for part in wave]
            for wave in (WRITERS, COPIERS, READERS)
        ]
        return _Run(plan, kafka, [*waves, [gateway]]).run()


class _Run:
    """A run whose parts have started."""

    def __init__(
        self, plan: Plan, kafka: KafkaCluster, waves: Sequence[Sequence[PartProcess]]
    ) -> None:
        self._plan, self._kafka, self._waves = plan, kafka, waves
        self._parts = [part for wave in waves for part in wave]
        now = dt.datetime.now(dt.timezone.utc)
        self._outcome = Outcome(
            f"{now:%Y-%m-%d %H:%M} UTC", 0.0, _parameters(plan), _versions(kafka)
        )

    def run(self) -> Outcome:
        outcome = self._outcome
        self._wait_until_all_have_begun()
        [gateway] = self._waves[-1]
        faults = Faults(self._kafka, gateway, self._plan)
        faults.start()
        outcome.seconds = self._sample()
        faults.stop.set()
        faults.join(_END_OF_FAULTS)
        if faults.is_alive():
            outcome.problems.append("the last fault did not heal")
        if faults.error is not None:
            outcome.problems.append(f"the brokers did not recover from a fault: {faults.error!r}")
        outcome.faults = {**faults.injected, "leaders that moved": faults.leaders_moved}
        outcome.moments = faults.moments
        for wave in self._waves:
            self._stop(wave)
        self._keep_logs_of_brokers()
        judge_parts(self._parts, self._plan.directory, outcome)
        for findings in judge_deliveries(self._plan.directory, self._kafka.bootstrap):
            outcome.counts[findings.name] = findings.counts
            outcome.problems += findings.problems
        outcome.save(self._plan.directory)
        return outcome

    def _wait_until_all_have_begun(self) -> None:
        """Wait until every part has counted something: Spark takes half a minute."""
        deadline = time.monotonic() + _START
        for part in self._parts[:-1]:
            while not part.counts and not part.has_ended and time.monotonic() < deadline:
                time.sleep(0.5)
            log.info("%s: %s", part.name, part.counts or "NOT BEGUN")

    def _sample(self) -> float:
        """Sample all parts until the time is over, or one has ended; return the seconds."""
        started = time.monotonic()
        shown = started
        while (now := time.monotonic() - started) < self._plan.minutes * 60:
            for part in self._parts:
                part.sample(now)
            if ended := [part.name for part in self._parts if part.has_ended]:
                self._outcome.problems += [f"{name} ended during the run" for name in ended]
                return now
            if time.monotonic() - shown >= 60:
                shown = time.monotonic()
                self._show(now)
            time.sleep(self._plan.interval)
        return time.monotonic() - started

    def _show(self, now: float) -> None:
        unexpected = sum(part.counts.get("unexpected", 0) for part in self._parts)
        memory = ", ".join(
            f"{name} {samples[-1].memory:.0f}"
            for part in self._parts
            for name, samples in part.samples.items()
        )
        log.info("%6.0f s: %d unexpected exceptions; MiB: %s", now, unexpected, memory)

    def _keep_logs_of_brokers(self) -> None:
        for number, node in self._kafka.nodes.items():
            shutil.copy(node.log, self._plan.directory / f"broker-{number}.log")

    def _stop(self, wave: Sequence[PartProcess]) -> None:
        for part in wave:
            part.command("stop")
        deadline = time.monotonic() + _FINISH
        for part in wave:
            if problem := part.end(max(deadline - time.monotonic(), 1)):
                self._outcome.problems.append(problem)
            log.info("%s: %s", part.name, problem or part.counts)


def _parameters(plan: Plan) -> dict[str, object]:
    return {
        "minutes": plan.minutes,
        "rate": plan.rate,
        "seed": plan.seed,
        "pause": plan.pause,
        "interval": plan.interval,
    }


def _versions(kafka: KafkaCluster) -> dict[str, str]:
    return {
        "ottla": ottla.__version__,
        "Kafka": kafka_releases.version(kafka.release),
        "PySpark": version("pyspark"),
        "pyarrow": version("pyarrow"),
        "Python": platform.python_version(),
        "Linux": platform.release(),
        "processors": str(os.cpu_count()),
    }
