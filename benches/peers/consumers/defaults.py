"""Read a whole topic with one call of one client, at the client's default settings.

`measure` starts a process for the run: this module itself (`--child`), a Java source file, or the
Go program. Partitions are assigned and read from the first offset on. Offsets are not committed,
except by confluent-kafka, which needs a group. Each process first reads WARM_RECORDS with a
separate consumer. Wall time and CPU are measured from before the consumer is created to the last
record.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from benches.peers import runner
from benches.peers.consumers.task import FEW, Task

# Topics hold a multiple of FEW records, so that `consume(500)` never waits to complete its last
# list.
WARM_RECORDS = 20_000
PROGRAMS = runner.Programs("DefaultConsume.java", "consume", "benches.peers.consumers.defaults")


def measure(client: str, call: str, task: Task) -> dict[str, float]:
    """Return the `records`, `seconds` and `cpu_seconds` of one run."""
    arguments = [task.bootstrap, task.topic, task.partitions, task.records, task.value_bytes]
    took: dict[str, float] = runner.run_client(PROGRAMS, client, call, arguments, [task.settings])
    return took


def whole_lists(records: float) -> int:
    """Return the number rounded to a multiple of FEW, at least FEW."""
    return max(1, round(records / FEW)) * FEW


def _ottla_calls() -> dict[str, Callable[[Task], None]]:
    from benches.peers.consumers import ottla_calls

    return {
        "poll": partial(ottla_calls.poll, at_once=FEW),
        "for": ottla_calls.one_by_one,
        "async for": ottla_calls.async_for,
        "poll_arrow": ottla_calls.poll_arrow,
        "scan": ottla_calls.scan,
    }


def _confluent_calls() -> dict[str, Callable[[Task], None]]:
    from benches.peers.consumers import confluent_calls

    return {
        "poll": confluent_calls.default_poll,
        "consume(500)": partial(confluent_calls.default_consume, at_once=FEW),
    }


_CALLS = {"ottla": _ottla_calls, "confluent-kafka": _confluent_calls}


def _run_child(client: str, call: str, *arguments: Any) -> dict[str, float]:
    task = Task(*arguments)
    run = _CALLS[client]()[call]
    run(replace(task, records=min(WARM_RECORDS, task.records)))
    task.begin()
    run(task)
    task.check()
    return {"records": task.records, "seconds": task.seconds, "cpu_seconds": task.cpu_seconds}


if __name__ == "__main__":
    print(json.dumps(_run_child(*json.loads(sys.argv[2]))))
