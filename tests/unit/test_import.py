"""`import ottla` gives access to every documented name and loads modules on first use."""

from __future__ import annotations

import sys
import types

import pytest

import ottla
from ottla._internal import extras
from tests.support.subprocesses import run_python


@pytest.mark.parametrize(
    "name",
    [
        "assignors.Assignor",
        "config_types.ProducerConfig",
        "duckdb.scan_kafka",
        "partitioners.Partitioner",
        "polars.scan_kafka",
        "schema.Avro",
        "serializers.json",
        "spark.register",
        "spark.udf.partition_for",
        "testing.MockCluster",
    ],
)
def test_documented_names_need_only_import_ottla(name: str) -> None:
    run_python(
        "import sys, ottla\n"
        "loaded = {m for m in sys.modules if m.startswith('ottla')}\n"
        "internal = {'ottla._internal', 'ottla._internal.loading'}\n"
        "assert loaded == {'ottla', 'ottla._core', 'ottla.errors', *internal}, loaded\n"
        f"assert ottla.{name}.__name__ == {name.rpartition('.')[2]!r}\n"
    )


@pytest.mark.parametrize("when", ["at first", "once everything was loaded"])
def test_dir_shows_the_public_names_and_nothing_else(when: str) -> None:
    use = "for name in ottla.__all__: getattr(ottla, name)" if when != "at first" else ""
    shown = run_python(f"import ottla\n{use}\nprint(*dir(ottla))").split()
    module = set(dir(types.ModuleType("any"))) | {"__all__", "__builtins__", "__cached__"}
    module |= {"__file__", "__path__"}
    assert set(shown) - module == set(ottla.__all__) - module
    assert shown == sorted(set(shown))
    assert set(ottla.__all__) <= set(shown)


def test_dir_of_the_spark_package_shows_the_public_names() -> None:
    assert {name for name in dir(ottla.spark) if not name.startswith("__")} == {
        *ottla.spark.__all__
    }


def test_all_names_exist() -> None:
    for module in (ottla, ottla.spark):
        missing = [name for name in module.__all__ if not hasattr(module, name)]
        assert not missing, module.__name__


def test_hidden_modules_are_attributes() -> None:
    assert ottla.doctor is sys.modules["ottla.doctor"]
    with pytest.raises(AttributeError, match="has no attribute 'consumer'"):
        ottla.consumer  # type: ignore[attr-defined]  # noqa: B018


def test_a_command_loads_nothing_that_it_does_not_use() -> None:
    """Commands that are called in loops start in a fraction of a second."""
    run_python(
        "import sys\n"
        "from ottla.cli import build_parser\n"
        "build_parser('topics').parse_args(['topics', 'list'])\n"
        "unused = {'asyncio', 'ottla.doctor', 'ottla.admin.asynchronous',\n"
        "          'ottla.console', 'ottla.cli.groups', 'pyarrow', 'rich'}\n"
        "assert not unused & sys.modules.keys(), unused & sys.modules.keys()\n"
    )


@pytest.mark.parametrize("name", ["dask", "duckdb", "polars", "ray"])
def test_modules_named_like_packages_hide_none(name: str) -> None:
    """`from ottla import *` in a program that uses the package must not replace it."""
    assert name not in ottla.__all__
    run_python(
        "import sys\n"
        "from ottla import *\n"
        f"assert {name!r} not in globals() and {name!r} not in sys.modules\n"
        f"assert 'ottla.{name}' not in sys.modules\n"
    )


def test_an_old_name_is_refused_with_the_new_one() -> None:
    """Regression: names that are imported on first use hid the advice."""
    with pytest.raises(AttributeError, match=r"is ottla\.OffsetAndTimestamp now"):
        _ = ottla.admin.PartitionOffset  # type: ignore[attr-defined]


USES_NO_EXTRA = """
import sys

asked = set()


class Watch:
    def find_spec(self, name, path=None, target=None):
        asked.add(name.partition(".")[0])


sys.meta_path.insert(0, Watch())

from dataclasses import dataclass

import ottla
from ottla.testing import MockCluster


@dataclass
class Order:
    id: int


schema = '{"type": "object", "properties": {"id": {"type": "integer", "minimum": 1}}}'
untyped = ottla.schema.Json(schema=schema, wire_format="none")
typed = ottla.schema.Json(Order, wire_format="none")
with MockCluster(brokers=1) as cluster:
    cluster.create_topic("t", partitions=1)
    with ottla.Producer(cluster.bootstrap, value_serializer=typed) as producer:
        producer.send("t", Order(1)).result()
    with ottla.Consumer(cluster.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([("t", 0)])
        assert consumer.poll_arrow(timeout=60, value_format=untyped).num_rows == 1
    (batch,) = ottla.scan("t", cluster.bootstrap)
    assert typed.deserialize("t", [*batch.rows()][0][1]) == Order(1)
    with ottla.Admin(cluster.bootstrap) as admin:
        admin.list_topics()
from ottla import identities, processing, prometheus
print(*asked)
"""


def test_who_uses_no_extra_imports_nothing_of_one() -> None:
    """It looks for no module of one either, whether it is installed or not."""
    asked = set(run_python(USES_NO_EXTRA).split())
    assert "ottla" in asked
    of_extras = {name for names in extras.PACKAGES.values() for name in names}
    # What classes are of, and what these packages bring.
    of_extras |= {"pydantic", "attr", "attrs", "msgspec", "numpy", "boto3", "azure", "jsonschema"}
    assert not asked & of_extras
