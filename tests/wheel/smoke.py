"""What a wheel must do in a clean environment, without pyarrow or anything else installed.

    python tests/wheel/smoke.py

Run by `make wheel` and by the release workflow, with the interpreter that the wheel was installed
for.
"""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
import sysconfig
from importlib.metadata import version

import ottla
from ottla.testing import MockCluster

COUNT = 1000


def produce_and_consume(bootstrap: str) -> None:
    """Write with the blocking producer and read with a group."""
    with ottla.Producer(bootstrap, compression_type="zstd") as producer:
        for i in range(COUNT):
            producer.send("smoke", value=b"%d" % i, key=b"%d" % (i % 7))
    with ottla.Consumer(
        bootstrap, group_id="g", topics=["smoke"], auto_offset_reset="earliest"
    ) as consumer:
        values: list[bytes | None] = []
        while len(values) < COUNT:
            values += [record.value for record in consumer.poll(timeout=30)]
    assert sorted(int(value or b"-1") for value in values) == list(range(COUNT)), len(values)


async def produce_async(bootstrap: str) -> None:
    """Write one record with asyncio."""
    async with ottla.AsyncProducer(bootstrap) as producer:
        written = await producer.send("smoke", value=b"async")
        assert written.topic == "smoke", written


def use_command_line(bootstrap: str) -> None:
    """Read what was written with `ottla consume`, and print a schema, which is a file."""
    done = subprocess.run(
        [sys.executable, "-m", "ottla", "consume", bootstrap, "-t", "smoke", "-c", "3"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 3, done.stdout
    done = subprocess.run(
        [sys.executable, "-m", "ottla", "schema", "topics", "list"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "partition_count" in done.stdout, "the wheel has the schemas"


def stay_without_the_lock() -> None:
    """A free-threaded interpreter must go on without its global lock once ottla is imported."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert not getattr(sys, "_is_gil_enabled")(), "the extension turned the lock on"  # noqa: B009


def main() -> None:
    """Run all of it."""
    stay_without_the_lock()
    assert importlib.util.find_spec("pyarrow") is None, "this is to show ottla without pyarrow"
    with MockCluster(brokers=3) as cluster:
        cluster.create_topic("smoke", partitions=3)
        produce_and_consume(cluster.bootstrap)
        asyncio.run(produce_async(cluster.bootstrap))
        use_command_line(cluster.bootstrap)
    print(f"ottla {version('ottla')} works on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
