"""Spark as in a restricted container: an arbitrary user id, no home directory, a read-only system.

Kubernetes and OpenShift run containers like this. The session runs in a mount namespace of its own,
where everything but one temporary directory is read-only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.jars import REPOSITORY
from tests.support.restricted_container import USER, restricted
from tests.support.spark_home import spark_home

pytestmark = [pytest.mark.spark, pytest.mark.deep]

JOB = """
import os, pathlib
from pyspark.sql import SparkSession
import ottla.spark
from ottla.testing import MockCluster

spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.sql.warehouse.dir", os.environ["TMPDIR"] + "/warehouse")
    .getOrCreate()
)
ottla.spark.register(spark)


def surroundings(batches):
    import pyarrow as pa

    try:
        pathlib.Path("/restricted").touch()
    except OSError as error:
        refused = error.strerror
    for batch in batches:
        facts = f"{os.getuid()} {os.environ.get('HOME')} {refused}"
        yield pa.record_batch([[facts]], names=["facts"])


with MockCluster(brokers=1) as cluster:
    for topic in ("orders", "copy"):
        cluster.create_topic(topic, 1)
    cluster.append("orders", 0, [b"x"] * 3)
    kafka = {"kafka.bootstrap.servers": cluster.bootstrap}
    source = {**kafka, "subscribe": "orders", "startingOffsets": "earliest"}
    frame = ottla.spark.read_arrow(spark, source, transform=surroundings, schema="facts string")
    print("task:", frame.first().facts)
    print("read:", spark.read.format("ottla").options(**source).load().count())
    query = (
        spark.readStream.format("ottla").options(**source).load()
        .writeStream.format("ottla").options(**kafka, topic="copy")
        .option("checkpointLocation", os.environ["TMPDIR"] + "/checkpoint")
        .trigger(availableNow=True).start()
    )
    query.awaitTermination()
    print("written:", cluster.end_offset("copy", 0))
spark.stop()
"""


@pytest.fixture
def scratch() -> Iterator[Path]:
    """Return a directory that the user can reach; only root can reach those of pytest."""
    with tempfile.TemporaryDirectory(prefix="ottla-container-") as directory:
        Path(directory).chmod(0o770)
        yield Path(directory)


@pytest.mark.timeout(300)
def test_an_arbitrary_user_without_a_home_on_a_read_only_system(
    tmp_path: Path, scratch: Path
) -> None:
    passwd = tmp_path / "passwd"
    passwd.write_text(f"root:x:0:0::/root:/bin/sh\nspark:x:{USER}:0::/nonexistent:/bin/false\n")
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(REPOSITORY / "python"),
        "SPARK_HOME": spark_home(),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(scratch),
        "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={scratch}",
        "PYSPARK_PYTHON": sys.executable,
        "TMPDIR": str(scratch),
    }
    done = subprocess.run(
        [*restricted([scratch], passwd), sys.executable, "-c", JOB],
        cwd=scratch,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-6000:]
    assert f"task: {USER} None Read-only file system" in done.stdout
    assert "read: 3" in done.stdout
    assert "written: 3" in done.stdout
