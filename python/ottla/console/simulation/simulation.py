"""A simulation: a cluster, its traffic, the commentary, and the actions of a user.

Invariants: only one scenario runs at a time, and nothing else changes the cluster meanwhile;
``close()`` ends all threads within seconds.
"""

from __future__ import annotations

import secrets
import threading
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from ottla import Producer
from ottla.console.simulation.actions import ACTIONS, perform
from ottla.console.simulation.cluster import SimulatedCluster
from ottla.console.simulation.commentary import Commentary
from ottla.console.simulation.scenario_run import ScenarioRun
from ottla.console.simulation.scenarios import SCENARIOS
from ottla.console.simulation.traffic import Traffic
from ottla.console.simulation.watcher import Watcher
from ottla.errors import ClosedError, ConfigError, StateError
from ottla.testing import MockCluster

_MAX_SEED = 2**32 - 1
# Random seeds are short, so that they are easy to type.
_CHOSEN_SEEDS = 10_000
_CANCEL_TIMEOUT = 10.0


class Simulation:
    """A mock cluster with traffic. Use it in a ``with`` block, or ``close()`` it.

    ```python
    with Simulation() as simulation:
        with ottla.console.serve(simulation.producer, simulation=simulation) as console:
            print(console.url)
    ```

    Args:
        brokers: the number of brokers, 3 to 12.
        speed: the factor by which the pauses of scenarios are shorter than normal.

    Raises:
        ConfigError: an argument is wrong.
    """

    def __init__(self, brokers: int = 3, *, speed: float = 1.0) -> None:
        if not speed > 0:
            raise ConfigError(f"speed: expected a number above 0, got {speed}")
        self._speed = speed
        self._lock = threading.Lock()
        self._run: ScenarioRun | None = None
        self._is_closed = False
        self.commentary = Commentary()
        with ExitStack() as stack:
            self._cluster = SimulatedCluster(brokers, self.commentary.action)
            stack.callback(self._cluster.close)
            self._traffic = Traffic(self._cluster, self.commentary)
            stack.callback(self._traffic.close)
            self._watcher = Watcher(self._cluster, self._traffic, self.commentary)
            stack.callback(self._watcher.close)
            # Waiting requests get their responses, so that closing does not take longer.
            stack.callback(self._cluster.restore)
            self._ends = stack.pop_all()
        self._watcher.start()
        self._traffic.start()

    @property
    def mock(self) -> MockCluster:
        """The mock cluster."""
        return self._cluster.mock

    @property
    def producer(self) -> Producer:
        """The producer, for ``serve()``. The consumer uses the same client."""
        return self._traffic.producer

    def perform(self, name: object, parameters: object) -> str:
        """Perform an action.

        Args:
            name: its name.
            parameters: its parameters by name.

        Returns:
            A sentence that says what was done.

        Raises:
            ConfigError: there is no such action, or a parameter is wrong.
            StateError: the action is impossible now, or a scenario is running.
        """
        with self._lock:
            self._check_idle()
            return perform(self._cluster, name, parameters)

    def start_scenario(self, name: object, seed: object = None) -> dict[str, Any]:
        """Start a scenario.

        Args:
            name: its name.
            seed: the seed that determines brokers, partitions and times: the same seed leads to the
                same steps. Default: a random seed.

        Returns:
            The state of the run, with its steps.

        Raises:
            ConfigError: there is no such scenario, or the seed is wrong.
            StateError: a scenario is running.
        """
        scenario = SCENARIOS.get(name) if isinstance(name, str) else None
        if scenario is None:
            known = ", ".join(SCENARIOS)
            raise ConfigError(f"there is no scenario {repr(name)[:40]}: expected {known}")
        if seed is None:
            seed = secrets.randbelow(_CHOSEN_SEEDS)
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= _MAX_SEED:
            raise ConfigError(
                f"seed: expected a whole number from 0 to {_MAX_SEED}, got {repr(seed)[:40]}"
            )
        with self._lock:
            self._check_idle()
            self._run = run = ScenarioRun(
                scenario, seed, self._cluster, self._traffic, self.commentary, self._speed
            )
            run.start()
        return {**run.state(), "plan": [vars(step) for step in run.steps]}

    def cancel(self) -> None:
        """Cancel the running scenario, and wait until the cluster is restored.

        Raises:
            StateError: no scenario is running.
        """
        run = self._run
        if run is None or not run.is_running:
            raise StateError("no scenario is running")
        run.cancel(_CANCEL_TIMEOUT)

    def state(self) -> dict[str, Any]:
        """Return the values that the page shows."""
        proof = self._traffic.proof()
        metrics = self._traffic.producer.metrics()
        run = self._run
        return {
            **self._cluster.state(),
            "traffic": {
                **vars(proof),
                "retries": int(metrics["record-retry-total"]),
                "buffer_total": int(metrics["buffer-total-bytes"]),
                "buffer_available": int(metrics["buffer-available-bytes"]),
            },
            "actions": [action.to_json() for action in ACTIONS.values()],
            "scenarios": [
                {"name": each.name, "title": each.title, "about": each.about}
                for each in SCENARIOS.values()
            ],
            "running": run.state() if run is not None and run.is_running else None,
            "last": run.state() if run is not None and not run.is_running else None,
        }

    def _check_idle(self) -> None:
        if self._is_closed:
            raise ClosedError("the simulation was closed")
        if self._run is not None and self._run.is_running:
            raise StateError("a scenario is running: wait until it ends, or cancel it")

    def close(self) -> None:
        """End everything. Closing a closed one has no effect."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        if self._run is not None:
            self._run.cancel(_CANCEL_TIMEOUT)
        self._ends.close()

    def __enter__(self) -> Simulation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Simulation(brokers={len(self._cluster.layout.brokers)})"
