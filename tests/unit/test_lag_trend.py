"""The trend of a lag, with simulated groups: consumers that commit every few seconds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from ottla._measurements.lag_trend import MAX_PATIENCE, PATIENCE, GroupTrend, PartitionTrend, Trend

KEY = ("orders", 0)


def simulated(
    *,
    written: float = 120.0,
    read: float | Callable[[float], float] = 1e9,
    backlog: int = 0,
    commits: float = 5.0,
    every: float = 3.0,
    seconds: float = 300.0,
    jitter: float = 0.0,
    seed: int = 1,
) -> Iterator[tuple[float, Trend]]:
    """Yield the trend at each observation of a consumer.

    Args:
        written: the records written per second.
        read: the records that the consumer can read per second.
        backlog: the lag at the beginning.
        commits: the seconds between its commits.
        every: the seconds between observations.
        seconds: the length of the simulation.
        jitter: the largest delay of each commit and each observation in seconds.
        seed: the seed of the delays.
    """
    delays = random.Random(seed)
    step = 0.05
    now, end, position, committed = 0.0, float(backlog), 0.0, 0
    next_commit, next_look = commits * delays.random(), 0.0
    trend: PartitionTrend | None = None
    while now < seconds:
        end += written * step
        position = min(end, position + (read(now) if callable(read) else read) * step)
        if now >= next_commit:
            committed = int(position)
            next_commit += commits + jitter * (delays.random() - 0.5)
        if now >= next_look:
            if trend is None:
                trend = PartitionTrend(now, committed, int(end))
            else:
                trend.observe(now, committed, int(end))
            yield now, trend.trend()
            next_look += every + jitter * delays.random()
        now += step


@pytest.mark.parametrize("every", [0.5, 1.0, 3.0, 7.0])
@pytest.mark.parametrize("commits", [1.0, 5.0, 10.0])
def test_a_healthy_group_is_never_said_to_stand_still(every: float, commits: float) -> None:
    for seed in range(20):
        seen = [*simulated(every=every, commits=commits, jitter=0.8, seed=seed)]
        states = [trend.state for _, trend in seen]
        # It is not known until the first commits, and from then on the group keeps up.
        known = states.index("keeping_up")
        assert set(states[:known]) <= {"unknown"}
        assert set(states[known:]) == {"keeping_up"}
        assert seen[known][0] <= 2 * commits + 2 * every + 2
        assert all(trend.seconds_to_clear == 0 for _, trend in seen[known:])


def test_the_rates_of_a_healthy_group_do_not_flap() -> None:
    for _, trend in [*simulated()][12:]:
        assert trend.read == pytest.approx(120, rel=0.1)
        assert trend.written == pytest.approx(120, rel=0.1)
        assert trend.read == pytest.approx(trend.written, rel=0.1)


@pytest.mark.parametrize("written", [0.0, 0.2, 120.0])
def test_a_stuck_group_is_named_within_a_bounded_time(written: float) -> None:
    seen = [*simulated(read=0, backlog=13, written=written)]
    for now, trend in seen:
        assert trend.state == ("unknown" if now <= PATIENCE else "not_shrinking")
        assert trend.seconds_to_clear is None
        assert trend.read == (None if now <= PATIENCE else 0)
        assert now == 0 or trend.written == pytest.approx(written, rel=0.1, abs=0.4)


def test_a_group_that_stops_is_named_within_a_bounded_time() -> None:
    for commits in (1.0, 5.0, 40.0):
        seen = [*simulated(read=lambda now: 1e9 if now < 200 else 0, commits=commits, seconds=500)]
        named = next(now for now, trend in seen if now > 195 and trend.state == "not_shrinking")
        assert 200 < named < 200 + max(PATIENCE, 2 * commits) + commits + 6 <= 500
        assert {trend.state for now, trend in seen if now >= named} == {"not_shrinking"}
        # Soon its last commits no longer count.
        assert seen[-1][1].read == 0
        assert seen[-1][1].written == pytest.approx(120, rel=0.1)


def test_a_group_that_clears_its_lag() -> None:
    seen = [*simulated(read=320, backlog=40_000, seconds=300)]
    for now, trend in seen[8:]:
        if now < 180:
            assert trend.state == "shrinking"
            # A commit is seen up to three seconds late.
            assert trend.read == pytest.approx(320, rel=0.15)
            # The lag shrinks by 200 a second, and the last commit is a few seconds old.
            assert trend.seconds_to_clear == pytest.approx(200 - now, abs=25)
    assert {trend.state for now, trend in seen if now > 220} == {"keeping_up"}
    assert "not_shrinking" not in {trend.state for _, trend in seen}


def test_a_group_that_falls_behind() -> None:
    seen = [*simulated(read=100)]
    assert {trend.state for now, trend in seen if now > 120} == {"not_shrinking"}
    seen = [*simulated(read=100, backlog=10_000)]
    assert {trend.state for now, trend in seen if now > 70} == {"not_shrinking"}
    assert "shrinking" not in {trend.state for _, trend in seen}


def test_a_backlog_of_constant_size_is_not_shrinking() -> None:
    seen = [*simulated(read=120, backlog=10_000)]
    states = [trend.state for now, trend in seen if now > 75]
    assert set(states) == {"not_shrinking"}
    assert {trend.state for now, trend in seen if now < 45} == {"unknown"}


def test_one_pause_of_a_healthy_group_is_no_alarm() -> None:
    """As in a rebalance."""
    seen = [*simulated(read=lambda now: 0 if 150 < now < 162 else 1000)]
    assert "not_shrinking" not in {trend.state for _, trend in seen}


def test_a_consumer_that_commits_rarely() -> None:
    seen = [*simulated(commits=50)]
    assert {trend.state for now, trend in seen if now > 60} == {"keeping_up"}


def test_an_idle_partition_keeps_up() -> None:
    trend = PartitionTrend(0, 7, 7)
    assert trend.trend() == Trend(None, None, 0, "keeping_up")
    for now in range(3, 300, 3):
        trend.observe(now, 7, 7)
        assert trend.trend() == Trend(0, 0, 0, "keeping_up")
    # A record now and then is read with the next commit.
    for now in range(300, 2000, 3):
        written = 7 + now // 200
        trend.observe(now, 7 + (now - 5) // 200, written)
        assert trend.trend().state == "keeping_up"


def test_offsets_that_are_set_back_begin_anew() -> None:
    trend = PartitionTrend(0, 0, 1000)
    for now in range(1, 40):
        trend.observe(now, now * 20, 1000 + now)
    assert trend.trend().state == "shrinking"
    trend.observe(41, 5, 1041)
    assert trend.trend() == Trend(None, None, None, "unknown")
    trend.observe(42, 5, 1042)
    assert trend.trend() == Trend(None, 1, None, "unknown")
    # A topic of the same name that was created again.
    trend.observe(43, 5, 9)
    assert trend.trend() == Trend(None, None, None, "unknown")


def test_the_patience_has_a_limit() -> None:
    trend = PartitionTrend(0, 0, 10)
    trend.observe(1000, 2, 10)
    trend.observe(2000, 4, 10)
    trend.observe(2000 + MAX_PATIENCE - 1, 4, 10)
    assert trend.trend().state == "shrinking"
    trend.observe(2000 + MAX_PATIENCE + 1, 4, 10)
    assert trend.trend().state == "not_shrinking"


def test_a_partition_that_begins_later() -> None:
    group = GroupTrend()
    assert group.total() is None
    for now in range(0, 60, 3):
        group.observe(now, {KEY: (now // 5 * 600, now * 120)})
    total = group.total()
    assert total is not None
    assert total.state == "keeping_up"
    late = ("orders", 1)
    for now in range(60, 64, 3):
        group.observe(now, {KEY: (now // 5 * 600, now * 120), late: (5, 100)})
    # What is not known of one partition is not known of their sum.
    assert group.trends()[KEY].state == "keeping_up"
    assert group.trends()[late] == Trend(None, 0, None, "unknown")
    total = group.total()
    assert total is not None
    assert (total.state, total.read, total.seconds_to_clear) == ("unknown", None, None)
    for now in range(66, 120, 3):
        group.observe(now, {KEY: (now // 5 * 600, now * 120), late: (5, 100)})
    # One partition that nobody reads is not cleared by those that are read.
    total = group.total()
    assert total is not None
    assert total.state == "not_shrinking"
    assert total.read == pytest.approx(120, rel=0.1)
    # A partition that is gone is forgotten.
    group.observe(123, {KEY: (123 // 5 * 600, 123 * 120)})
    assert [*group.trends()] == [KEY]


def test_the_memory_of_a_stuck_partition_is_bounded() -> None:
    trend = PartitionTrend(0, 0, 1)
    for now in range(1, 20_000):
        trend.observe(now, now // 10_000, now * 10)
    assert len(trend._unread) + len(trend._recent) + len(trend._changes) < 500
