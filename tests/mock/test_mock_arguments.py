"""The stand-in cluster refuses wrong arguments by name, as clients do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ottla.errors import ArgumentTypeError, ConfigError
from ottla.testing import MockCluster

CALLS: list[tuple[Callable[[Any], Any], type[ConfigError], str]] = [
    (lambda cluster: cluster.advertise(1, "host"), ConfigError, "'host': expected host:port"),
    (lambda cluster: cluster.advertise(1, ":9092"), ConfigError, "':9092': expected host:port"),
    (lambda cluster: cluster.advertise(1, "host:²"), ConfigError, "expected host:port"),
    (lambda cluster: cluster.advertise(1, "host:99999"), ConfigError, "port is 99999"),
    (lambda cluster: cluster.advertise(1, None), ArgumentTypeError, "address is the NoneType None"),
    (lambda cluster: cluster.advertise(9, "host:1"), ConfigError, "broker 9"),
    (lambda cluster: cluster.start_broker(9), ConfigError, "broker 9 does not exist: .* are 1, 2"),
    (lambda cluster: cluster.stop_broker(9), ConfigError, "broker 9 does not exist: .* are 1, 2"),
    (lambda cluster: cluster.connections(9), ConfigError, "broker 9 does not exist"),
    (
        lambda cluster: cluster.subscribe_to_metrics("n", "abc"),
        ArgumentTypeError,
        "configs is of type str: expected a mapping, such as",
    ),
    (
        lambda cluster: cluster.subscribe_to_metrics("n", {"interval.ms": 5}),
        ArgumentTypeError,
        r"configs\[interval.ms\] is 5: expected a str",
    ),
    (
        lambda cluster: cluster.append("t", 0, ["text"]),
        ArgumentTypeError,
        r"values\[0\] is of type str: expected bytes",
    ),
    (
        lambda cluster: cluster.append_in_transaction("t", 0, 1, [b"a", None]),
        ArgumentTypeError,
        r"values\[1\] is of type NoneType: expected bytes",
    ),
    (lambda cluster: cluster.append("t", 0, None), ArgumentTypeError, "values is None: expected"),
    (
        lambda cluster: cluster.create_topic("u", configs={"retention.ms": 5}),
        ArgumentTypeError,
        r"configs\[retention.ms\] is 5: expected a str",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), CALLS)
def test_a_wrong_argument_is_refused_by_name(
    call: Callable[[Any], Any], error: type[ConfigError], message: str
) -> None:
    with MockCluster(brokers=2) as cluster:
        cluster.create_topic("t", partitions=1)
        with pytest.raises(error, match=message):
            call(cluster)
        assert cluster.end_offset("t", 0) == 0


def test_right_arguments_are_accepted() -> None:
    with MockCluster(brokers=2) as cluster:
        cluster.create_topic("t", partitions=1)
        values: Any = (b"a", bytearray(b"b"))
        assert cluster.append("t", 0, values) == 0
        assert cluster.end_offset("t", 0) == 2
        cluster.stop_broker(2)
        cluster.start_broker(2)
        cluster.advertise(2, "[::1]:9092")
