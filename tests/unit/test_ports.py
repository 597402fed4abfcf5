"""Ports for tests."""

from __future__ import annotations

import pytest

from tests.support.ports import free_ports


def test_no_port_is_returned_twice() -> None:
    calls = [free_ports(20) for _ in range(50)]
    assert len({port for ports in calls for port in ports}) == 1000


def test_workers_share_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "2")
    parities = []
    for worker in ("gw0", "gw1"):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
        [parity] = {port % 2 for port in free_ports(50)}
        parities.append(parity)
    assert sorted(parities) == [0, 1]
