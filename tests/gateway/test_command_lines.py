"""kaf and rpk behind a gateway: records, groups, and the addresses that they show."""

from __future__ import annotations

import shutil
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

import ottla
from benches.command_line.tools import KAF, RPK, Target, environment, path
from ottla.testing import Gateway
from tests.gateway.clients import run
from tests.gateway.observing import Observer
from tests.gateway.records import EXPECTED, RECORDS, in_order, lines_of, records_of
from tests.support.arrow import read_rows
from tests.support.group_offsets import group_offsets
from tests.support.guarded_kafka import GuardedKafka
from tests.support.jars import MissingPrerequisiteError

KEY = "a key"


def program(name: str) -> str:
    found = shutil.which(name, path=path())
    if found is None and name == RPK:
        pytest.skip("rpk is not on PATH, and no package manager has it: build it from its source")
    if found is None:
        raise MissingPrerequisiteError(f"no {name}: run tools/command_line_peers.sh")
    return found


def _read_lines(command: Sequence[str], env: dict[str, str], count: int) -> list[bytes]:
    """Return the first lines of a command that does not end by itself."""
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            return [process.stdout.readline() for _ in range(count)]
        finally:
            process.terminate()


def test_kaf(guarded: GuardedKafka, gateway: Gateway, topic: str, tmp_path: Path) -> None:
    kaf, group = program(KAF), f"group-{uuid.uuid4().hex[:8]}"
    env = environment(tmp_path, Target(gateway.bootstrap))
    values = sorted(value for _, value in RECORDS)
    lines = b"".join(b"%s\n" % value for value in values)
    # Of lines with one key, the partitions are taken in turn, so that each broker gets some.
    produce = (kaf, "produce", topic, "--partitioner", "rr", "--line-length-limit", "1000000")
    with Observer(gateway) as observer:
        run([*produce, "--key", KEY], lines, env)
        consume = (kaf, "consume", topic, "--output", "raw")
        found = run(consume, b"", env).splitlines()
        assert sorted(line for line in found if line) == values
        member = (*consume, "--group", group, "--commit")
        assert (
            sorted(line.rstrip(b"\n") for line in _read_lines(member, env, len(values))) == values
        )
        nodes = run([kaf, "nodes"], b"", env).decode()
        assert all(address in nodes for address in gateway.brokers.values()), nodes
        assert topic in run([kaf, "topic", "describe", topic], b"", env).decode()
        assert group in run([kaf, "groups"], b"", env).decode()
    rows = read_rows(ottla.scan(topic, guarded.bootstrap))
    assert {row["key"] for row in rows} == {KEY.encode()}
    assert {each.broker for each in observer.connections()} >= {1, 2, 3}


def test_rpk(guarded: GuardedKafka, gateway: Gateway, topic: str, tmp_path: Path) -> None:
    rpk, group = program(RPK), f"group-{uuid.uuid4().hex[:8]}"
    env = environment(tmp_path, Target(gateway.bootstrap))
    form = ("--format", r"%k\t%v\n")
    with Observer(gateway) as observer:
        run([rpk, "topic", "produce", topic, *form, "-o", ""], lines_of(RECORDS), env)
        member = ("--group", group, "--num", str(len(RECORDS)))
        output = run([rpk, "topic", "consume", topic, *form, *member], b"", env)
        assert records_of(output) == EXPECTED
        metadata = run([rpk, "cluster", "metadata", "--print-brokers"], b"", env).decode()
        for address in gateway.brokers.values():
            assert address.rpartition(":")[2] in metadata
        assert group in run([rpk, "group", "describe", group], b"", env).decode()
    rows = read_rows(ottla.scan(topic, guarded.bootstrap))
    assert in_order((row["key"], row["value"]) for row in rows) == EXPECTED
    with ottla.Admin(gateway.bootstrap) as admin:
        assert sum(group_offsets(admin, group).values()) == len(RECORDS)
    assert {each.broker for each in observer.connections()} >= {1, 2, 3}
