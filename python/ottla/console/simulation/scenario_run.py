"""A running scenario, in its own thread.

Invariant: however the scenario ends, the cluster is restored and the traffic continues.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from ottla.console.simulation.actions import perform
from ottla.console.simulation.cluster import SimulatedCluster
from ottla.console.simulation.commentary import Commentary
from ottla.console.simulation.plan import Scenario, Step
from ottla.console.simulation.tally import Proof
from ottla.console.simulation.traffic import Traffic
from ottla.errors import KafkaError

_log = logging.getLogger(__name__)

# Seconds in which all records must be acknowledged and read once the cluster is restored.
_PROOF_TIMEOUT = 30.0
_INTERVAL = 0.1


class ScenarioRun:
    """A run of a scenario.

    Args:
        scenario: the scenario.
        seed: its seed.
        cluster: the cluster.
        traffic: the traffic.
        commentary: the commentary, which shows its sentences.
        speed: the factor by which its pauses are shorter than normal.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        cluster: SimulatedCluster,
        traffic: Traffic,
        commentary: Commentary,
        speed: float,
    ) -> None:
        self._scenario = scenario
        self._seed = seed
        self._cluster = cluster
        self._traffic = traffic
        self._commentary = commentary
        self._speed = speed
        self.steps: Sequence[Step] = scenario.steps(seed, cluster.layout)
        self._done = 0
        self._outcome = "running"
        self._proof: Proof | None = None
        self._cancelled = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="ottla-simulation-scenario", daemon=True
        )

    @property
    def is_running(self) -> bool:
        """Whether the scenario is still running."""
        return self._outcome == "running"

    def start(self) -> None:
        """Start the scenario."""
        self._thread.start()

    def cancel(self, timeout: float | None = None) -> None:
        """Cancel the scenario, and wait until the cluster is restored."""
        self._cancelled.set()
        self._thread.join(timeout)

    def state(self) -> dict[str, Any]:
        """Return the values that the page shows."""
        proof = self._proof
        return {
            "name": self._scenario.name,
            "title": self._scenario.title,
            "seed": self._seed,
            "step": self._done,
            "steps": len(self.steps),
            "outcome": self._outcome,
            "proof": None if proof is None else {**vars(proof), "holds": proof.holds},
        }

    def _run(self) -> None:
        outcome = "failed"
        try:
            # Restore first, so that the same seed always meets the same cluster.
            self._cluster.restore()
            self._commentary.action(f"{self._scenario.title} (seed {self._seed}).")
            outcome = "finished" if self._perform_steps() else "cancelled"
            self._cluster.restore()
            if outcome == "finished":
                outcome = self._prove()
            if outcome == "cancelled":
                self._commentary.action("The scenario was cancelled, and the cluster is restored.")
        except Exception as error:  # noqa: BLE001 - the page shows it
            outcome = "failed"
            if not isinstance(error, KafkaError):
                _log.exception("a scenario has failed")
            self._commentary.note(f"The scenario has failed: {error}")
            self._restore_at_last()
        finally:
            self._traffic.resume()
            self._outcome = outcome

    def _perform_steps(self) -> bool:
        """Perform the steps; return False if the scenario was cancelled meanwhile."""
        began = time.monotonic()
        for step in self.steps:
            if self._cancelled.wait(max(0.0, began + step.at / self._speed - time.monotonic())):
                return False
            if step.action is not None:
                perform(self._cluster, step.action, step.parameters)
            self._commentary.note(step.text)
            self._done += 1
        return True

    def _prove(self) -> str:
        """Wait until all records are read, and compare the counts; return the outcome."""
        deadline = time.monotonic() + _PROOF_TIMEOUT
        self._traffic.pause(_PROOF_TIMEOUT)
        while True:
            proof = self._traffic.proof()
            if proof.holds or time.monotonic() > deadline:
                break
            if self._cancelled.wait(_INTERVAL):
                return "cancelled"
        self._proof = proof
        self._commentary.note(str(proof))
        return "finished"

    def _restore_at_last(self) -> None:
        try:
            self._cluster.restore()
        except (KafkaError, OSError) as error:
            _log.warning("the cluster of the simulation was not restored: %s", error)
