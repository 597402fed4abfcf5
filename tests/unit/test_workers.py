"""How tests on real brokers are distributed over processes."""

from __future__ import annotations

from tests.gate.workers import scope_of


def test_a_file_or_a_directory_with_its_own_brokers_stays_in_one_process() -> None:
    assert scope_of("tests/cluster/test_a.py::test_b[x::y]") == "tests/cluster/test_a.py"
    assert scope_of("tests/security/test_a.py::test_b") == "tests/security"
    assert scope_of("tests/compat/test_a.py::test_b") == "tests/compat"
