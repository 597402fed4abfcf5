"""A key of a configuration that is no text is refused by name, in each call that takes one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import ottla
import ottla.console
import ottla.doctor
from ottla import schema
from ottla.errors import ArgumentTypeError
from ottla.processing import Processor
from ottla.testing import Gateway, MockCluster

WRONG: Any = {1: "secret"}
CALLS: dict[str, Callable[[str], Any]] = {
    "Client": lambda servers: ottla.Client(servers, WRONG),
    "Producer": lambda servers: ottla.Producer(servers, WRONG),
    "Consumer": lambda servers: ottla.Consumer(servers, WRONG),
    "ShareConsumer": lambda servers: ottla.ShareConsumer(servers, WRONG),
    "Admin": lambda servers: ottla.Admin(servers, WRONG),
    "in place of the addresses": lambda _: ottla.Producer(WRONG),
    "AsyncClient": lambda servers: ottla.AsyncClient(servers, WRONG),
    "AsyncProducer": lambda servers: ottla.AsyncProducer(servers, WRONG),
    "AsyncConsumer": lambda servers: ottla.AsyncConsumer(servers, WRONG),
    "AsyncShareConsumer": lambda servers: ottla.AsyncShareConsumer(servers, WRONG),
    "AsyncAdmin": lambda servers: ottla.AsyncAdmin(servers, WRONG),
    "scan": lambda servers: ottla.scan("t", servers, WRONG),
    "transform": lambda servers: ottla.transform(lambda each: each, "t", "u", servers, WRONG),
    "Processor": lambda servers: Processor(lambda each: each, "t", servers, WRONG),
    "diagnose": lambda servers: ottla.doctor.diagnose(servers, WRONG),
    "Gateway": lambda servers: Gateway(servers, WRONG),
    "Registry": lambda _: schema.Registry("http://localhost:1", WRONG),
    "DeadLetters": lambda servers: schema.DeadLetters("t", servers, WRONG),
    "limits": lambda _: schema.Avro(schema='"int"', wire_format="none", limits=WRONG),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_key_that_is_no_text_is_refused(mock_cluster: MockCluster, call: str) -> None:
    """Regression: 'int' object is not an instance of 'str', or has no attribute 'replace'."""
    expected = r"^(config|limits) has the key 1 of type int: expected a str, as in \{"

    async def run() -> None:
        CALLS[call](mock_cluster.bootstrap)

    with pytest.raises(ArgumentTypeError, match=expected) as refused:
        asyncio.run(run())
    assert "secret" not in str(refused.value)


def test_wrong_arguments_of_a_console_are_refused_when_it_is_served(
    mock_cluster: MockCluster,
) -> None:
    wrong: dict[str, tuple[Any, str]] = {
        "host": (None, "host is the NoneType None: expected a str"),
        "allow_hosts": (None, "allow_hosts is None: expected a list"),
        "gateways": (None, "gateways is None: expected a list"),
        "simulation": (5, "simulation is of type int: expected ottla.console.simulation.Simul"),
        "tls_cert": (5, "tls_cert is of type int: expected a path"),
    }
    with ottla.Client(mock_cluster.bootstrap) as client:
        for name, (value, message) in wrong.items():
            with pytest.raises(ArgumentTypeError, match=message):
                ottla.console.serve(client, **{name: value})
        with pytest.raises(ArgumentTypeError, match="on_step is of type int: expected a function"):
            ottla.doctor.diagnose(client, on_step=5)  # type: ignore[arg-type]
