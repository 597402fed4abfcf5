"""What each tier of pytest runs, by the tier's name; tests/matrix runs it on other versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

SELECTIONS: Mapping[str, Sequence[str]] = {
    # Brokers and sessions have tiers of their own, and what is slow has `make deep`.
    "check": (
        *("--numprocesses=2", "-m", "not cluster and not spark and not deep"),
        *("tests/unit", "tests/spark"),
    ),
    "test-python": (
        *("--numprocesses=10", "-m", "not cluster and not spark and not deep"),
        *("tests/mock", "tests/mistakes", "tests/doctor", "tests/cluster"),
    ),
    "test-broker": (
        *("--numprocesses=3", "--dist=loadscope", "-m", "cluster and not deep"),
        *("tests/cluster", "tests/security", "tests/compat"),
    ),
    "test-spark": ("-m", "spark and not deep", "tests/spark"),
}
