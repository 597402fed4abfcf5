"""What refuses ``bootstrap.controllers``, before anything connects; tests/cluster has the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ottla
from ottla import errors
from tests.support.command import ottla_here

CONTROLLERS = {"bootstrap.controllers": "127.0.0.1:9", "group.id": "billing"}


@pytest.mark.parametrize(
    "create", [ottla.Producer, ottla.AsyncProducer, ottla.Consumer, ottla.AsyncConsumer]
)
def test_producers_and_consumers_need_brokers(create: Callable[..., Any]) -> None:
    match = rf"bootstrap\.controllers: {create.__name__} needs brokers: use bootstrap\.servers"
    with pytest.raises(errors.ConfigError, match=match):
        create(CONTROLLERS)
    with (
        ottla.Client(CONTROLLERS, connect=False) as shared,
        pytest.raises(errors.ConfigError, match=match),
    ):
        create(shared)


def test_share_consumers_need_brokers() -> None:
    with pytest.raises(errors.ConfigError, match="ShareConsumer needs brokers"):
        ottla.ShareConsumer(CONTROLLERS)


def test_brokers_and_controllers_exclude_each_other() -> None:
    both = CONTROLLERS | {"bootstrap.servers": "127.0.0.1:9"}
    match = r"cannot set both bootstrap\.servers and bootstrap\.controllers"
    with pytest.raises(errors.ConfigError, match=match):
        ottla.Admin(both, connect=False)
    with pytest.raises(errors.ConfigError, match="credentials"):
        ottla.Admin({"bootstrap.controllers": "ann:hunter2@kafka:9"}, connect=False)


def test_the_command_line_takes_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    option = ["--bootstrap-controller", "127.0.0.1:9"]
    both = ottla_here("quorum", "describe", *option, "-b", "127.0.0.1:9")
    assert both.code != 0
    assert "--bootstrap-controller and an address of brokers" in both.err
    # An option takes the place of the profile's brokers.
    (tmp_path / "profiles.ini").write_text("[default]\nbootstrap.servers = 127.0.0.1:10\n")
    monkeypatch.setenv("OTTLA_PROFILES", str(tmp_path / "profiles.ini"))
    down = ottla_here(
        "quorum", "describe", "--profile", "default", *option, "-X", "default.api.timeout.ms=500"
    )
    assert down.code != 0
    assert "127.0.0.1:9" in down.err
    assert "127.0.0.1:10" not in down.err
    refused = ottla_here("produce", "-t", "orders", *option)
    assert "Producer needs brokers: use bootstrap.servers" in refused.err
