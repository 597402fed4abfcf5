"""The soak's judge of memory, descriptors and threads: what grows is refused, noise is not."""

from __future__ import annotations

import random

import pytest

from tests.soak.growth import DESCRIPTORS, MEMORY, THREADS, Growth, growth_of
from tests.soak.judgement import BOUNDS, bounds_of
from tests.soak.sampling import Sample

SECONDS = 3600.0
COUNT = 720


def series(memory: list[float], descriptors: list[int] | None = None) -> list[Sample]:
    return [
        Sample(n * SECONDS / COUNT, each, descriptors[n] if descriptors else 20, 8)
        for n, each in enumerate(memory)
    ]


def judge(samples: list[Sample]) -> list[Growth]:
    return [each for each in growth_of("it", samples, SECONDS, BOUNDS) if each.is_too_much]


def noise(rng: random.Random) -> float:
    """Return some MiB: mostly little, and now and then what a fault causes."""
    return rng.gauss(0, 1.5) + (rng.uniform(20, 80) if rng.random() < 0.1 else 0)


@pytest.mark.parametrize("seed", range(20))
def test_a_noisy_flat_series_is_accepted(seed: int) -> None:
    rng = random.Random(seed)
    assert judge(series([60 + noise(rng) for _ in range(COUNT)])) == []


@pytest.mark.parametrize("seed", range(20))
def test_a_noisy_series_that_grows_is_refused(seed: int) -> None:
    rng = random.Random(seed)
    # 10 MiB over the run, of which the medians see three fifths.
    growing = [60 + 10 * n / COUNT + noise(rng) for n in range(COUNT)]
    (found,) = judge(series(growing))
    assert found.what == "memory"
    assert "it: memory grew from" in str(found)


def test_warm_up_does_not_count() -> None:
    assert judge(series([60 + min(n / COUNT * 5, 1) * 100 for n in range(COUNT)])) == []


def test_growth_in_steps_is_refused() -> None:
    assert judge(series([60 + 8 * (n > COUNT * 0.7) for n in range(COUNT)]))


def test_descriptors_that_leak_are_refused() -> None:
    leaking = [20 + n // 60 for n in range(COUNT)]
    (found,) = judge(series([60.0] * COUNT, leaking))
    assert found.what == "descriptors"


def test_what_shrinks_is_accepted() -> None:
    assert judge(series([60 - 20 * n / COUNT for n in range(COUNT)])) == []


def test_large_processes_may_move_by_a_part() -> None:
    assert MEMORY.of(10) == MEMORY.amount
    assert MEMORY.of(1_000) == MEMORY.part * 1_000
    assert (DESCRIPTORS.of(10), THREADS.of(10)) == (DESCRIPTORS.amount, THREADS.amount)


def test_spark_s_jvm_may_compile_for_longer() -> None:
    assert bounds_of("spark_copying, JVM")["memory"].of(770) > bounds_of("writing")["memory"].of(
        770
    )
    assert bounds_of("spark_copying, workers") == BOUNDS


def test_a_series_that_is_too_short_is_not_accepted() -> None:
    short = series([60.0] * COUNT)[: COUNT // 2]
    with pytest.raises(ValueError, match="it: there are too few samples"):
        growth_of("it", short, SECONDS, BOUNDS)
