"""`importlib.metadata` knows a client that ottla stands in for, whether or not it is installed."""

import pytest

from tests.support.subprocesses import run_python

PROGRAM = """
from importlib import import_module, metadata
import ottla.compat
ottla.compat.install({module!r})
module = import_module({module!r})
assert metadata.version({distribution!r}) == module.__version__
assert metadata.version({distribution!r}.upper().replace("-", "_")) == module.__version__
assert metadata.metadata({distribution!r})["Name"] == {distribution!r}
assert {distribution!r} in metadata.packages_distributions()[{module!r}]
# The first one that has a name counts.
names = [each.metadata["Name"] for each in metadata.distributions()]
assert names[0] == {distribution!r}
assert not {{"ottla.compat", "not-installed"}} & set(names)
try:
    metadata.version("not-installed")
except metadata.PackageNotFoundError:
    print("ok")
"""


@pytest.mark.parametrize(
    ("module", "distribution"),
    [
        ("confluent_kafka", "confluent-kafka"),
        ("aiokafka", "aiokafka"),
        ("kafka", "kafka-python"),
    ],
)
def test_the_version_of_the_interface_is_found(module: str, distribution: str) -> None:
    assert run_python(PROGRAM.format(module=module, distribution=distribution)) == "ok\n"


def test_without_install_nothing_changes() -> None:
    program = """
from importlib import metadata
import ottla.compat
try:
    metadata.version("aiokafka")
except metadata.PackageNotFoundError:
    print(metadata.version("confluent-kafka"))
"""
    assert run_python(program).count(".") == 2
