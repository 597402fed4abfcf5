"""The sessions of docs/guides/operations.md: what the commands print today, in 80 columns."""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path

import pytest

import ottla
from ottla.testing import MockCluster
from tests.support.command import CommandResult, ottla_here
from tests.support.jars import REPOSITORY

PAGE = REPOSITORY / "docs" / "guides" / "operations.md"
WIDTH = 80
ORDERS = 600


def sessions() -> list[tuple[str, str]]:
    """The commands of the page, each with what the page shows as its output."""
    blocks = re.findall(
        r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return re.findall(r"^\$ ottla (.*)\n((?:[^$].*\n|\n)*)", "".join(blocks), re.MULTILINE)


@pytest.fixture
def _cluster(mock_cluster: MockCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page tells of: orders of two hours, and two groups."""
    mock_cluster.create_topic("orders", 6, 3, {"retention.ms": "86400000"})
    mock_cluster.create_topic("clicks", 12, 3)
    start = int(time.time() * 1000) - 7_200_000
    with ottla.Producer(mock_cluster.bootstrap) as producer:
        for number in range(ORDERS):
            # The page looks for 77777 of 100,000.
            value = json.dumps({"id": number * 77_777 // 466, "customer": number, "amount": 12.5})
            at = start + number * 7_200_000 // ORDERS
            producer.send("orders", value, str(number), timestamp=at)
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        for group, offset in (("billing", 60), ("reports", 10)):
            admin.alter_group_offsets(group, {("orders", each): offset for each in range(6)})
    profiles = tmp_path / "profiles.ini"
    profiles.write_text(f"[default]\nbootstrap.servers={mock_cluster.bootstrap}\n")
    monkeypatch.setenv("OTTLA_PROFILES", str(profiles))


@pytest.fixture
def results(_cluster: None) -> list[tuple[str, str, CommandResult]]:
    found = []
    for command, shown in sessions():
        # Nobody waits for forty seconds here; what is not known before is not compared.
        arguments = shlex.split(re.sub(r"--for \d+s", "--for 1s", command))
        found.append((command, shown, ottla_here(*arguments)))
    return found


def form(line: str) -> str:
    """A line without its numbers, its spaces, and what differs between clusters."""
    line = re.sub(r"(\bid \S{22}|/[\w./-]+|kafka\d:909[23]|127\.0\.0\.1:\d+)", "X", line)
    # The quorum of the mock is static, without ids of directories.
    line = re.sub(r" [\w-]{22} ", "", line)
    line = re.sub(r"\d[\d.,]*%?", "N", line)
    # Without differences between brokers, there is one number.
    line = line.replace("N to N leaders", "N leaders")
    line = re.sub(r"\b(N|s|min|h|never|none)\b", "", line)
    return re.sub(r"[\s-]|[KMGTP]iB|\bB\b", "", line)


def test_the_page_shows_what_the_commands_print(
    results: list[tuple[str, str, CommandResult]],
) -> None:
    assert len(results) >= 10
    for command, shown, done in results:
        asks = "repeat with --yes" in shown
        assert done.code == int(asks), (command, done.err)
        printed = {form(line) for line in [*done.text.splitlines(), *done.err.splitlines()]}
        for line in map(form, shown.splitlines()):
            if not re.search(r"orders|billing|reports|persecond", line):
                assert line in printed, (command, line, printed)


def test_lines_have_no_more_than_80_columns(
    results: list[tuple[str, str, CommandResult]],
) -> None:
    for command, shown, done in results:
        for line in shown.splitlines():
            assert len(line) <= WIDTH, (command, line)
        for line in done.text.splitlines():
            assert len(line) <= WIDTH, (command, line)
