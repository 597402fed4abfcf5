"""Every public item has its own docstring, for `help()`, Jupyter and IPython."""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest

import ottla
from ottla import schema

MODULES = [
    "ottla",
    "ottla.admin",
    "ottla.assignors",
    "ottla.deserializers",
    "ottla.doctor",
    "ottla.errors",
    "ottla.interceptors",
    "ottla._internal.metrics",
    "ottla.otel",
    "ottla.partitioners",
    "ottla.prometheus",
    "ottla.serializers",
    "ottla.spark",
    "ottla.spark.udf",
    "ottla.testing",
]

# The kinds of class members that need a docstring.
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
    """Yield the module, its public names, and the members of its classes."""
    yield module.__name__, module
    for name in module.__all__:
        found = getattr(module, name)
        if isinstance(found, types.ModuleType) or not callable(found):
            continue
        yield f"{module.__name__}.{name}", found
        if isinstance(found, type):
            yield from members(f"{module.__name__}.{name}", found)


def members(name: str, cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the members that ottla defines, inherited ones included."""
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] != "ottla":
            continue
        for member, found in vars(base).items():
            if not member.startswith("_") and isinstance(found, FUNCTIONS):
                yield f"{name}.{member}", found


PUBLIC_ITEMS = {
    name: found for module in MODULES for name, found in public(importlib.import_module(module))
}


@pytest.mark.parametrize("name", sorted(PUBLIC_ITEMS))
def test_has_its_own_docstring(name: str) -> None:
    found = PUBLIC_ITEMS[name]
    docstring = found.__dict__.get("__doc__") if isinstance(found, type) else found.__doc__
    assert docstring, f"{name} has no docstring"
    # A dataclass without a docstring gets its signature as one.
    assert not docstring.startswith(f"{name.rpartition('.')[2]}(")
    first, *rest = inspect.cleandoc(docstring).splitlines()
    assert first.strip(), "the first line is empty"
    assert not rest or not rest[0], "the first line is not followed by a blank line"
    assert first[-1] in ".)", f"the first line is not a sentence: {first!r}"


def test_all_kinds_of_items_are_checked() -> None:
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
        assert name in PUBLIC_ITEMS


@pytest.mark.parametrize("kind", [ottla.Metrics, ottla.ProducerMetrics, ottla.TopicMetrics])
def test_every_metric_is_described(kind: Any) -> None:
    keys = list(get_type_hints(kind))
    if kind is ottla.ProducerMetrics:  # its docstring refers to Metrics for the shared keys
        keys = [key for key in keys if key not in get_type_hints(ottla.Metrics)]
    described = inspect.cleandoc(kind.__doc__).partition("\nKeys:\n")[2].splitlines()
    assert sorted(line.strip().partition(":")[0] for line in described) == sorted(keys)


def arguments(docstring: str) -> set[str]:
    """Return the names in the Args section."""
    section = inspect.cleandoc(docstring).partition("\nArgs:\n")[2].split("\n\n")[0]
    return {
        name
        for line in section.splitlines()
        if line.startswith("    ") and not line.startswith("     ")
        for name in line.strip().partition(":")[0].split(", ")
    }


# The asyncio methods whose docstrings differ from those of the blocking class, and the reason.
OWN_TEXTS = {
    "AsyncConsumer.commit": "the commit is sent whether or not the future is awaited",
    "AsyncConsumer.commit_async": "the callback may be a coroutine function",
    "AsyncEvents.next": "several tasks may wait",
    "AsyncProducer.close": "cancelling the future does not end the call",
    "AsyncProducer.flush": "callbacks run on the loop, and records may wait for their topic",
    "AsyncProducer.send": "the record may wait after the call, and callbacks run on the loop",
    "AsyncProducer.send_batch": "rows are encoded on another thread, and the call can be cancelled",
    "AsyncScan.column_names": "they are known once the scan has started",
}


def twins() -> Iterator[tuple[str, Any, Any]]:
    """Yield each public member of an asyncio class that its blocking class has too, and both."""
    for module in (ottla, schema):
        for name in module.__all__:
            blocking = getattr(module, name.removeprefix("Async"), None)
            if name.startswith("Async") and isinstance(blocking, type):
                asyncio_class = getattr(module, name)
                for member in sorted({*dir(asyncio_class)} & {*dir(blocking)}):
                    if not member.startswith("_"):
                        pair = (
                            inspect.getattr_static(c, member) for c in (asyncio_class, blocking)
                        )
                        yield (f"{name}.{member}", *pair)


def test_asyncio_methods_have_the_docstrings_of_the_blocking_ones() -> None:
    texts = {name: [inspect.cleandoc(each.__doc__) for each in pair] for name, *pair in twins()}
    assert len(texts) > 100
    assert {name for name, (own, other) in texts.items() if own != other} == set(OWN_TEXTS)


CALLABLE = sorted(n for n, f in PUBLIC_ITEMS.items() if inspect.isroutine(f) or isinstance(f, type))


@pytest.mark.parametrize("name", CALLABLE)
def test_either_all_arguments_are_described_or_none(name: str) -> None:
    found = PUBLIC_ITEMS[name]
    described = arguments(found.__doc__)
    if not described:
        return
    target = found.__func__ if isinstance(found, classmethod | staticmethod) else found
    parameters = inspect.signature(target).parameters
    keywords = {n for n, p in parameters.items() if p.kind is inspect.Parameter.VAR_KEYWORD}
    if not keywords:
        assert described <= parameters.keys()
    assert parameters.keys() - keywords - {"self", "cls"} <= described
