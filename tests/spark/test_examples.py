"""Runs the example in its own process; and checks the chart against its input."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pyspark
import pytest

from benches.spark.chart import chart
from benches.spark.run import Result
from tests.support.jars import REPOSITORY
from tests.support.spark_home import spark_home

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.spark
@pytest.mark.deep
def test_the_example_runs() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OTTLA_BOOTSTRAP"}
    done = subprocess.run(
        [sys.executable, "examples/spark_kafka.py"],
        cwd=REPOSITORY,
        env={
            **environment,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_HOME": spark_home(),
        },
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "wrote 10000 orders to 4 partitions" in done.stdout
    assert "items ordered: 29994" in done.stdout
    assert "behind by 0" in done.stdout
    # Spark's warning about registering a source that it had discovered.
    assert "replaced a statically registered data source" not in done.stderr


@pytest.mark.spark
@pytest.mark.deep
def test_compiled_archives_are_imported_as_bytecode(tmp_path: Path) -> None:
    archives = tmp_path / "python" / "lib"
    shutil.copytree(Path(pyspark.__path__[0]) / "python" / "lib", archives)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    script = REPOSITORY / "examples" / "compile_pyspark.sh"
    subprocess.run([script, tmp_path], env={**os.environ, "PATH": path}, check=True, timeout=150)
    show = "import py4j, pyspark.daemon as d; print(d.__file__, py4j.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", show],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, archives.glob("*.zip")))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    daemon, py4j = map(Path, done.stdout.split())
    assert daemon == archives / "pyspark.zip" / "pyspark" / "daemon.pyc"
    assert py4j.parent.parent.parent == archives
    assert py4j.name == "__init__.pyc"


def test_the_chart_shows_each_variant() -> None:
    ways = [("connector, tuned", 1.5, 0.0), ("ottla", 0.6, 0.4), ("hand-over alone", 0.5, 0.1)]
    results = [Result("read & count", name, 2_000_000, 3.0, jvm, py) for name, jvm, py in ways]
    results.append(replace(results[0], scenario="first row", records=1))
    drawn = ET.fromstring(chart(results))
    texts = [text.text for text in drawn.iter(f"{SVG}text")][1:]
    assert texts == [
        *("read & count", "connector, tuned", "0.75", "ottla", "0.50"),
        *("hand-over alone", "0.30"),
    ]
    widths = [int(bar.attrib["width"]) for bar in list(drawn.iter(f"{SVG}rect"))[1:]]
    assert widths[1] == pytest.approx(widths[0] * 2 / 3, abs=1)
    assert widths[2] == pytest.approx(widths[0] * 2 / 5, abs=1)
