"""Read a backlog with each of ottla's calls at several `fetch.max.wait.ms`, and with other clients.

    python -m benches.peers.backlog [--rounds 3] [--scale 1.0] [--partitions 1,2,10,50]
        [--waits 10,500,2000] [--clients ottla,Java]

Each of three brokers leads the given number of partitions, which hold one million records of 100
bytes in all. A broker without records for a fetch responds only after `fetch.max.wait.ms`; a
consumer that waits for it while other partitions have records reads a backlog slower, the higher
the setting. Goal: at any setting, wall time is at most WALL_LIMIT times, and CPU at most
CPU_LIMIT times, that at the lowest setting; the limits allow for noise. Other clients run at
their defaults: 500 ms, franz-go 5 s. Each run is its own process (`consumers/defaults.py`). Runs
take turns, after one run of each client that is not counted and warms up the brokers' JVMs. The
table shows the medians of the rounds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from benches.peers import client_option, ranking, runner
from benches.peers.consumers import defaults as consuming
from benches.peers.consumers.task import Task
from benches.peers.ranking import CPU, WALL, Row
from benches.peers.topic_data import TopicData, fill_topic
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

BROKERS = 3
RECORDS, VALUE_BYTES = 1_000_000, 100
WAITS = [10, 500, 2000]
PARTITIONS = [1, 2, 10, 50]
RESULTS = Path(".ottla-build/backlog.json")
WALL_LIMIT, CPU_LIMIT = 1.1, 1.05
# Marks rows in which the client uses its default.
DEFAULT, OTTLA_DEFAULT_WAIT = "default", 500

OTTLA = ["poll", "for", "async for", "poll_arrow", "scan"]
PEERS = {
    "confluent-kafka": ["poll", "consume(500)"],
    "Java": ["poll"],
    "franz-go": ["PollFetches"],
}


def main() -> int:
    parser = runner.argument_parser(__doc__, RESULTS)
    parser.set_defaults(rounds=3)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the records")
    parser.add_argument(
        "--partitions", type=runner.parse_numbers, default=PARTITIONS, help="per broker"
    )
    parser.add_argument("--waits", type=runner.parse_numbers, default=WAITS, help="milliseconds")
    client_option.add_to(parser)
    options = parser.parse_args()
    client_option.prepare(options.clients)
    records = consuming.whole_lists(RECORDS * options.scale)
    waits = [DEFAULT if wait == OTTLA_DEFAULT_WAIT else str(wait) for wait in options.waits]
    rows: list[Row] = []
    with KafkaCluster(BROKERS, jvm=LONG_LIVED) as kafka:
        for partitions in options.partitions:
            some = list(_rows(f"{partitions} a broker", waits, options.clients))
            _run(kafka, some, BROKERS * partitions, records, options.rounds, warm=not rows)
            rows += some
    print(ranking.table(["partitions", "fetch.max.wait.ms"], rows))
    print(_verdict_on_waits(rows, waits[0]))
    at_default = [row for row in rows if row.scenario[1] == DEFAULT]
    print(ranking.verdict("at defaults ottla is fastest and cheapest in CPU", at_default))
    runner.save_json(options.json, [asdict(row) for row in rows])
    return 0


def _rows(partitions: str, waits: list[str], clients: list[str]) -> Iterator[Row]:
    for wait in waits:
        if "ottla" in clients:
            yield from (Row((partitions, wait), "ottla", call) for call in OTTLA)
    for client, calls in PEERS.items():
        if client in clients:
            yield from (Row((partitions, DEFAULT), client, call) for call in calls)


def _run(
    kafka: KafkaCluster, rows: list[Row], partitions: int, records: int, rounds: int, warm: bool
) -> None:
    topic = fill_topic(kafka, TopicData(VALUE_BYTES, "none", records, partitions))

    def read(row: Row) -> dict[str, float]:
        wait = row.scenario[1]
        settings = {} if wait == DEFAULT else {"fetch.max.wait.ms": wait}
        task = Task(kafka.bootstrap, topic, partitions, records, VALUE_BYTES, dict(settings))
        return consuming.measure(row.client, row.call, task)

    ranking.take_turns(rows, rounds, read, warm)
    kafka.delete_topic(topic)


def _verdict_on_waits(rows: list[Row], lowest: str) -> str:
    """Judge each of ottla's calls against itself at the lowest setting."""
    cells, missed = 0, []
    base = {(it.scenario[0], it.call): it for it in rows if it.scenario[1] == lowest}
    for row in rows:
        if row.client != "ottla" or row.scenario[1] == lowest:
            continue
        for measure, limit in ((WALL, WALL_LIMIT), (CPU, CPU_LIMIT)):
            cells += 1
            ratio = row.median(measure) / base[row.scenario[0], row.call].median(measure)
            if ratio > limit:
                where = ", ".join(row.scenario)
                missed.append(f"- {where}: {row.name}, {measure}: {ratio:.2f} times")
    limits = f"wall at most {WALL_LIMIT} times, CPU at most {CPU_LIMIT} times"
    return ranking.judge(f"ottla at any fetch.max.wait.ms as at {lowest} ({limits})", cells, missed)


if __name__ == "__main__":
    sys.exit(main())
