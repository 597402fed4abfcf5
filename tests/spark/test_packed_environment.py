"""Driver and executors whose Python has different paths, as with a packed environment.

The workers of a standalone cluster run in their own mount namespace: the path of the driver's
environment is empty there, and the path of theirs is empty for the driver.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.jars import REPOSITORY, MissingPrerequisiteError
from tests.support.spark_cluster import SparkCluster

pytestmark = [pytest.mark.spark, pytest.mark.deep, pytest.mark.network]

JOB = """
import sys, warnings
from pyspark.sql import SparkSession
import ottla.spark
from ottla.testing import MockCluster

spark = (
    SparkSession.builder.master(sys.argv[1])
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.memory", "1g")
    .config("spark.executor.memory", "600m")
    .config("spark.executorEnv.PATH", sys.argv[2])
    .config("spark.task.maxFailures", "1")
    .getOrCreate()
)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    ottla.spark.register(spark)
print("warned", *(w.message for w in caught if w.category is ottla.spark.OtherPythonWarning))

with MockCluster(brokers=1) as cluster:
    cluster.create_topic("orders", 2)
    for partition in range(2):
        cluster.append("orders", partition, [b"x"] * 3)
    options = {"kafka.bootstrap.servers": cluster.bootstrap, "subscribe": "orders"}
    print("arrow", ottla.spark.read_arrow(spark, options).count())
    try:
        print("format", spark.read.format("ottla").options(**options).load().count())
    except Exception as error:
        print("format failed", error)
        raise SystemExit
    query = (
        spark.readStream.format("ottla")
        .options(**options, startingOffsets="earliest")
        .load()
        .writeStream.format("memory")
        .queryName("orders")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    print("stream", spark.table("orders").count())
"""


class Paths:
    """The environments of driver and executors; each side sees only its own."""

    def __init__(self, directory: Path) -> None:
        if shutil.which("unshare") is None or os.geteuid() != 0:
            raise MissingPrerequisiteError("mount namespaces need Linux, root and util-linux")
        self.driver, self.executors = directory / "driver", directory / "executors"
        self.packed, self.empty = directory / "packed", directory / "empty"
        for path in (self.driver, self.executors, self.empty):
            path.mkdir()
        for environment in (self.driver, self.packed):
            for name in ("python", "ottla-python"):
                program = environment / "bin" / name
                program.parent.mkdir(parents=True, exist_ok=True)
                program.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
                program.chmod(0o755)

    @property
    def exec_prefix(self) -> list[str]:
        """Return a command that runs another one where the executors' environment is mounted."""
        mounts = (
            f"mount --bind {self.packed} {self.executors} && "
            f"mount --bind {self.empty} {self.driver} && "
            'exec "$@"'
        )
        return ["unshare", "--mount", "sh", "-c", mounts, "sh"]


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path)


@pytest.fixture
def cluster(paths: Paths) -> Iterator[SparkCluster]:
    with SparkCluster(workers=1, exec_prefix=paths.exec_prefix) as cluster:
        yield cluster


def run(cluster: SparkCluster, paths: Paths, **environment: str) -> str:
    """Run the job in client mode, and return its output."""
    search = f"{paths.executors}/bin:/usr/local/bin:/usr/bin:/bin"
    inherited = {k: v for k, v in cluster.environment().items() if not k.startswith("PYSPARK")}
    program = paths.driver.parent / "job.py"
    program.write_text(JOB)
    done = subprocess.run(
        [str(paths.driver / "bin" / "python"), str(program), cluster.url, search],
        cwd=REPOSITORY,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-6000:]
    return done.stdout


def test_different_paths_cause_a_warning_before_the_job(
    cluster: SparkCluster, paths: Paths
) -> None:
    own, packed = f"{paths.driver}/bin/python", f"{paths.executors}/bin/python"
    out = run(cluster, paths, PYSPARK_DRIVER_PYTHON=own, PYSPARK_PYTHON=packed)
    warned = out.splitlines()[0]
    assert f"Spark would start '{own}' for ottla on the executors as well" in warned
    # As the warning says: reads through Spark's API fail, and read_arrow works.
    assert "arrow 6" in out
    assert "format failed" in out
    assert own in out.split("format failed")[1]


def test_one_name_on_both_paths_works(cluster: SparkCluster, paths: Paths) -> None:
    search = os.pathsep.join((f"{paths.driver}/bin", os.environ["PATH"]))
    out = run(cluster, paths, PYSPARK_PYTHON="ottla-python", PATH=search)
    assert out.splitlines()[0] == "warned"
    assert "arrow 6" in out
    assert "format 6" in out
    assert "stream 6" in out
