"""The soak's judge of records finds what is lost, doubled or misplaced, and not redeliveries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.soak.deliveries import Findings, Rows, check_log, check_share_group
from tests.soak.ledger import Ledger, read_rows
from tests.soak.parts.sharing import ACCEPTED, DELIVERED, REFUSED
from tests.soak.settings import KEYS

Change = Callable[[list[list[int]]], object]
COUNT = 1_000
PARTITIONS = 4


def partition_of(number: int) -> int:
    return number % KEYS % PARTITIONS


def stored() -> list[list[int]]:
    """Return a log: partition, offset and number, in the order of the numbers."""
    ends = [0] * PARTITIONS
    rows = []
    for number in range(COUNT):
        partition = partition_of(number)
        rows.append([partition, ends[partition], number])
        ends[partition] += 1
    return rows


def array_of(rows: list[list[int]]) -> Rows:
    return np.array(rows, dtype=np.int64)


EXPECTED = array_of([[number, partition, offset] for partition, offset, number in stored()])


def checked(change: Change) -> Findings:
    rows = stored()
    change(rows)
    return check_log("the group", EXPECTED, array_of(rows))


def test_all_is_well() -> None:
    findings = checked(lambda rows: None)
    assert findings.problems == []
    assert (findings.counts["expected"], findings.counts["read"]) == (COUNT, COUNT)


def test_records_that_are_delivered_again_are_counted() -> None:
    findings = checked(lambda rows: rows.extend(stored()[900:]))
    assert findings.problems == []
    assert findings.counts["delivered again"] == 100


def test_an_acknowledgement_without_an_offset_is_no_problem() -> None:
    expected = EXPECTED.copy()
    expected[500, 2] = -1
    assert check_log("the group", expected, array_of(stored())).problems == []


def swap_offsets(rows: list[list[int]]) -> None:
    """Let two numbers of one key change places in the log, and be read in its order."""
    rows[5][2], rows[5 + KEYS][2] = rows[5 + KEYS][2], rows[5][2]


WRONG: dict[str, Change] = {
    "1 lost: 400": lambda rows: rows.pop(400),
    "1 stored twice: 400": lambda rows: rows.append([partition_of(400), 10_000, 400]),
    "1 never acknowledged: 5000": lambda rows: rows.append([0, 10_000, 5_000]),
    "1 elsewhere than acknowledged: 999": lambda rows: rows.append(
        [partition_of(999), 10_000, rows.pop()[2]]
    ),
    "read before an earlier offset": lambda rows: rows.append(rows.pop(400)),
    "behind a later one of their key": swap_offsets,
}


@pytest.mark.parametrize("problem", WRONG)
def test_what_is_wrong_is_found(problem: str) -> None:
    problems = checked(WRONG[problem]).problems
    assert any(problem in each for each in problems), problems
    assert all(each.startswith("the group: ") for each in problems)


def test_nothing_was_read_at_all() -> None:
    findings = check_log("the group", EXPECTED, np.empty((0, 3), dtype=np.int64))
    assert findings.counts["lost"] == COUNT


def accepted() -> list[list[int]]:
    """Return the events of a share group that delivered and accepted each record."""
    return [
        [1_000 + number, kind, partition, offset, number]
        for partition, offset, number in stored()
        for kind in (DELIVERED, ACCEPTED)
    ]


def check_events(change: Change) -> Findings:
    rows = accepted()
    change(rows)
    return check_share_group("the share group", EXPECTED, array_of(rows))


def test_a_share_group_that_releases_and_loses_results() -> None:
    def change(rows: list[list[int]]) -> None:
        # Released once, then delivered and accepted; a result that was lost.
        rows.insert(0, [500, *rows[0][1:]])
        rows[-1][1] = REFUSED

    findings = check_events(change)
    assert findings.problems == []
    assert findings.counts["delivered again"] == 1
    assert findings.counts["accepted without a confirmation"] == 1


WRONG_EVENTS: dict[str, Change] = {
    "1 never delivered: 400": lambda rows: rows.__delitem__(slice(800, 802)),
    "1 delivered after they were accepted: 0": lambda rows: rows.append([9_000, *rows[0][1:]]),
    "1 accepted more often than delivered": lambda rows: rows.append(rows[1]),
}


@pytest.mark.parametrize("problem", WRONG_EVENTS)
def test_what_is_wrong_in_a_share_group_is_found(problem: str) -> None:
    problems = check_events(WRONG_EVENTS[problem]).problems
    assert any(problem in each for each in problems), problems


def test_a_ledger_keeps_the_order_of_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    ledger = Ledger(path, 2)
    for number in range(10):
        ledger.add(number, -number)
    ledger.close()
    assert read_rows(path, 2).tolist() == [[n, -n] for n in range(10)]
    assert read_rows(tmp_path / "missing", 2).shape == (0, 2)
