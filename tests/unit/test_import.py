"""What a program has after `import ottla` alone: all that is documented, loaded when named."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "assignors.Assignor",
        "config_types.ProducerConfig",
        "partitioners.Partitioner",
        "serializers.json",
        "spark.register",
        "spark.udf.partition_for",
        "testing.MockCluster",
    ],
)
def test_import_is_enough_to_name_what_is_documented(name: str) -> None:
    program = (
        "import sys, ottla\n"
        "loaded = {m for m in sys.modules if m.startswith('ottla')}\n"
        "assert loaded == {'ottla', 'ottla._core', 'ottla.errors', 'ottla.loading'}, loaded\n"
        f"assert ottla.{name}.__name__ == {name.rpartition('.')[2]!r}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
