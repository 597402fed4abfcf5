"""Puts together what the judges say of the parts' files and of the processes' samples."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tests.soak import growth
from tests.soak.deliveries import Findings, Rows, check_log, check_share_group
from tests.soak.ledger import read_rows
from tests.soak.outcome import Outcome
from tests.soak.processes import JVM, PartProcess
from tests.soak.settings import SHORT_LIVED, number_of
from tests.support.committed import committed_rows

BOUNDS = {
    "memory": growth.MEMORY,
    "descriptors": growth.DESCRIPTORS,
    "threads": growth.THREADS,
}


def bounds_of(process: str) -> dict[str, growth.Bound]:
    """Return the bounds of a process by its name."""
    is_jvm = process.endswith(JVM)
    return {**BOUNDS, "memory": growth.MEMORY_OF_A_JVM} if is_jvm else BOUNDS


def judge_deliveries(directory: Path, bootstrap: str) -> list[Findings]:
    """Compare what was acknowledged with what was read, for each log."""

    def rows(name: str, columns: int = 3) -> Rows:
        return read_rows(directory / f"{name}.rows", columns)

    written = rows("writing.acknowledged")
    # Where copies are is not known to anyone but their readers.
    numbers = written[:, :1]
    return [
        check_log("the classic group", written, rows("reading-soak-numbers-classic.read")),
        check_log("the consumer group", written, rows("reading-soak-numbers-consumer.read")),
        check_share_group("the share group", written, rows("sharing.events", 5)),
        check_log("the transactional copy", numbers, rows("reading-soak-copied-consumer.read")),
        # Spark promises no order of its tasks.
        check_log("Spark's copy", numbers, rows("reading-soak-spark-classic.read"), keyed=False),
        check_log("typed columns", rows("typed_writing.acknowledged"), rows("typed_reading.read")),
        check_log(
            "short-lived producers", rows("short_lived.acknowledged"), _short_lived(bootstrap)
        ),
    ]


def _short_lived(bootstrap: str) -> Rows:
    rows = committed_rows(bootstrap, SHORT_LIVED)
    read = [(row["partition"], row["offset"], number_of(row["value"])) for row in rows]
    return np.array(read, dtype=np.int64).reshape(-1, 3)


def judge_parts(parts: Iterable[PartProcess], directory: Path, outcome: Outcome) -> None:
    """Note the counts, exceptions and growth of each part."""
    for part in parts:
        outcome.counts[part.name] = dict(part.counts)
        outcome.buffered[part.name] = dict(part.most)
        if part.close_seconds is not None:
            outcome.close_seconds[part.name] = part.close_seconds
        if unexpected := part.counts.get("unexpected", 0):
            outcome.problems.append(
                f"{part.name}: {unexpected} unexpected exceptions, in {part.name}.unexpected.log"
            )
        for name, samples in part.samples.items():
            outcome.samples[name] = samples
            try:
                found = growth.growth_of(name, samples, outcome.seconds, bounds_of(name))
            except ValueError as error:
                outcome.problems.append(str(error))
                continue
            outcome.growth += found
            outcome.problems += [str(each) for each in found if each.is_too_much]
    for log in sorted(directory.glob("*.stderr.log")):
        if "panicked" in log.read_text(errors="replace"):
            outcome.problems.append(f"{log.name.split('.')[0]} panicked")
