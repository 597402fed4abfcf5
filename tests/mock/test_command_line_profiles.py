"""Profiles of the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ottla.testing import MockCluster
from tests.support.command import ottla_here
from tests.support.ports import free_ports

SECRET = "not for others"


@pytest.fixture(autouse=True)
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mock_cluster: MockCluster) -> Path:
    """A file with the profiles `default`, `prod` and `gone`, which has a secret."""
    file = tmp_path / "profiles.ini"
    [closed] = free_ports(1)
    file.write_text(
        f"[default]\nbootstrap.servers = {mock_cluster.bootstrap}\n"
        f"[prod]\nmetadata.broker.list={mock_cluster.bootstrap}\nclient.id = 100%\n"
        f"[gone]\nbootstrap.servers=127.0.0.1:{closed}\nsasl.password={SECRET}\n"
        "default.api.timeout.ms=1000\n"
    )
    file.chmod(0o600)
    monkeypatch.setenv("OTTLA_PROFILES", str(file))
    monkeypatch.delenv("OTTLA_PROFILE", raising=False)
    return file


def test_a_profile_is_chosen(
    mock_cluster: MockCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments in (
        ["topics", "list"],
        ["--profile", "prod", "topics", "list"],
        ["topics", "list", "--profile", "prod"],
        # The cluster that the command line names wins over that of the profile.
        ["--profile", "gone", "topics", "list", mock_cluster.bootstrap],
    ):
        done = ottla_here(*arguments)
        assert (done.code, done.err) == (0, "")
        assert topic in done.text
    monkeypatch.setenv("OTTLA_PROFILE", "gone")
    done = ottla_here("topics", "list")
    assert done.code == 1
    assert "connection refused" in done.err
    assert ottla_here("--profile", "prod", "topics", "list").code == 0


def test_a_profile_that_is_not_named_never_goes_to_another_cluster(
    mock_cluster: MockCluster, profiles: Path
) -> None:
    # With its security protocol, the mock would refuse the connection.
    profiles.write_text("[default]\nbootstrap.servers=127.0.0.1:1\nsecurity.protocol=SASL_SSL\n")
    assert ottla_here("topics", "list", mock_cluster.bootstrap).code == 0
    chosen = ("-X", f"bootstrap.servers={mock_cluster.bootstrap}")
    assert ottla_here("topics", "list", *chosen).code == 0


def test_profiles_are_listed_without_secrets(mock_cluster: MockCluster, profiles: Path) -> None:
    done = ottla_here("profiles")
    assert done.code == 0
    assert ["prod", mock_cluster.bootstrap] in [line.split() for line in done.text.splitlines()]
    assert SECRET not in done.text
    listed = json.loads(ottla_here("profiles", "--json").text)
    assert [each["name"] for each in listed] == ["default", "prod", "gone"]
    profiles.unlink()
    done = ottla_here("profiles")
    assert f"no profiles: {profiles} is missing or empty" in done.text


def test_secrets_that_others_can_read_are_reported(profiles: Path) -> None:
    profiles.chmod(0o644)
    done = ottla_here("profiles")
    assert done.err == f"ottla: {profiles} has secrets and others can read it: chmod 600\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bootstrap.servers=a:1\n", "MissingSectionHeaderError in line 1"),
        (f"[prod]\n{SECRET}\n", "ParsingError in line 2"),
        ("[a]\nlinger.ms=1\nlinger.ms=2\n", "DuplicateOptionError in line 3"),
        ("[other]\n", "profile prod does not exist: "),
        ("", "has none"),
    ],
)
def test_malformed_files(profiles: Path, text: str, message: str) -> None:
    profiles.write_text(text)
    done = ottla_here("--profile", "prod", "topics", "list")
    assert (done.code, done.out) == (2, b"")
    assert message in done.err
    assert SECRET not in done.err


def test_without_a_profile_and_an_address(profiles: Path) -> None:
    profiles.unlink()
    done = ottla_here("topics", "list")
    assert done.code == 2
    assert "no broker address" in done.err
