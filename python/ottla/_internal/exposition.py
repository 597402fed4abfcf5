"""Prometheus' text format: families of samples as lines.

Invariant: all samples of a metric follow one HELP and TYPE line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass
class Family:
    """The samples of one metric: labels and value."""

    help: str
    kind: str
    samples: list[tuple[Mapping[str, str], float]] = field(default_factory=list)


def exposition(families: Mapping[str, Family]) -> str:
    """Return the families by name as text."""
    return "".join(line for name, family in families.items() for line in _lines(name, family))


def _lines(name: str, family: Family) -> Iterator[str]:
    text = family.help.replace("\\", r"\\").replace("\n", r"\n")
    yield f"# HELP {name} {text}\n# TYPE {name} {family.kind}\n"
    for labels, value in family.samples:
        shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{{{shown}}} {_number(value)}\n"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))
