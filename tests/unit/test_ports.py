"""Ports for tests."""

from __future__ import annotations

from tests.support.ports import free_ports


def test_no_port_is_returned_twice() -> None:
    calls = [free_ports(20) for _ in range(100)]
    assert len({port for ports in calls for port in ports}) == 2000
