"""A point at which a test can stop the driver: between the decision and the commits.

Invariant: without the environment variable, which is read each time, it does nothing.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.spark.writing.exactly_once.decision import Decision

VARIABLE = "OTTLA_FAULT_POINT"
"""Names a function ``module:function``, which is called with the point's name and the decision."""


def reach(point: str, decision: Decision) -> None:
    """Call the test's function, if there is one."""
    if named := os.environ.get(VARIABLE):
        module, _, function = named.partition(":")
        getattr(importlib.import_module(module), function)(point, decision)
