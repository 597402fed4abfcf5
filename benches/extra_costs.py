"""Prints the table of `docs/design/dependencies.md` about the costs of each extra of ottla.

    python -m benches.extra_costs [EXTRA ...]

For each extra of `pyproject.toml`: the packages and megabytes that pip installs for it, the time
that its first use adds to a process, and the bytes of Python and native code that it has in
ottla's own wheel. Packages are installed into temporary directories, which takes a network, some
minutes, and a gigabyte. Times are of the process's CPU, the median of five, after one that fills
the caches.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python"
ROUNDS = 5
MB = 1e6


@dataclass(frozen=True)
class Use:
    """What uses an extra.

    Attributes:
        program: a program that uses it for the first time, without a broker.
        sources: the files and directories below `python` that exist for it alone.
    """

    program: str
    sources: tuple[str, ...] = ()


_SCHEMA = """'{"type": "object", "properties": {"id": {"type": "integer"}}}'"""
USES = {
    "arrow": Use("import pyarrow"),
    "spark": Use("ottla.spark.OttlaDataSource", ("ottla/spark", "pyspark_ottla")),
    "polars": Use(
        "ottla.polars.scan_kafka",
        ("ottla/polars.py", "ottla/_internal/planning/polars_bounds.py"),
    ),
    "duckdb": Use(
        "ottla.duckdb.scan_kafka",
        ("ottla/duckdb.py", "ottla/_internal/planning/arrow_bounds.py"),
    ),
    "ray": Use("ottla.ray.KafkaDatasource", ("ottla/ray.py",)),
    "dask": Use("ottla.dask.read_kafka", ("ottla/dask.py",)),
    "otel": Use("ottla.otel.ProducerInterceptor()", ("ottla/otel",)),
    "cli": Use(
        "import rich.console, rich.live, rich.text",
        ("ottla/cli/watch", "ottla/cli/topics/top.py", "ottla/cli/completion"),
    ),
    "console": Use("import ottla.console.server, ottla.console.app", ("ottla/console",)),
    "aws": Use(
        "import botocore.session, botocore.auth, botocore.awsrequest",
        ("ottla/_internal/identities/aws_msk_iam.py",),
    ),
    "gcp": Use(
        "import google.auth, google.auth.transport.requests",
        ("ottla/_internal/identities/gcp_managed_kafka.py",),
    ),
    "json-validation": Use(
        f"ottla.schema.Json(schema={_SCHEMA}, wire_format='none', validate=True)"
        ".serialize('t', {'id': 1})",
        ("ottla/_internal/json_validation.py",),
    ),
}
_BASE = "import ottla\nottla.Producer, ottla.Consumer, ottla.schema.Json\n"


def extras() -> dict[str, list[str]]:
    """Return the requirements of each extra of `pyproject.toml`."""
    text = (ROOT / "pyproject.toml").read_text()
    section = text.split("[project.optional-dependencies]", 1)[1].split("\n[", 1)[0]
    found = re.findall(r"^([\w-]+) = \[(.*)\]$", section, re.MULTILINE)
    return {name: re.findall(r'"([^"]+)"', listed) for name, listed in found}


def install(requirements: list[str], directory: Path) -> tuple[int, float]:
    """Install packages, and return their number and size in megabytes, without bytecode."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    target = ["--no-compile", "--target", str(directory)]
    subprocess.run([*pip, *target, *requirements], check=True)
    return len([*directory.glob("*.dist-info")]), _size(directory)


def _size(path: Path) -> float:
    files = [path] if path.is_file() else path.rglob("*")
    kept = (file for file in files if file.is_file() and "__pycache__" not in file.parts)
    return sum(file.stat().st_size for file in kept) / MB


def cpu_ms(program: str, directory: Path | None) -> float:
    """Return the CPU time of a process that runs a program, in ms: the median of some."""
    paths = [str(PACKAGE), *([] if directory is None else [str(directory)])]
    times = f"{_BASE}{program}\nimport os\nspent = os.times()\nprint(spent.user + spent.system)"
    command = [sys.executable, "-S", "-c", times]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    runs = [
        float(
            subprocess.run(
                command, env=environment, check=True, capture_output=True, text=True
            ).stdout.splitlines()[-1]
        )
        for _ in range(ROUNDS + 1)
    ]
    return statistics.median(runs[1:]) * 1000


def main(wanted: list[str]) -> None:
    """Print the table."""
    declared = extras()
    if missing := declared.keys() ^ USES.keys():
        sys.exit(f"benches/extra_costs.py: what uses these is to be added or removed: {missing}")
    base = cpu_ms("", None)
    print(f"`import ottla` and its classes: {base:.0f} ms of CPU.\n")
    print("| extra | packages | installed, MB | first use, ms | Python in the wheel, KB |")
    print("|---|---:|---:|---:|---:|")
    for name in wanted or declared:
        with tempfile.TemporaryDirectory() as directory:
            count, size = install(declared[name], Path(directory))
            spent = cpu_ms(USES[name].program, Path(directory)) - base
        own = sum(_size(PACKAGE / source) for source in USES[name].sources)
        print(f"| `{name}` | {count} | {size:.1f} | {spent:.0f} | {own * 1000:.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
