"""kaf and rpk behind a gateway: records, groups, and the addresses that they show."""

from __future__ import annotations

import shutil
import subprocess
import uuid
from collections.abc import Mapping, Sequence
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
from tests.support.waiting import wait_until

KEY = "a key"


def program(name: str) -> str:
    found = shutil.which(name, path=path())
    if found is None and name == RPK:
        pytest.skip("rpk is not on PATH, and no package manager has it: build it from its source")
    if found is None:
        raise MissingPrerequisiteError(f"no {name}: run tools/command_line_peers.sh")
    return found


def _read(command: Sequence[str], env: Mapping[str, str], length: int) -> bytes:
    """Return this many bytes of the output of a command that does not end, without line ends."""
    output = b""
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            while len(output) < length and (line := process.stdout.readline()):
                output += line.rstrip(b"\n")
        finally:
            process.terminate()
    return output


def test_kaf(guarded: GuardedKafka, gateway: Gateway, topic: str, tmp_path: Path) -> None:
    kaf, group = program(KAF), f"group-{uuid.uuid4().hex[:8]}"
    env = environment(tmp_path, Target(gateway.bootstrap))
    values = sorted(value for _, value in RECORDS)
    lines = b"".join(b"%s\n" % value for value in values)
    # Of lines with one key, the partitions are taken in turn, so that each broker gets some.
    produce = (kaf, "produce", topic, "--partitioner", "rr", "--line-length-limit", "1000000")
    with Observer(gateway) as observer:
        run([*produce, "--key", KEY], lines, env)
        # With acks=1, the last records become visible a moment later.
        wait_until(lambda: len(read_rows(ottla.scan(topic, guarded.bootstrap))) == len(values))
        consume = (kaf, "consume", topic, "--output", "raw")
        # It reads the partitions at once, and a line's end may come after another line.
        found = run(consume, b"", env).replace(b"\n", b"")
        assert sorted(found) == sorted(b"".join(values))
        member = (*consume, "--group", group, "--commit")
        assert sorted(_read(member, env, len(found))) == sorted(found)
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
