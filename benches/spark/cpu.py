"""CPU seconds of a whole process tree, including ended processes: of JVMs and of the rest."""

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
            continue  # it has just ended; its parent counts it
        name = text[text.index("(") + 1 : text.rindex(")")]
        fields = text[text.rindex(")") + 2 :].split()
        pid, parent = int(path.parent.name), int(fields[1])
        children.setdefault(parent, []).append(pid)
        own, ended = (sum(map(int, fields[i : i + 2])) / _TICKS for i in (11, 13))
        spent[pid] = name == "java", own + ended
    totals = [0.0, 0.0]
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        is_jvm, seconds = spent.get(pid, (False, 0.0))
        totals[0 if is_jvm else 1] += seconds
    return totals[0], totals[1]
