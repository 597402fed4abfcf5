"""The memory of each way to read records that compress to nearly nothing, with 2 GiB of addresses.

Each reader runs in a process of its own. The peaks are printed as a table, which is in
``docs/design/consumer.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

import ottla
from tests.support.child import run_child
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.deep]

TopicFactory = Callable[..., str]
MEGABYTE = 1 << 20
RECORD = 60 * MEGABYTE
RECORDS = 40

# What another client for Python takes for its first record, in MiB.
FIRST_LIMIT = 213
# The application holds the last result while the next one is read.
ALL_LIMIT = FIRST_LIMIT + RECORD // MEGABYTE

PRELUDE = """
import contextlib, io, re, resource, uuid
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
def peak():
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) // 1024
def consumer():
    reader = ottla.Consumer(bootstrap, auto_offset_reset="earliest")
    reader.assign([(topic, 0)])
    return reader
def share_consumer():
    group = f"share-{uuid.uuid4().hex[:8]}"
    with ottla.Admin(bootstrap) as admin:
        resource = ottla.admin.ConfigResource("group", group)
        admin.alter_configs({resource: {"share.auto.offset.reset": "earliest"}})
    return ottla.ShareConsumer(bootstrap, group_id=group, topics=[topic])
def columns(reader, **options):
    import pyarrow
    while True:
        if (batch := reader.poll_arrow(timeout=30, **options)) is not None:
            yield from [1] * pyarrow.record_batch(batch).num_rows
def records(reader):
    while True:
        yield from reader.poll(timeout=30)
def take(found, wanted):
    count = 0
    for _ in found:
        count += 1
        if count == wanted:
            break
    say(count, peak())
"""

SHARED = {
    "poll": "take(records(consumer()), wanted)",
    "iteration": "take(consumer(), wanted)",
    "poll_arrow": "take(columns(consumer()), wanted)",
    "poll_arrow, max_rows=1": "take(columns(consumer(), max_rows=1), wanted)",
    "scan": "take(ottla.scan(topic, bootstrap), wanted)",
    "scan as a stream of pyarrow": """
import pyarrow
take(pyarrow.RecordBatchReader.from_stream(ottla.scan(topic, bootstrap)), wanted)
""",
    "AsyncConsumer.poll_arrow": """
import asyncio
async def read():
    count = 0
    async with ottla.AsyncConsumer(bootstrap, auto_offset_reset="earliest") as reader:
        reader.assign([(topic, 0)])
        while count < wanted:
            batch = await reader.poll_arrow(timeout=30)
            count += 0 if batch is None else batch.num_rows
    say(count, peak())
asyncio.run(read())
""",
    "ShareConsumer.poll": "take(records(share_consumer()), wanted)",
    "ShareConsumer.poll_arrow": "take(columns(share_consumer()), wanted)",
}

CONSUME = """
from ottla.cli import main
class Sink(io.RawIOBase):
    size = 0
    def writable(self): return True
    def write(self, data):
        Sink.size += len(data)
        return len(data)
sink = io.TextIOWrapper(io.BufferedWriter(Sink()))
with contextlib.redirect_stdout(sink):
    code = main(["consume", bootstrap, "-t", topic, *arguments])
assert code == 0
say(Sink.size // {size}, peak())
"""
# Zeros are escapes of six characters.
COMMANDS = {
    "ottla consume": (["-e"], RECORD),
    "ottla consume --json": (["-e", "--json"], 6 * RECORD),
    "ottla consume -f": (["-e", "-f", "%o %s"], RECORD),
    "ottla consume --last 40": (["--last", "40"], RECORD),
    "ottla consume -o -40": (["-e", "-o", "-40"], RECORD),
    "ottla consume --group": (["-e", "-G", "readers", "-c", "40"], RECORD),
}

CONSOLE = """
import http.client
from ottla.console import serve
with ottla.Client(bootstrap) as client, serve(client) as console:
    connection = http.client.HTTPConnection("127.0.0.1", console.port, timeout=120)
    path = "/api/messages" + query.format(topic)
    connection.request("GET", path, headers={"Authorization": f"Bearer {console.token}"})
    response = connection.getresponse()
    assert response.status == 200, response.read(1000)
    size = 0
    while piece := response.read(1 << 20):
        size += len(piece)
    say(size, peak())
"""
PAGES = {
    "Messages page": "?topic={}",
    "Messages page, newest": "?topic={}&last=10",
    "Messages page, download": "/download?topic={}&as=jsonl",
    "Messages page, download as CSV": "/download?topic={}&as=csv",
}


@pytest.fixture
def zeros(kafka: KafkaCluster, kafka_topic: TopicFactory) -> str:
    """A topic with forty records of 60 MiB, which take 100 kB."""
    name = kafka_topic(1, 1)
    config = {"compression.type": "zstd", "linger.ms": 0, "buffer.memory": 3 * RECORD}
    config["max.request.size"] = RECORD + MEGABYTE
    with ottla.Producer(kafka.bootstrap, config) as producer:
        value = bytes(RECORD)
        for _ in range(RECORDS):
            producer.send(name, value).result(timeout=60)
    return name


def measured(kafka: KafkaCluster, topic: str, program: str, **values: object) -> tuple[int, int]:
    """Run a reader; return how many records or bytes it has read, and its peak in MiB."""
    given = {"bootstrap": kafka.bootstrap, "topic": topic, **values}
    names = "".join(f"{name} = {value!r}\n" for name, value in given.items())
    ended = run_child(names + PRELUDE + program, timeout=200)
    assert ended.code == 0, ended.output
    count, peak = map(int, ended.output.splitlines()[-1].split())
    return count, peak


@pytest.mark.timeout(1200)
def test_every_reader_takes_one_batch_and_its_result(kafka: KafkaCluster, zeros: str) -> None:
    rows: list[tuple[str, int, int]] = []
    for name, program in SHARED.items():
        for wanted, limit in ((1, FIRST_LIMIT), (RECORDS, ALL_LIMIT)):
            count, peak = measured(kafka, zeros, program, wanted=wanted)
            assert count == wanted, name
            rows.append((f"{name}, {'first' if wanted == 1 else 'all'}", peak, limit))
    for name, (arguments, size) in COMMANDS.items():
        program = CONSUME.format(size=size)
        count, peak = measured(kafka, zeros, program, arguments=arguments)
        assert count == RECORDS, name
        rows.append((name, peak, FIRST_LIMIT))
    for name, query in PAGES.items():
        count, peak = measured(kafka, zeros, CONSOLE, query=query)
        assert count > 1_000, name
        # The console's own modules, such as the server, take 40 MiB.
        rows.append((name, peak, FIRST_LIMIT + 40))
    lines = [f"| {name} | {peak} |" for name, peak, _ in rows]
    print("\n".join(["| reader | peak, MiB |", "|---|---|", *lines]), file=sys.stderr)
    assert [row for row in rows if row[1] > row[2]] == []
