"""Mistakes in the arguments that all kinds of scans take name the argument and what is expected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ottla
import ottla.duckdb
import ottla.polars
from ottla import errors
from ottla.schema import Json
from ottla.testing import MockCluster

SCANS: list[Callable[..., Any]] = [
    ottla.scan,
    ottla.scan_async,
    ottla.polars.scan_kafka,
    ottla.duckdb.scan_kafka,
]


@pytest.mark.parametrize("scan", SCANS)
def test_no_topic(scan: Any, mock_cluster: MockCluster) -> None:
    """It was a TypeError that named nothing."""
    with pytest.raises(errors.ArgumentTypeError, match="topics is None: expected a topic, or"):
        scan(None, mock_cluster.bootstrap)


@pytest.mark.parametrize("scan", SCANS)
def test_another_kind_of_client(scan: Any, mock_cluster: MockCluster) -> None:
    """It was an error of a configuration's value, which names the types of those."""
    bootstrap = mock_cluster.bootstrap
    wanted = "AsyncClient" if scan is ottla.scan_async else "Client"
    for kind in ("Client", "AsyncClient", "Consumer", "AsyncConsumer", "AsyncProducer"):
        if kind == wanted:
            continue
        # Those of asyncio connect at first use.
        lazy = {} if kind.startswith("Async") else {"connect": False}
        other = getattr(ottla, kind)(bootstrap, **lazy)
        text = rf"bootstrap is of type {kind}: expected addresses as host:port, or {wanted}$"
        with pytest.raises(errors.ArgumentTypeError, match=text):
            scan("t", other)


@pytest.mark.parametrize("scan", [ottla.polars.scan_kafka, ottla.duckdb.scan_kafka])
def test_a_value_format_that_is_none(scan: Any, mock_cluster: MockCluster) -> None:
    """A class can be called as a function of fields, and said that it lacks a registry."""
    mock_cluster.create_topic("t", partitions=1)
    for value, text in (
        (Json, "value_format is the class Json: expected a format such as"),
        (lambda _: None, "value_format returned for all fields is of type NoneType: expected a"),
    ):
        with pytest.raises(errors.ConfigError, match=text):
            scan("t", mock_cluster.bootstrap, value_format=value)


def test_an_array_as_the_end_is_refused_by_name(mock_cluster: MockCluster) -> None:
    """It was numpy's ValueError about the truth value of an array."""
    mock_cluster.create_topic("a", partitions=2)
    ends: Any = np.array([1, 2])
    with pytest.raises(errors.ArgumentTypeError, match=r"end is the ndarray .*expected"):
        ottla.scan("a", mock_cluster.bootstrap, end=ends)

    async def with_asyncio() -> None:
        async with ottla.scan_async("a", mock_cluster.bootstrap, end=ends) as scan:
            async for _ in scan:
                pass

    with pytest.raises(errors.ArgumentTypeError, match=r"end is the ndarray .*expected"):
        asyncio.run(with_asyncio())
