"""Distributes tests on real brokers over the workers of pytest-xdist.

    pytest --numprocesses=3 --dist=loadscope tests/cluster tests/security tests/compat

Each worker has its own brokers, so tests of two workers never disturb each other. A file of
tests/cluster runs in one worker. Directories whose brokers are their own run there as a whole:
another worker would start the same brokers again.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from xdist.scheduler import LoadScopeScheduling

_OWN_BROKERS = ("tests/compat", "tests/security")


def scope_of(test: str) -> str:
    """Return the file or the directory of a test, which runs in one worker as a whole."""
    file = test.split("::", 1)[0]
    directory = str(PurePosixPath(file).parent)
    return directory if directory in _OWN_BROKERS else file


class BrokerScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives a free worker the largest scope that is left."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)
