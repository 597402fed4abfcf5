"""A first micro-batch that was not committed is run again: its records once, none lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TopicFactory
from tests.spark.both import at_once
from tests.spark.streams import Row, Streams, add_partitions, produce

if TYPE_CHECKING:
    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


def fails(streams: Streams, source: str, name: str, **options: str) -> list[Row]:
    """What the first micro-batch held when its sink failed."""
    query, rows, batches = streams.start(source, name, None, **options)
    with pytest.raises(Exception, match="the sink fails"):
        query.awaitTermination(300)
    assert batches == [0]
    return sorted(rows)


@pytest.mark.parametrize(
    ("starting", "before", "after"),
    [
        ("earliest", 70, 30),
        ("latest", 0, 30),
        # One partition from its end, which the options do not tell, one from its first record.
        ({"0": -1, "1": -2}, 20, 30),
        ({"0": 45, "1": -1}, 5, 30),
    ],
)
def test_the_log_has_grown_and_a_partition_has_come(
    streams: Streams,
    kafka: KafkaCluster,
    kafka_topic: TopicFactory,
    starting: str | dict[str, int],
    before: int,
    after: int,
) -> None:
    topic = kafka_topic(partitions=2)
    produce(kafka, topic, 50, 20)
    if not isinstance(starting, str):
        starting = json.dumps({topic: starting})
    options = {"subscribe": topic, "startingOffsets": starting}
    streams.sink_fails = True
    theirs, ours = at_once(lambda source: fails(streams, source, "replay", **options))
    assert ours == theirs
    assert len(ours) == before
    produce(kafka, topic, 10, 15)
    add_partitions(kafka, topic, 3)
    produce(kafka, topic, 0, 0, 5)
    streams.sink_fails = False
    run = streams.same("replay", **options)
    # The first again, as it was, and what came since: each record once.
    assert len(run.rows) == len({row[:3] for row in run.rows}) == before + after
    assert set(ours) <= set(run.rows)
    assert len(run.ends) == 2
