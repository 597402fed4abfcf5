"""The command line's options on the mock: configuration, wrong arguments, help."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ottla.testing import MockCluster
from tests.support.command import ottla
from tests.support.ports import free_ports


def test_configuration_from_files_and_arguments(
    mock_cluster: MockCluster, single: str, tmp_path: Path
) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text(f"bootstrap.servers = {mock_cluster.bootstrap}\nlinger.ms=1\n")
    assert ottla("produce", "--config", str(properties), "-t", single, stdin=b"a\n").code == 0
    if sys.version_info >= (3, 11):
        toml = tmp_path / "client.toml"
        toml.write_text(f'"bootstrap.servers" = "{mock_cluster.bootstrap}"\n[linger]\nms = 1\n')
        assert ottla("produce", "--config", str(toml), "-t", single, stdin=b"b\n").code == 0
    done = ottla("topology", "--config", str(properties), "-X", "bootstrap.servers=no.invalid:1")
    assert done.code == 1
    assert "no.invalid" in done.err
    # With another client's names, arguments still win over the file.
    properties.write_text(f"metadata.broker.list={mock_cluster.bootstrap}\nlinger.ms=1\n")
    again = ("-X", "queue.buffering.max.ms=2", "-t", single)
    assert ottla("produce", "--config", str(properties), *again, stdin=b"c\n").code == 0
    done = ottla("topology", "--config", str(properties), "no.invalid:1")
    assert done.code == 1
    assert "no.invalid" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["topology"], "no broker address"),
        (["topology", "localhost"], "has no port"),
        (["topology", "localhost:1", "-X", "lingr.ms=1"], "did you mean linger.ms"),
        (["topology", "localhost:1", "-X", "linger.ms"], "expected KEY=VALUE"),
        (["topology", "--config", "/nowhere/at/all"], "/nowhere/at/all"),
        (["produce", "localhost:1", "-t", "t", "-D", ""], "-D"),
        (["consume", "localhost:1", "-t", "t", "-f", "%x"], "%x does not exist"),
        (["consume", "localhost:1", "-t", "t", "-c", "-1"], "-c/--count: expected a number"),
        (["produce", "localhost:1", "-t", "t", "-c", "-1"], "-c/--count: expected a number"),
        (["consume", "localhost:1", "-t", "t", "-c", "ten"], "0 or more, got 'ten'"),
        (["nonsense"], "invalid choice"),
    ],
)
def test_wrong_arguments_end_with_2(arguments: list[str], message: str) -> None:
    done = ottla(*arguments)
    assert (done.code, done.out) == (2, b"")
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_cluster_that_cannot_be_reached() -> None:
    [closed] = free_ports(1)
    done = ottla("topology", f"127.0.0.1:{closed}", "--timeout", "30")
    assert (done.code, done.out) == (1, b"")
    assert done.err.startswith("ottla: ")
    assert "connection refused" in done.err


@pytest.mark.parametrize("command", ["", "doctor", "topology", "produce", "consume", "watch"])
def test_help(command: str) -> None:
    done = ottla(*([command] if command else []), "--help")
    assert done.code == 0
    assert "usage: ottla" in done.text
