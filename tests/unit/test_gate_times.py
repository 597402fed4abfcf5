"""The end of a tier's log: the files of tests with the most seconds, with and without workers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate.times import LARGEST, Total, lines
from tests.support.jars import REPOSITORY

_WAITING = """\
import time

def test_waits():
    time.sleep(0.3)
"""
_COMPUTING = """\
import time
import pytest

@pytest.mark.parametrize("case", range(3))
def test_computes(case):
    ends = time.process_time() + 0.05
    while time.process_time() < ends:
        pass
"""


@pytest.mark.parametrize("workers", [[], ["--numprocesses=2"]], ids=["alone", "workers"])
def test_seconds_are_summed_by_file(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "test_waiting.py").write_text(_WAITING)
    (tmp_path / "test_computing.py").write_text(_COMPUTING)
    command = [sys.executable, "-m", "pytest", "-p", "tests.gate.times", "-p", "no:cacheprovider"]
    command += ["--rootdir", str(tmp_path), "-c", "/dev/null", *workers, str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    row = r"^ +([\d.]+)s +([\d.]+)s CPU +(\d+) tests  test_(\w+)\.py$"
    found = {
        name: (float(seconds), float(cpu), int(tests))
        for seconds, cpu, tests, name in re.findall(row, done.stdout, re.MULTILINE)
    }
    assert found["waiting"][0] >= 0.3
    assert found["waiting"][2] == 1
    assert found["computing"][1] >= 0.1
    assert found["computing"][2] == 3


def test_the_files_with_the_most_seconds_come_first() -> None:
    totals = {f"file {n}": Total(1, float(n)) for n in range(LARGEST + 5)}
    shown = lines(totals)
    assert len(shown) == LARGEST
    assert shown[0].split() == [f"{LARGEST + 4}.0s", "1", "tests", "file", str(LARGEST + 4)]
