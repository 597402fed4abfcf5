"""Many threads on the same objects; the workflow runs the same on Pythons without a global lock."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from ottla.testing import MockCluster
from tests.threads.hammers import HAMMERS, run


@pytest.fixture(autouse=True)
def _frequent_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.parametrize("hammer", HAMMERS, ids=lambda hammer: hammer.__name__)
def test_many_threads(hammer: Callable[[MockCluster, int], None]) -> None:
    run(hammer, 300)
