"""Share consumers of ottla and Java at default settings: rate, CPU and records per poll.

    python -m benches.peers.share [--rounds 3] [--records 300000]

One member reads a topic of 100-byte values as a share group: six partitions, three brokers, written
in batches of one megabyte and in batches of one hundred records. Each run is its own process, which
reads 20,000 records in another group before it is measured, from the first records to the
confirmation of the last acknowledgement. Calls take turns; the table shows the medians of the
rounds.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benches.peers import runner
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

VALUE_BYTES = 100
PARTITIONS = 6
WARM_RECORDS = 20_000
BATCHES = {"1 MB": 9_000, "100 records": 100}
"""Records of a batch, by name."""
RESULTS = Path(".ottla-build/share.json")
CALLS = list(
    itertools.product(["ottla poll", "ottla poll_arrow", "Java poll"], ["implicit", "explicit"])
)


@dataclass
class Result:
    """The measurements of one call, one per round."""

    batch: str
    call: str
    mode: str
    seconds_per_million: list[float] = field(default_factory=list)
    cpu_per_million: list[float] = field(default_factory=list)
    records_per_poll: list[float] = field(default_factory=list)

    def add(self, measured: dict[str, Any]) -> None:
        """Add a round."""
        millions = measured["records"] / 1e6
        self.seconds_per_million.append(measured["seconds"] / millions)
        self.cpu_per_million.append(measured["cpu_seconds"] / millions)
        self.records_per_poll.append(measured["records"] / max(measured["polls"] - 1, 1))
        runner.log_progress(
            f"{self.batch}: {self.call} {self.mode} {1e6 / self.seconds_per_million[-1]:,.0f}/s, "
            f"CPU {self.cpu_per_million[-1]:.2f} s per million"
        )

    @property
    def row(self) -> str:
        """The row of the table."""
        seconds, cpu, per_poll = map(
            statistics.median,
            (self.seconds_per_million, self.cpu_per_million, self.records_per_poll),
        )
        return (
            f"| {self.batch} | {self.call} | {self.mode} | {1e6 / seconds:,.0f} | {cpu:.2f} "
            f"| {per_poll:,.0f} |"
        )


def _fill(kafka: KafkaCluster, records: int, batch: int) -> str:
    """Create a topic with batches of so many records."""
    import ottla

    topic = f"share-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(topic, PARTITIONS, 1)
    values = [b"%0*d" % (VALUE_BYTES, n) for n in range(batch)]
    with ottla.Producer(
        kafka.bootstrap, batch_size=2_000_000, max_request_size=4_000_000
    ) as producer:
        for number in range(-(-records // batch)):
            partition = number % PARTITIONS
            producer.send_batch(topic, values, partitions=[partition] * batch)
            if number % PARTITIONS == PARTITIONS - 1:
                # Batches are not merged.
                producer.flush()
    return topic


def _new_group(kafka: KafkaCluster) -> str:
    import ottla
    from ottla.admin import ConfigResource

    group = f"bench-{uuid.uuid4().hex[:8]}"
    with ottla.Admin(kafka.bootstrap) as admin:
        configs = {"share.auto.offset.reset": "earliest"}
        admin.alter_configs({ConfigResource("group", group): configs})
    return group


def _read(
    call: str, bootstrap: str, topic: str, mode: str, group: str, records: int
) -> dict[str, float]:
    """Read with ottla; return what Java's program prints."""
    import pyarrow as pa

    import ottla

    first = received = polls = 0
    began = cpu = 0.0
    config = {"group.id": group, "share.acknowledgement.mode": mode}
    with ottla.ShareConsumer(bootstrap, config, topics=[topic]) as consumer:
        while received < records:
            if call == "ottla poll":
                polled = consumer.poll()
                count = len(polled)
                size = sum(len(record.value or b"") for record in polled)
            else:
                batch = consumer.poll_arrow(columns=["value"])
                count = 0 if batch is None else pa.record_batch(batch).num_rows
                size = count * VALUE_BYTES
            if not count:
                continue
            if not first:
                first, began, cpu = count, time.perf_counter(), time.process_time()
            received += count
            polls += 1
            assert size == count * VALUE_BYTES
            if mode == "explicit" and call == "ottla poll":
                for record in polled:
                    consumer.acknowledge(record)
            elif mode == "explicit":
                consumer.acknowledge_all()
        assert set(consumer.commit().values()) <= {None}
        return {
            "records": received - first,
            "seconds": time.perf_counter() - began,
            "cpu_seconds": time.process_time() - cpu,
            "polls": polls,
        }


def _run_child(arguments: Sequence[Any]) -> dict[str, float]:
    call, bootstrap, topic, mode, warm_group, group, warm_records, records = arguments
    _read(call, bootstrap, topic, mode, warm_group, warm_records)
    return _read(call, bootstrap, topic, mode, group, records)


def main() -> int:
    parser = runner.argument_parser(__doc__, RESULTS)
    parser.set_defaults(rounds=3)
    parser.add_argument("--records", type=int, default=300_000, help="records of a round")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_run_child(json.loads(options.child))))
        return 0
    results: list[Result] = []
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        for batch, size in BATCHES.items():
            topic = _fill(kafka, options.records, size)
            rows = [Result(batch, call, mode) for call, mode in CALLS]
            for turn in range(options.rounds):
                for row in runner.rotated(rows, turn):
                    groups = [_new_group(kafka), _new_group(kafka)]
                    job = [kafka.bootstrap, topic, row.mode, *groups, WARM_RECORDS, options.records]
                    if row.call == "Java poll":
                        row.add(runner.run_java("ShareConsume.java", job))
                    else:
                        row.add(runner.run_python("benches.peers.share", [row.call, *job]))
            kafka.delete_topic(topic)
            results += rows
    print(
        "\n| batches | call | acknowledgement | records/s | CPU s per million | records per poll |"
    )
    print("|---|---|---|---:|---:|---:|")
    print("\n".join(result.row for result in results))
    runner.save_json(options.json, [asdict(result) for result in results])
    return 0


if __name__ == "__main__":
    sys.exit(main())
