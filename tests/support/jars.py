"""Locates the Java artifacts that `make test` fetches.

A missing artifact is an error that names the fix, never a reason to skip.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


class MissingPrerequisiteError(RuntimeError):
    """A prerequisite of a test is missing; the message tells how to install it."""


def jar_directory(name: str) -> Path:
    """Return a directory of tools/jars.sh, which lists their names."""
    base = Path(os.environ.get("OTTLA_JARS", REPOSITORY / ".ottla-build" / "jars"))
    if not (base / f"{name}.stamp").is_file():
        raise MissingPrerequisiteError(
            f"no {name} jars in {base}: run `make test`, or `tools/jars.sh {name}` for these alone"
        )
    return base / name


def jars(name: str) -> list[Path]:
    """Return all jars of a directory, sorted."""
    return sorted(jar_directory(name).glob("*.jar"))


def spark_jars(release: str) -> str:
    """Return the set of jars for a release of PySpark, such as `4.0.5`."""
    older = "spark-" + ".".join(release.split(".")[:2])
    return older if older in ("spark-4.0", "spark-4.1") else "spark"


def spark_connector() -> str:
    """Return the connector of the installed Spark and `from_avro`, as a value of `spark.jars`."""
    release = importlib.metadata.version("pyspark")
    return ",".join(str(jar) for jar in jars(spark_jars(release)))


def java() -> str:
    """Return the path of the Java launcher."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else None
    found = found or shutil.which("java")
    if found is None:
        raise MissingPrerequisiteError(
            "no Java on PATH: `tools/prerequisites.sh test` tells how to install it"
        )
    return found


def class_archive(name: str) -> Path:
    """Return the archive of a directory's classes; tests/support/class_archive.py writes it."""
    return jar_directory(name).with_name(f"{name}.jsa")


def class_path(name: str, *directories: Path) -> list[str]:
    """Return the options of a JVM that loads classes from a directory of jars and from others.

    It uses the archive of the classes, if there is one that fits, and says nothing if it does not.
    """
    classes = ":".join([f"{jar_directory(name)}/*", *map(str, directories)])
    archive = class_archive(name)
    # The JVM writes its warnings about archives to standard output, which tests parse.
    shared = [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds*=off"] if archive.is_file() else []
    return [*shared, "-cp", classes]


def compile_java(name: str, directory: Path) -> None:
    """Compile a class of this folder that brokers load, with Kafka's classes, into a directory."""
    compiler = Path(java()).with_name("javac")
    classes, source = f"{jar_directory('brokers')}/*", REPOSITORY / "tests" / "support" / name
    command = [str(compiler), "-nowarn", "-d", str(directory), "-cp", classes, str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)


def java_source(name: str) -> list[str]:
    """Return the command that runs a Java program of this folder with Kafka's classes."""
    # By default, Log4j prints errors to standard output, which is parsed.
    quiet = ["-Dorg.apache.logging.log4j.level=OFF", "-Xmx256m", "-XX:TieredStopAtLevel=1"]
    source = REPOSITORY / "tests" / "support" / name
    return [java(), *quiet, *class_path("brokers"), str(source)]
