"""The rates at which topics, partitions and brokers are written, from two samples."""

from __future__ import annotations

from ottla._measurements.write_rates import Group, Sample, WriteRate, write_rates

A, B, C = ("a", 0), ("a", 1), ("c", 0)


def test_rates_are_summed_by_topic_and_broker() -> None:
    leaders = {A: 1, B: 2, C: 1}
    before = Sample(leaders, {A: 10, B: 0, C: 5}, 100.0, {A: 1000, B: 0, C: 7}, 100.5)
    after = Sample(leaders, {A: 30, B: 40, C: 5}, 110.0, {A: 2000, B: 4000, C: 7}, 110.5)
    rates = write_rates(before, after)
    assert rates.partitions == {A: WriteRate(2, 100), B: WriteRate(4, 400), C: WriteRate(0, 0)}
    assert rates.by_topic() == [Group("a", 2, WriteRate(6, 500)), Group("c", 1, WriteRate(0, 0))]
    assert rates.by_broker() == [Group(1, 2, WriteRate(2, 100)), Group(2, 1, WriteRate(4, 400))]
    assert rates.total() == WriteRate(6, 500)
    assert rates.shortened == []


def test_what_two_samples_cannot_tell_is_unknown() -> None:
    before = Sample({A: 1, B: 1, C: 1}, {A: 10, C: 50}, 0.0, {A: 1000, B: 5, C: 70}, 0.0)
    # A log lost a segment, a leader moved, and a topic was created again.
    after = Sample({A: 1, B: 2, C: 1}, {A: 20, B: 9, C: 3}, 10.0, {A: 400, B: 90, C: 80}, 10.0)
    rates = write_rates(before, after)
    assert rates.partitions[A] == WriteRate(1, None)
    assert rates.partitions[B] == WriteRate(None, None)
    assert rates.partitions[C] == WriteRate(None, 1)
    assert rates.shortened == [A]
    assert rates.by_topic() == [
        Group("a", 2, WriteRate(1, None)),
        Group("c", 1, WriteRate(None, 1)),
    ]
    # A partition without a leader belongs to no broker.
    offline = Sample({A: None}, {}, 20.0, {}, 20.0)
    assert write_rates(after, offline).by_broker() == []
    assert write_rates(after, offline).total() == WriteRate(None, None)
    # No time has passed.
    assert write_rates(after, after).total() == WriteRate(None, None)
