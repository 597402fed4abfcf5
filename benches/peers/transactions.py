"""Transactions: their latency in each client, and what they cost ottla's throughput.

    python -m benches.peers.transactions [--rounds 5] [--count 300] [--records 500000]

Latency: transactions of ten records of 100 bytes, one after the other, each measured from its begin
to the end of its commit; ``linger.ms`` 0. Throughput: records of 100 bytes, with a commit every
100 ms, beside the idempotent producer without transactions. Three brokers, topics with three
partitions and three replicas. Clients take turns; the tables show the medians of the rounds.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benches.peers import client_option, runner
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

VALUE_BYTES = 100
TRANSACTION_RECORDS = 10
WARM = 50
COMMIT_INTERVAL = 0.1
BATCH = 1000
RESULTS = Path(".ottla-build/transactions.json")
PROGRAMS = runner.Programs("TransactionLatency.java", "transactions", "benches.peers.transactions")


def _timed(transaction: Callable[[], None], warm: int, count: int) -> list[float]:
    took = []
    for _ in range(warm + count):
        began = time.perf_counter()
        transaction()
        took.append((time.perf_counter() - began) * 1e6)
    return took[warm:]


def _ottla(bootstrap: str, topic: str, name: str, size: int, records: int, *counts: int) -> Any:
    import ottla

    value = b"v" * size
    config = {"bootstrap.servers": bootstrap, "transactional.id": name, "linger.ms": 0}
    with ottla.Producer(config) as producer:
        producer.init_transactions()

        def transaction() -> None:
            producer.begin_transaction()
            for _ in range(records):
                producer.send(topic, value)
            producer.commit_transaction()

        return _timed(transaction, *counts)


def _confluent(bootstrap: str, topic: str, name: str, size: int, records: int, *counts: int) -> Any:
    from confluent_kafka import Producer

    value = b"v" * size
    settings = {"bootstrap.servers": bootstrap, "transactional.id": name, "linger.ms": 0}
    producer = Producer({**settings, "socket.nagle.disable": True})
    producer.init_transactions()

    def transaction() -> None:
        producer.begin_transaction()
        for _ in range(records):
            producer.produce(topic, value)
        producer.commit_transaction()

    return _timed(transaction, *counts)


def _throughput(bootstrap: str, topic: str, name: str | None, records: int) -> list[float]:
    """Return the seconds and the CPU seconds of writing the records."""
    import ottla

    values = [b"v" * VALUE_BYTES] * BATCH
    config = {} if name is None else {"transactional.id": name}
    with ottla.Producer(bootstrap, config) as producer:
        if name is not None:
            producer.init_transactions()
        else:
            producer.send(topic, values[0]).result()
        began, cpu = time.perf_counter(), time.process_time()
        commit_at = began + COMMIT_INTERVAL
        if name is not None:
            producer.begin_transaction()
        for _ in range(records // BATCH):
            producer.send_batch(topic, values)
            if name is not None and time.perf_counter() >= commit_at:
                producer.commit_transaction()
                producer.begin_transaction()
                commit_at = time.perf_counter() + COMMIT_INTERVAL
        if name is None:
            producer.flush()
        else:
            producer.commit_transaction()
        return [time.perf_counter() - began, time.process_time() - cpu]


LATENCY = {"ottla": _ottla, "confluent-kafka": _confluent}
THROUGHPUT = {"idempotent": False, "a commit every 100 ms": True}


def _name() -> str:
    return f"bench-{uuid.uuid4().hex[:8]}"


def _child(text: str) -> object:
    client, call, *arguments = json.loads(text)
    if call == "latency":
        return LATENCY[client](*arguments)
    return _throughput(*arguments)


def main() -> int:
    parser = runner.argument_parser(__doc__, RESULTS)
    parser.add_argument("--count", type=int, default=300, help="transactions of a round")
    parser.add_argument("--records", type=int, default=500_000, help="records of a round")
    client_option.add_to(parser)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_child(options.child)))
        return 0
    client_option.prepare(options.clients)
    latency: dict[str, list[tuple[float, float]]] = {client: [] for client in options.clients}
    cost: dict[str, list[list[float]]] = {kind: [] for kind in THROUGHPUT}
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        topic = f"transactions-{uuid.uuid4().hex[:8]}"
        kafka.create_topic(topic, 3, 3)
        for turn in range(options.rounds):
            for client in runner.rotated(options.clients, turn):
                counts = (VALUE_BYTES, TRANSACTION_RECORDS, WARM, options.count)
                arguments = (kafka.bootstrap, topic, _name(), *counts)
                took = runner.run_client(PROGRAMS, client, "latency", arguments)
                cuts = statistics.quantiles(took, n=100)
                latency[client].append((cuts[49], cuts[98]))
                runner.log_progress(f"{client}: p50 {cuts[49]:.0f} µs, p99 {cuts[98]:.0f} µs")
            for kind in runner.rotated(list(THROUGHPUT), turn):
                name = _name() if THROUGHPUT[kind] else None
                job = (kafka.bootstrap, topic, name, options.records)
                cost[kind].append(runner.run_client(PROGRAMS, "ottla", "throughput", job))
                seconds, cpu = cost[kind][-1]
                runner.log_progress(f"{kind}: {options.records / seconds:,.0f}/s, CPU {cpu:.2f} s")
    print("\n| client | p50 in ms | p99 in ms |\n|---|---:|---:|")
    for client, cuts_of_rounds in latency.items():
        p50, p99 = (statistics.median(column) for column in zip(*cuts_of_rounds, strict=True))
        print(f"| {client} | {p50 / 1000:.2f} | {p99 / 1000:.2f} |")
    print("\n| ottla | records/s | CPU seconds per million records |\n|---|---:|---:|")
    for kind, rounds in cost.items():
        seconds, cpu = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"| {kind} | {options.records / seconds:,.0f} | {cpu * 1e6 / options.records:.2f} |")
    runner.save_json(options.json, {"latency": latency, "throughput": cost})
    return 0


if __name__ == "__main__":
    sys.exit(main())
