"""The Python that Spark would start: warnings before a job, and a session that shows them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.spark.registration.python_paths import find_problem
from tests.support.jars import REPOSITORY
from tests.support.spark_home import spark_home

OWN = sys.executable


def executable(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def wrapper(tmp_path: Path) -> str:
    """Return another path of this Python, as with pyenv's shims."""
    return executable(tmp_path / "wrapped" / "python", f'#!/bin/sh\nexec {OWN} "$@"\n')


@pytest.fixture
def other(tmp_path: Path) -> str:
    """Return a Python of another environment."""
    return executable(tmp_path / "other" / "python", '#!/bin/sh\nprintf "/opt/other\\n2.7\\n"\n')


def test_one_python_everywhere_causes_no_warning(
    wrapper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (OWN, wrapper, os.path.relpath(OWN)):
        assert find_problem(path, path, is_local=False) is None
    # On one machine, two paths of the same environment are fine.
    assert find_problem(OWN, wrapper, is_local=True) is None
    # By name, as Spark looks it up.
    monkeypatch.setenv("PATH", str(Path(wrapper).parent), prepend=os.pathsep)
    assert find_problem("python", "python", is_local=False) is None


def test_the_warning_for_another_python_names_the_variables(other: str, tmp_path: Path) -> None:
    message = find_problem(other, other, is_local=True)
    assert message is not None
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for part in (other, "Python 2.7 of /opt/other", f"Python {version} of {sys.prefix}"):
        assert part in message
    assert "PYSPARK_PYTHON" in message
    broken = executable(tmp_path / "broken" / "python", "#!/bin/sh\nexit 3\n")
    assert "which does not run" in str(find_problem(broken, broken, is_local=True))


def test_a_path_that_only_executors_have_causes_a_warning(wrapper: str) -> None:
    packed = "./no-such-environment/bin/python"
    assert "this machine has no such program" in str(find_problem(packed, packed, is_local=False))
    # In client mode: the driver's path, and that of the packed environment on the executors.
    message = str(find_problem(OWN, packed, is_local=False))
    assert f"Spark would start {OWN!r} for ottla on the executors as well" in message
    assert "read_arrow" in message


PROGRAM = """
import sys
from pyspark.sql import SparkSession
import ottla.spark

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.memory", "1g")
    .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    .getOrCreate()
)
ottla.spark.register(spark)
from ottla.testing import MockCluster

with MockCluster(brokers=1) as cluster:
    cluster.create_topic("orders", 1)
    cluster.append("orders", 0, [b"x"] * 3)
    options = {"kafka.bootstrap.servers": cluster.bootstrap, "subscribe": "orders"}
    print("read", spark.read.format("ottla").options(**options).load().count())
"""


def run(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    program = path / "program.py"
    program.write_text(PROGRAM)
    inherited = {name: value for name, value in os.environ.items() if "PYSPARK" not in name}
    return subprocess.run(
        [OWN, str(program)],
        cwd=REPOSITORY,
        env={
            **inherited,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_HOME": spark_home(),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.spark
@pytest.mark.deep
def test_register_replaces_no_source_that_spark_discovered(tmp_path: Path) -> None:
    done = run(tmp_path, PYSPARK_PYTHON=OWN)
    assert "read 3" in done.stdout, done.stderr[-4000:]
    assert "replaced a statically registered data source" not in done.stderr
    assert "OtherPythonWarning" not in done.stderr


@pytest.mark.spark
@pytest.mark.deep
def test_register_warns_of_another_python(tmp_path: Path, other: str) -> None:
    # PYSPARK_PYTHON is not set, and the first python3 on PATH is another one.
    Path(other).rename(Path(other).with_name("python3"))
    search = os.pathsep.join((str(Path(other).parent), os.environ["PATH"]))
    done = run(tmp_path, PATH=search)
    assert "OtherPythonWarning: Spark would start" in done.stderr, done.stderr[-4000:]
    # The warning points at the line of the call.
    assert re.search(
        r"program\.py:\d+: .*OtherPythonWarning.*\n  ottla\.spark\.register", done.stderr
    )
