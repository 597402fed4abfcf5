"""The simulation: a mock cluster with traffic, to watch how a client handles what happens to it.

``ottla console --simulate`` serves one. Its page has actions, such as killing a broker, scenarios
that are made of them, and a running commentary.
"""

from __future__ import annotations

from ottla.console.simulation.simulation import Simulation

__all__ = ["Simulation"]
