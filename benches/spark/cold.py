"""The time to the first row of a cold session: each variant in its own processes, in turns.

Called by ``run``, which starts this file as a program for each round. Invariant: each variant's
session is set up as its users do it and contains nothing of the other variants: the session of
Spark's connector has its jars and no ottla; that of ottla has no jar, and Spark discovers the
source itself.
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
# The variants by their names in the table, each with the source it reads with.
VARIANTS = {
    "connector, defaults": "kafka",
    "ottla": "ottla",
    COMPILED: "ottla",
    "ottla, read_arrow": "read_arrow",
}
_RECIPE = Path(__file__).resolve().parents[2] / "examples" / "compile_pyspark.sh"


@dataclass(frozen=True)
class FirstRow:
    """The time and CPU to the first row.

    Attributes:
        seconds: since the start of the process
        of_session: seconds since the session was ready
        jvm: CPU seconds of JVMs
        python: CPU seconds of Python
    """

    seconds: float
    of_session: float
    jvm: float
    python: float


def first_rows(bootstrap: str, rounds: int) -> Iterator[tuple[str, FirstRow]]:
    """Yield each variant's name and first row, once per round."""
    with _compiled_home() as compiled:
        for _ in range(rounds):
            for name, source in VARIANTS.items():
                home = {"SPARK_HOME": compiled} if name == COMPILED else {}
                yield name, _in_a_process(bootstrap, source, home)


def _in_a_process(bootstrap: str, source: str, environment: dict[str, str]) -> FirstRow:
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
    """Copy the Spark installation, with its archives compiled as the documentation recommends."""
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
        subprocess.run([_RECIPE, home], env={**os.environ, "PATH": path}, check=True)
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
    of_session, seconds = time.perf_counter() - clock, time.time() - started
    assert len(rows) == 1
    jvm, python = tree_cpu()
    spark.stop()
    return FirstRow(seconds, of_session, jvm, python)


def main() -> int:
    parser = argparse.ArgumentParser(description="the first row of one cold session, as JSON")
    parser.add_argument("bootstrap")
    parser.add_argument("source", choices=sorted(set(VARIANTS.values())))
    parser.add_argument("started", type=float, help="when this process was started")
    options = parser.parse_args()
    print(json.dumps(asdict(_measure(options.bootstrap, options.source, options.started))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
