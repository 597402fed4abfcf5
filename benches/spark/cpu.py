"""CPU seconds of a process tree, including ended processes: of JVMs, and of the others."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def tree_cpu() -> tuple[float, float]:
    """Return the CPU seconds of this process and its descendants so far: (JVMs, others)."""
    children: dict[int, list[int]] = {}
    spent: dict[int, tuple[bool, float]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue  # the process has ended, and its parent counts its time
        name = text[text.index("(") + 1 : text.rindex(")")]
        fields = text[text.rindex(")") + 2 :].split()
        pid, parent = int(path.parent.name), int(fields[1])
        children.setdefault(parent, []).append(pid)
        self_time, children_time = (sum(map(int, fields[i : i + 2])) / _TICKS for i in (11, 13))
        spent[pid] = name == "java", self_time + children_time
    totals = [0.0, 0.0]
    remaining = [os.getpid()]
    while remaining:
        pid = remaining.pop()
        remaining += children.get(pid, [])
        is_jvm, seconds = spent.get(pid, (False, 0.0))
        totals[0 if is_jvm else 1] += seconds
    return totals[0], totals[1]
