"""Produce and consume at every client's default settings: wall time and CPU, side by side.

    python -m benches.peers.defaults [--rounds 3] [--scale 1.0] [--sizes 100,500,1000]
        [--codecs none,gzip,snappy,lz4,zstd] [--verbs produce,consume] [--clients ottla,Java]

Clients are given only the servers, the topic, the codec, and for consumers the partitions and
`auto.offset.reset`. Three brokers, six partitions with three replicas; records have keys, and
half of each value is compressible. Each run is its own process, which sends or reads 20,000
records before it is measured: see `producers/defaults.py` and `consumers/defaults.py`. Calls take
turns, after one run of each client that is not counted and warms up the brokers' JVMs. The table
shows the medians of the rounds. After each run that produces, the log must contain every record.
"""

from __future__ import annotations

import itertools
import sys
import uuid
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from benches.peers import client_option, cpu_cost, ranking, runner
from benches.peers.consumers import defaults as consuming
from benches.peers.consumers.task import Task
from benches.peers.producers import defaults as producing
from benches.peers.producers.defaults import Job
from benches.peers.ranking import Row
from benches.peers.topic_data import TopicData, fill_topic
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

RECORDS = {100: 300_000, 500: 150_000, 1000: 100_000}
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PARTITIONS, REPLICAS = 6, 3
RESULTS = Path(".ottla-build/defaults.json")
GOAL = "ottla's defaults are the fastest in wall time and the cheapest in CPU"

PRODUCE = {
    "ottla": ["send", "send, on_delivery"],
    "confluent-kafka": ["produce", "produce, on_delivery"],
    "Java": ["send, callback"],
    "franz-go": ["Produce, promise"],
}
CONSUME = {
    "ottla": ["poll"],
    "confluent-kafka": ["poll", "consume(500)"],
    "Java": ["poll"],
    "franz-go": ["PollFetches"],
}
# Deleted topics free their space at once: a run's files are not written back in the next one's.
TOPIC = {"file.delete.delay.ms": "0"}


def main() -> int:
    parser = cpu_cost.argument_parser(__doc__, RESULTS, RECORDS, CODECS)
    parser.set_defaults(rounds=3)
    parser.add_argument("--verbs", type=runner.parse_names, default=["produce", "consume"])
    client_option.add_to(parser)
    options = parser.parse_args()
    client_option.prepare(options.clients)
    rows: list[Row] = []
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        bench = _Bench(kafka, options.rounds, options.clients)
        for verb, size, codec in itertools.product(options.verbs, options.sizes, options.codecs):
            records = consuming.whole_lists(RECORDS[size] * options.scale)
            rows += getattr(bench, verb)(size, codec, records)
    print(ranking.table(["call to", "values", "codec"], rows))
    print(ranking.verdict(GOAL, rows))
    runner.save_json(options.json, [asdict(row) for row in rows])
    return 0


class _Bench:
    """The brokers, and how often which clients run on them."""

    def __init__(self, kafka: KafkaCluster, rounds: int, clients: list[str]) -> None:
        self._kafka = kafka
        self._rounds = rounds
        self._clients = clients
        self._warm_topic = self._create_topic()
        self._warm_verbs: set[str] = set()

    def produce(self, size: int, codec: str, records: int) -> list[Row]:
        def run(row: Row) -> dict[str, float]:
            topic = self._create_topic()
            servers = self._kafka.bootstrap
            job = Job(servers, self._warm_topic, topic, size, records, codec)
            took = producing.measure(row.client, row.call, job)
            written = sum(self._kafka.end_offset(topic, n) for n in range(PARTITIONS))
            if written < records:
                raise SystemExit(f"{row.name}: {written} of {records} records in the log")
            self._kafka.delete_topic(topic)
            return took

        return self._take_turns(("produce", f"{size} B", codec), PRODUCE, run)

    def consume(self, size: int, codec: str, records: int) -> list[Row]:
        data = TopicData(size, codec, records, PARTITIONS, REPLICAS, with_keys=True)
        topic = fill_topic(self._kafka, data)
        task = Task(self._kafka.bootstrap, topic, PARTITIONS, records, size)

        def run(row: Row) -> dict[str, float]:
            return consuming.measure(row.client, row.call, task)

        rows = self._take_turns(("consume", f"{size} B", codec), CONSUME, run)
        self._kafka.delete_topic(topic)
        return rows

    def _take_turns(
        self,
        scenario: tuple[str, ...],
        calls: dict[str, list[str]],
        run: Callable[[Row], dict[str, float]],
    ) -> list[Row]:
        rows = [Row(scenario, client, call) for client in self._clients for call in calls[client]]
        warm = scenario[0] not in self._warm_verbs
        self._warm_verbs.add(scenario[0])
        ranking.take_turns(rows, self._rounds, run, warm)
        return rows

    def _create_topic(self) -> str:
        topic = f"defaults-{uuid.uuid4().hex[:8]}"
        self._kafka.create_topic(topic, PARTITIONS, REPLICAS, TOPIC)
        return topic


if __name__ == "__main__":
    sys.exit(main())
