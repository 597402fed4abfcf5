"""Read a whole topic with one call of one client, at the client's default settings.

`measure` starts a process for the run: this module itself (`--child`), a Java source file, or the
Go program. Partitions are assigned, from the first offset on; offsets are not committed, except by
confluent-kafka, which needs a group. Each process first reads WARM_RECORDS with a consumer of its
own. Wall time and CPU run from before the consumer is created to the last record.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from benches.peers import turns
from benches.peers.consumers.task import FEW, Task

# All calls take whole batches of FEW, so that `consume(500)` never waits for the records that
# would complete its last list.
WARM_RECORDS = 20_000
PROGRAMS = turns.Programs("DefaultConsume.java", "consume", "benches.peers.consumers.defaults")


def measure(client: str, call: str, task: Task) -> dict[str, float]:
    """Return the `records`, `seconds` and `cpu_seconds` of one run."""
    order = [task.bootstrap, task.topic, task.partitions, task.records, task.value_bytes]
    took: dict[str, float] = turns.in_client(PROGRAMS, client, call, order, [task.settings])
    return took


def whole_lists(records: float) -> int:
    """Return the number rounded to lists of FEW, one at least."""
    return max(1, round(records / FEW)) * FEW


def _ottla_calls() -> dict[str, Callable[[Task], None]]:
    from benches.peers.consumers import ottla_ways

    return {
        "poll": partial(ottla_ways.poll, at_once=FEW),
        "for": ottla_ways.one_by_one,
        "async for": ottla_ways.async_for,
        "poll_arrow": ottla_ways.poll_arrow,
        "scan": ottla_ways.scan,
    }


def _confluent_calls() -> dict[str, Callable[[Task], None]]:
    from benches.peers.consumers import confluent_ways

    return {
        "poll": confluent_ways.default_poll,
        "consume(500)": partial(confluent_ways.default_consume, at_once=FEW),
    }


_CALLS = {"ottla": _ottla_calls, "confluent-kafka": _confluent_calls}


def _run_child(client: str, call: str, *order: Any) -> dict[str, float]:
    task = Task(*order)
    run = _CALLS[client]()[call]
    run(replace(task, records=min(WARM_RECORDS, task.records)))
    task.begin()
    run(task)
    task.check()
    return {"records": task.records, "seconds": task.seconds, "cpu_seconds": task.cpu_seconds}


if __name__ == "__main__":
    print(json.dumps(_run_child(*json.loads(sys.argv[2]))))
