"""Ports for tests."""

from __future__ import annotations

import pytest

from tests.support.ports import free_ports, free_ports_in_a_row


def test_no_port_is_returned_twice() -> None:
    calls = [free_ports(20) for _ in range(50)]
    assert len({port for ports in calls for port in ports}) == 1000


def test_ports_in_a_row_are_returned_once() -> None:
    singles = free_ports(100)
    rows = [range(first, first + 4) for first in (free_ports_in_a_row(4) for _ in range(20))]
    assert len({*singles, *(port for row in rows for port in row)}) == 180


def test_workers_share_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "2")
    parities = []
    for worker in ("gw0", "gw1"):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
        [parity] = {port % 2 for port in free_ports(50)}
        parities.append(parity)
        rows = {free_ports_in_a_row(4) // 8 % 2 for _ in range(10)}
        assert len(rows) == 1
    assert sorted(parities) == [0, 1]
