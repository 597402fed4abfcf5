"""Stops a driver of ``exactlyOnce`` between its decision and its commits.

Python imports this module at its start in every process that has the directory on its path, since
Spark commits a batch in a process of its own. Invariant: the product knows nothing of it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import ottla
from ottla.spark.writing.exactly_once import driver
from ottla.spark.writing.exactly_once.decision import Decision
from ottla.spark.writing.exactly_once.task_identity import WriteIdentity

DIRECTORY = "OTTLA_TEST_DIRECTORY"

_commit_decided = driver._commit_decided


def _stop_before(
    admin: ottla.Admin, write: WriteIdentity, new: Decision, participants: int
) -> None:
    """Commit as many transactions as the file "armed" says, and wait for death.

    Without the file, commit all.
    """
    directory = Path(os.environ[DIRECTORY])
    armed = directory / "armed"
    if not armed.exists():
        _commit_decided(admin, write, new, participants)
        return
    commits = int(armed.read_text())
    armed.unlink()
    first = [each.transaction for each in list(new.participants.values())[:commits]]
    # From a client of its own, as if the driver had got this far.
    with ottla.Admin((directory / "bootstrap").read_text()) as own:
        own.end_prepared_transactions(first, commit=True)
    (directory / "reached-decided").touch()
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.02)
    os._exit(1)


driver._commit_decided = _stop_before
