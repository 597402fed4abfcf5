"""The gateway in front of most parts, which loses connections at command.

Its commands are a JSON object each: the name of a fault, its arguments, and conditions of `inject`;
or "clear". It prints its address as the event `listening`.
"""

from __future__ import annotations

import json
from typing import Any

from ottla.testing import Fault, Gateway
from tests.soak.part import Part, run_part


def work(part: Part) -> None:
    """Run the gateway until the run stops."""
    with Gateway(part.settings.bootstrap) as gateway:
        part.gauges["connections"] = lambda: len(gateway.connections())

        def obey(command: str) -> None:
            with part.surviving():
                # Of the last command, connections may be left that it never hit.
                gateway.clear_faults()
                if command != "clear":
                    order: dict[str, Any] = json.loads(command)
                    fault = getattr(Fault, order["fault"])(*order["arguments"])
                    gateway.inject(fault, **order["conditions"])
                    part.counts["faults"] += 1

        part.commands = obey
        part.report("listening", bootstrap=gateway.bootstrap)
        part.stop.wait()
        gateway.clear_faults()
        part.report("closing")


if __name__ == "__main__":
    run_part("gateway", work)
