"""Without an extra's package, features that need it name the extra; all others work."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from ottla._internal.extras import PACKAGES, MissingExtraError, explain, require
from tests.support.subprocesses import run_python

ROOT = Path(__file__).resolve().parents[2]

# Make `import`, importlib and find_spec fail as if the package were not installed.
BLOCK = """
import importlib.abc, sys
blocked = {names!r}
class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
"""

EXPECT = """
try:
{body}
except ImportError as error:
    print(error)
else:
    raise SystemExit("no ImportError")
"""


def without(names: list[str], program: str) -> str:
    return run_python(BLOCK.format(names=set(names)) + program)


def error_without(names: list[str], program: str) -> str:
    body = "\n".join(f"    {line}" for line in program.splitlines())
    return without(names, EXPECT.format(body=body))


OTEL = "pip install 'ottla[otel]'"


@pytest.mark.parametrize(
    "program", ["import ottla.otel", "import ottla\nottla.otel.ProducerInterceptor()"]
)
def test_without_opentelemetry(program: str) -> None:
    message = error_without(["opentelemetry"], program)
    assert message == f"ottla.otel needs opentelemetry, which is not installed: {OTEL}\n"


SPARK = "pip install 'ottla[spark]'"


@pytest.mark.parametrize("name", ["register", "read_arrow", "OttlaDataSource"])
def test_a_pyspark_without_data_sources(name: str) -> None:
    """As before 4.0, which many platforms have."""
    program = f"import ottla\nottla.spark.{name}(None, {{}})"
    if name == "register":
        program = "import ottla\nottla.spark.register(None)"
    old = "import sys\nsys.modules['pyspark.sql.datasource'] = None\n"
    message = run_python(old + EXPECT.format(body="    " + program.replace("\n", "\n    ")))
    assert "needs a newer version of pyspark: pip install 'ottla[spark]'" in message


@pytest.mark.parametrize(
    "program",
    [
        "import ottla.spark",
        "import ottla.spark.source",
        "from ottla.spark import register",
        "import ottla\nottla.spark.register(None)",
        "import ottla\nottla.spark.udf",
        "from ottla import spark\nspark.read_arrow",
        "import pyspark_ottla",
    ],
)
def test_without_pyspark(program: str) -> None:
    assert SPARK in error_without(["pyspark"], program)


@pytest.mark.parametrize(
    "program",
    [
        "import ottla\nottla.spark.register(None)",
        "import ottla\nottla.spark.OttlaDataSource",
        "import ottla\nottla.spark.read_arrow",
        "import ottla\nottla.spark.udf.partition_for",
        "import pyspark_ottla\npyspark_ottla.DefaultSource({}).schema()",
        "import pyspark_ottla\npyspark_ottla.DefaultSource({}).reader(None)",
        "import pyspark_ottla\npyspark_ottla.DefaultSource({}).writer(None, False)",
        "import pyspark_ottla\npyspark_ottla.DefaultSource({}).streamReader(None)",
        "import pyspark_ottla\npyspark_ottla.DefaultSource({}).streamWriter(None, False)",
    ],
)
def test_without_pyarrow(program: str) -> None:
    message = error_without(["pyarrow"], program)
    assert SPARK in message
    assert "pyarrow" in message


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("polars", "polars"),
        ("duckdb", "duckdb"),
        ("duckdb", "pyarrow"),
        ("ray", "ray"),
        ("ray", "pandas"),
        ("ray", "pyarrow"),
        ("dask", "dask"),
        ("dask", "pandas"),
        ("dask", "pyarrow"),
    ],
)
def test_a_source_of_a_query_engine_without_a_package(module: str, package: str) -> None:
    program = f"import ottla.{module}"
    if package != module and module in ("ray", "dask"):
        # They are not installed here.
        stub = f"import sys, types\nsys.modules[{module!r}] = types.ModuleType({module!r})"
        program = f"{stub}\n{program}"
    message = error_without([package], program)
    assert message == (
        f"ottla.{module} needs {package}, which is not installed: pip install 'ottla[{module}]'\n"
    )


def test_reading_arrow_in_spark_without_pandas() -> None:
    message = error_without(["pandas"], "import ottla\nottla.spark.read_arrow")
    assert message == f"read_arrow needs pandas, which is not installed: {SPARK}\n"


def test_features_without_pyarrow_work() -> None:
    without(["pyarrow", "pandas"], "import ottla\nottla.spark.client, ottla.spark.lag, ottla.scan")


def test_help_and_star_import_work_without_extras() -> None:
    shown = without(
        [name for names in PACKAGES.values() for name in names],
        "import pydoc, ottla\n"
        "from ottla import *\n"
        "print(pydoc.render_doc(ottla, renderer=pydoc.plaintext))\n"
        "print(spark.__doc__)\n",
    )
    assert "class Consumer(" in shown
    assert shown.endswith(f"ottla.spark needs pyspark, which is not installed: {SPARK}\n")


def test_the_demo_without_pyspark() -> None:
    program = "import runpy\nrunpy.run_module('ottla.demo', run_name='__main__')"
    block = BLOCK.format(names={"pyspark"})
    assert SPARK in run_python(block + program, code=1)


COMMAND = "import sys\nfrom ottla.cli import main\nsys.exit(main({arguments!r}))"


def test_completion_without_argcomplete() -> None:
    program = COMMAND.format(arguments=["completion", "bash"])
    shown = run_python(BLOCK.format(names={"argcomplete"}) + program, code=2)
    assert "pip install 'ottla[cli]'" in shown


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["doctor", "127.0.0.1:1", "--timeout", "5"], 4),
        (["doctor", "127.0.0.1:1", "--timeout", "5", "--json"], 4),
        (["consume", "--help"], 0),
        (["produce", "--help"], 0),
        (["watch", "--help"], 0),
        (["profiles"], 0),
    ],
)
def test_commands_that_need_no_extra(arguments: list[str], code: int) -> None:
    names = {name for names in PACKAGES.values() for name in names}
    shown = run_python(BLOCK.format(names=names) + COMMAND.format(arguments=arguments), code=code)
    assert "pip install" not in shown


def test_extras_match_pyproject() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    section = text.partition("[project.optional-dependencies]\n")[2].partition("\n[")[0]
    found = {
        line.partition(" = ")[0]: tuple(
            # Its module is not the first word of its name.
            "jsonschema_rs" if name == "jsonschema" else name
            for name in re.findall(r'"(\w+)', line)
        )
        for line in section.splitlines()
        if " = " in line
    }
    assert found == PACKAGES


@pytest.mark.parametrize(
    ("package", "fixed"),
    [
        ("starlette", (0, 40, 0)),  # CVE-2024-47874: forms without a limit of memory
        ("starlette", (0, 47, 2)),  # CVE-2025-54121: large files block the event loop
        ("starlette", (0, 49, 1)),  # CVE-2025-62727: Range headers of quadratic time
        ("h11", (0, 16, 0)),  # CVE-2025-43859: malformed chunks of another length
        ("pyarrow", (14, 0, 1)),  # CVE-2023-47248: files that run code
    ],
)
def test_an_extra_excludes_versions_with_known_flaws(
    package: str, fixed: tuple[int, int, int]
) -> None:
    text = (ROOT / "pyproject.toml").read_text()
    bounds = re.findall(rf'"{package}>=([\d.]+)', text)
    assert bounds
    for bound in bounds:
        numbers = [int(number) for number in bound.split(".")]
        assert tuple([*numbers, 0, 0][:3]) >= fixed


def test_an_outdated_package_is_reported() -> None:
    old = ModuleNotFoundError("No module", name="pyspark.sql.datasource")
    explained = explain(old, "format('ottla')", "spark")
    assert str(explained) == (f"format('ottla') needs a newer version of pyspark: {SPARK}")
    assert explained.name == "pyspark.sql.datasource"


def test_import_errors_of_other_modules_are_unchanged() -> None:
    other = ModuleNotFoundError("No module", name="another")
    assert explain(other, "format('ottla')", "spark") is other


def test_all_packages_of_an_extra_are_required_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    require("the tests", "spark")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="the tests needs pandas"):
        require("the tests", "spark")


@pytest.mark.parametrize("peer", ["aiokafka", "confluent_kafka", "kafka"])
def test_stand_ins_need_the_standard_library_alone(peer: str) -> None:
    program = f"""
import importlib.abc, sys
class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in (*sys.stdlib_module_names, "ottla", {peer!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
import ottla.compat
ottla.compat.install({peer!r})
import {peer}
"""
    run_python(program)
