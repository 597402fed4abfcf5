"""Measures the first row of a cold session: each variant in a new process, in turns.

Called by ``run``, which starts this file as a program for each measurement. Invariant: each
variant's session is set up only as its own users would: Spark's connector with its jars and without
ottla; ottla without a jar, discovered by Spark.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benches.spark.cpu import tree_cpu
from benches.spark.session import session

COMPILED = "ottla, PySpark compiled"
# The name of each variant in the table, and its source.
VARIANTS = {
    "connector, defaults": "kafka",
    "ottla": "ottla",
    COMPILED: "ottla",
    "ottla, read_arrow": "read_arrow",
}
_COMPILE_SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "compile_pyspark.sh"


@dataclass(frozen=True)
class FirstRow:
    """The time of a first row.

    Seconds since the process started and since the session was ready, and CPU seconds until then,
    of JVMs and of Python.
    """

    seconds: float
    since_session: float
    jvm: float
    python: float


def first_rows(bootstrap: str, rounds: int) -> Iterator[tuple[str, FirstRow]]:
    """Yield the name and the first row of each variant, once per round."""
    with _compiled_home() as compiled:
        for _ in range(rounds):
            for name, source in VARIANTS.items():
                home = {"SPARK_HOME": compiled} if name == COMPILED else {}
                yield name, _run_process(bootstrap, source, home)


def _run_process(bootstrap: str, source: str, environment: dict[str, str]) -> FirstRow:
    command = [sys.executable, "-m", "benches.spark.cold", bootstrap, source]
    done = subprocess.run(
        [*command, repr(time.time())],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return FirstRow(**json.loads(done.stdout.splitlines()[-1]))


@contextmanager
def _compiled_home() -> Iterator[str]:
    """Yield a copy of SPARK_HOME with compiled archives, as the documentation recommends."""
    import pyspark

    installed = Path(pyspark.__path__[0])
    with tempfile.TemporaryDirectory(prefix="ottla-spark-home-") as directory:
        home = Path(directory)
        for part in installed.iterdir():
            if part.name != "python":
                (home / part.name).symlink_to(part)
        shutil.copytree(installed / "python" / "lib", home / "python" / "lib")
        python = str(Path(sys.executable).parent)
        path = os.pathsep.join((python, os.environ.get("PATH", "")))
        subprocess.run([_COMPILE_SCRIPT, home], env={**os.environ, "PATH": path}, check=True)
        yield directory


def _measure(bootstrap: str, source: str, started: float) -> FirstRow:
    spark = session(connector=source == "kafka", ottla=False)
    clock = time.perf_counter()
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": "bytes-100"}
    if source == "read_arrow":
        import ottla.spark

        load = functools.partial(ottla.spark.read_arrow, spark, options)
    else:
        load = spark.read.format(source).options(**options).load
    rows = load().limit(1).collect()
    since_session, seconds = time.perf_counter() - clock, time.time() - started
    assert len(rows) == 1
    jvm, python = tree_cpu()
    spark.stop()
    return FirstRow(seconds, since_session, jvm, python)


def main() -> int:
    parser = argparse.ArgumentParser(description="the first row of one cold session, as JSON")
    parser.add_argument("bootstrap")
    parser.add_argument("source", choices=sorted(set(VARIANTS.values())))
    parser.add_argument("started", type=float, help="when this process started, in Unix seconds")
    options = parser.parse_args()
    print(json.dumps(asdict(_measure(options.bootstrap, options.source, options.started))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
