"""Compression levels of each codec (KIP-390): their effect and their ranges."""

from __future__ import annotations

import random
from typing import Any

import pytest

import ottla
from ottla import errors
from ottla.testing import MockCluster
from tests.support.arrow import values

_WORDS = [
    f"{word}{number}" for number in range(60) for word in ("order", "customer", "paid", "EUR")
]


def lines() -> list[str]:
    """Return text that higher levels compress better."""
    chosen = random.Random(5)
    return [" ".join(chosen.choices(_WORDS, k=40)) for _ in range(1500)]


def batch_size(cluster: MockCluster, topic: str, **config: Any) -> float:
    """Return the size in bytes of one batch of these lines, after reading it back."""
    cluster.create_topic(topic, partitions=1)
    with ottla.Producer(
        cluster.bootstrap, linger_ms=60_000, batch_size=1_000_000, **config
    ) as producer:
        producer.send_batch(topic, lines())
        producer.flush()
        metrics = producer.metrics()
    assert metrics["batch-size-avg"] == metrics["batch-size-max"], "more than one batch"
    assert values(ottla.scan(topic, cluster.bootstrap)) == [line.encode() for line in lines()]
    return metrics["batch-size-avg"]


@pytest.mark.parametrize(("codec", "low", "high"), [("gzip", 1, 9), ("zstd", 1, 19)])
def test_a_higher_level_compresses_better(
    mock_cluster: MockCluster, codec: str, low: int, high: int
) -> None:
    def size(topic: str, **level: int) -> float:
        return batch_size(mock_cluster, topic, compression_type=codec, **level)

    key = f"compression_{codec}_level"
    plain = batch_size(mock_cluster, "none")
    quick, default, thorough = (
        size("low", **{key: low}),
        size("default"),
        size("high", **{key: high}),
    )
    assert thorough < 0.95 * quick < 0.6 * plain
    assert thorough <= default <= quick


def test_lz4_default_level_is_fast_and_higher_ones_are_smaller(
    mock_cluster: MockCluster,
) -> None:
    sizes = {
        level: batch_size(
            mock_cluster, f"level-{level}", compression_type="lz4", compression_lz4_level=level
        )
        for level in (1, 8, 9, 10, 17)
    }
    assert sizes[17] <= sizes[10] <= sizes[8] <= sizes[1] < 0.95 * sizes[9]
    assert sizes[9] < 0.8 * batch_size(mock_cluster, "none")


@pytest.mark.parametrize(
    ("codec", "levels"), [("gzip", (0, 10)), ("lz4", (0, 18)), ("zstd", (-131_073, 23))]
)
def test_levels_out_of_range_are_rejected(
    mock_cluster: MockCluster, codec: str, levels: tuple[int, int]
) -> None:
    for level in levels:
        config: dict[str, Any] = {f"compression_{codec}_level": level}
        with pytest.raises(errors.ConfigError, match=f"compression.{codec}.level"):
            ottla.Producer(mock_cluster.bootstrap, {"compression.type": codec}, **config)
