"""A first micro-batch that was not committed is repeated: each record once, none lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.conftest import TopicFactory
from tests.spark.older_releases import line
from tests.spark.parity import run_both
from tests.spark.streams import Row, Run, Streams, add_partitions, produce

if TYPE_CHECKING:
    from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


def fails(streams: Streams, source: str, name: str, **options: str) -> list[Row]:
    """Return the records of the first micro-batch, whose sink failed."""
    query, rows, batches = streams.start(source, name, None, **options)
    with pytest.raises(Exception, match="the sink fails"):
        query.awaitTermination(300)
    assert batches == [0]
    return sorted(rows)


def the_rest(streams: Streams, **options: str) -> Run:
    """Read the repeated micro-batch and what came after it; compare with Spark's source."""
    if line() >= (4, 2):
        return streams.same("replay", **options)
    # As the guide says, a run that repeats a micro-batch ends with it. Spark's own source of 4.1
    # fails there, in the report of its progress.
    runs = [streams.run("ottla", "replay", **options) for _ in range(2)]
    return Run(sorted(runs[0].rows + runs[1].rows), runs[0].ends + runs[1].ends)


@pytest.mark.parametrize(
    ("starting", "before", "after"),
    [
        ("earliest", 70, 30),
        ("latest", 0, 30),
        # One partition from its end, which the options do not give, one from its first record.
        ({"0": -1, "1": -2}, 20, 30),
        ({"0": 45, "1": -1}, 5, 30),
    ],
)
def test_replay_after_the_log_grew_and_a_partition_was_added(
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
    theirs, ours = run_both(lambda source: fails(streams, source, "replay", **options))
    assert ours == theirs
    assert len(ours) == before
    produce(kafka, topic, 10, 15)
    add_partitions(kafka, topic, 3)
    produce(kafka, topic, 0, 0, 5)
    streams.sink_fails = False
    run = the_rest(streams, **options)
    # The first one unchanged, and the later records: each record once.
    assert len(run.rows) == len({row[:3] for row in run.rows}) == before + after
    assert set(ours) <= set(run.rows)
    assert len(run.ends) == 2
