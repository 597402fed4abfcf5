"""Everything public has a docstring of its own: what `help()`, Jupyter and IPython show."""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest

import ottla

MODULES = [
    "ottla",
    "ottla.assignors",
    "ottla.deserializers",
    "ottla.doctor",
    "ottla.errors",
    "ottla.interceptors",
    "ottla.metrics",
    "ottla.partitioners",
    "ottla.serializers",
    "ottla.spark",
    "ottla.spark.udf",
    "ottla.testing",
]

# What classes have of the interpreter's making, or of Spark's.
FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    classmethod,
    staticmethod,
    property,
)


def public(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """The module, its names, and the members of those that are classes."""
    yield module.__name__, module
    for name in module.__all__:
        found = getattr(module, name)
        if isinstance(found, types.ModuleType) or not callable(found):
            continue
        yield f"{module.__name__}.{name}", found
        if isinstance(found, type):
            yield from members(f"{module.__name__}.{name}", found)


def members(name: str, cls: type) -> Iterator[tuple[str, Any]]:
    """The members that a class has from ottla, inherited ones included."""
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] != "ottla":
            continue
        for member, found in vars(base).items():
            if not member.startswith("_") and isinstance(found, FUNCTIONS):
                yield f"{name}.{member}", found


EVERYTHING = {
    name: found for module in MODULES for name, found in public(importlib.import_module(module))
}


@pytest.mark.parametrize("name", sorted(EVERYTHING))
def test_it_has_a_docstring_of_its_own(name: str) -> None:
    found = EVERYTHING[name]
    docstring = found.__dict__.get("__doc__") if isinstance(found, type) else found.__doc__
    assert docstring, f"{name} has no docstring"
    # That of a dataclass is its signature, unless it has another.
    assert not docstring.startswith(f"{name.rpartition('.')[2]}(")
    first, *rest = inspect.cleandoc(docstring).splitlines()
    assert first.strip(), "the first line is empty"
    assert not rest or not rest[0], "the first sentence is not on a line of its own"
    assert first[-1] in ".)", f"the first line is not a sentence: {first!r}"


def test_everything_is_looked_at() -> None:
    for name in (
        "ottla.Client.cluster",
        "ottla.Record.offset",
        "ottla.AsyncConsumer.subscribe",
        "ottla.AsyncConsumer.commit",
        "ottla.Consumer.closed",
        "ottla.scan",
        "ottla.diagnose",
        "ottla.assignors.MemberSubscription.owned",
        "ottla.testing.Fault.error",
        "ottla.testing.MockCluster.brokers",
        "ottla.spark.Lag.total",
        "ottla.spark.OttlaDataSource.reader",
        "ottla.spark.udf.leader_for",
    ):
        assert name in EVERYTHING


@pytest.mark.parametrize("kind", [ottla.Metrics, ottla.ProducerMetrics, ottla.TopicMetrics])
def test_metrics_are_described_one_by_one(kind: Any) -> None:
    keys = list(get_type_hints(kind))
    if kind is ottla.ProducerMetrics:  # it refers to Metrics for those
        keys = [key for key in keys if key not in get_type_hints(ottla.Metrics)]
    described = inspect.cleandoc(kind.__doc__).partition("\nKeys:\n")[2].splitlines()
    assert sorted(line.strip().partition(":")[0] for line in described) == sorted(keys)


def arguments(docstring: str) -> set[str]:
    """The names in the section Args."""
    section = inspect.cleandoc(docstring).partition("\nArgs:\n")[2].split("\n\n")[0]
    return {
        name
        for line in section.splitlines()
        if line.startswith("    ") and not line.startswith("     ")
        for name in line.strip().partition(":")[0].split(", ")
    }


CALLABLE = sorted(n for n, f in EVERYTHING.items() if inspect.isroutine(f) or isinstance(f, type))


@pytest.mark.parametrize("name", CALLABLE)
def test_its_arguments_are_described(name: str) -> None:
    found = EVERYTHING[name]
    described = arguments(found.__doc__)
    if not described:
        return
    target = found.__func__ if isinstance(found, classmethod | staticmethod) else found
    parameters = inspect.signature(target).parameters
    keywords = {n for n, p in parameters.items() if p.kind is inspect.Parameter.VAR_KEYWORD}
    if not keywords:
        assert described <= parameters.keys()
    assert parameters.keys() - keywords - {"self", "cls"} <= described
