"""The public functions of ottla with the annotations of their parameters, and a way to call each.

A new class needs an object in ``objects``, and a new required parameter a value in ``SAMPLES``:
otherwise the tests that walk over all parameters fail.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ottla
import ottla.console
import ottla.doctor
from ottla import _core, schema, testing
from ottla.admin import ConfigResource, QuotaEntity, SetPassword
from ottla.testing import MockCluster, MockRegistry

PACKAGE = Path(ottla.__file__).parent
# Files whose public classes and functions are the API; other modules are internal.
FILES = (
    "_core/*.pyi",
    "_internal/async_*.py",
    "_internal/scanning.py",
    "_internal/transform_calls.py",
    "admin/blocking/*.py",
    "admin/asynchronous/*.py",
    "console/__init__.py",
    "doctor/__init__.py",
    "testing/brokers.py",
    "testing/mock_cluster.py",
)
# Not public: what Python's part of ottla uses, and what is behind classes of ottla.testing.
INTERNAL = (
    "admin_call.pyi",
    "argument_kinds.pyi",
    "compat.pyi",
    "consumer_call.pyi",
    "config.pyi",
    "doctor.pyi",
    "error_codes.pyi",
    "gateway.pyi",
    "mock.pyi",
)
SAMPLES: dict[str, Any] = {
    "acls": [],
    "address": "localhost:9092",
    "api": "Metadata",
    "commit": True,
    "consumer": ottla.GroupMetadata("g"),
    "errors": "raise",
    "filters": [],
    "output": "out",
    "protocol": 1,
    "alterations": {ConfigResource("topic", "a"): {}},
    "before": 0,
    "broker": 1,
    "broker_id": 1,
    "code": 1,
    "counts": {"a": 2},
    "data": b"",
    "directory_id": "AAAAAAAAAAAAAAAAAAAAAQ",
    "endpoints": [],
    "fault": testing.Fault.delay(0.1),
    "first_offset": 0,
    "function": lambda record: record,
    "group": "g",
    "group_id": "g",
    "groups": ["g"],
    "hmac": b"",
    "host": "localhost",
    "id": 1,
    "key": b"k",
    "keys": ["k"],
    "kind": "preferred",
    "level": 1,
    "levels": {"transaction.version": 2},
    "leader_epoch": 0,
    "mode": "READWRITE",
    "name": "a",
    "names": ["a"],
    "new_topics": [],
    "offset": 0,
    "offsets": {("a", 0): 0},
    "partition": 0,
    "partitions": [("a", 0)],
    "paths": {("a", 0, 1): "/data"},
    "pattern": "a",
    "port": 9092,
    "producer_epoch": 0,
    "producer_id": 0,
    "ranges": [("a", 0, 0, 1)],
    "resources": [ConfigResource("topic", "a")],
    "schema": '"int"',
    "spec": {("a", 0): "latest"},
    "specs": {("a", 0): "latest"},
    "start_offset": 0,
    "subject": "s",
    "target": "latest",
    "targets": {("a", 0): [1]},
    "text": "t",
    "timestamp": 0,
    "timestamps": {("a", 0): 0},
    "to": 1,
    "topic": "a",
    "topics": ["a"],
    "transactional_id": "t",
    "transactional_ids": ["t"],
    "transactions": [],
    "value": b"v",
    "values": [b"v"],
    "version": 1,
    "voter_id": 1,
}
# Parameters of the same name that take something else in one function.
OTHERS: dict[tuple[str, str], Any] = {
    ("check_compatibility", "schema"): schema.Schema('"int"'),
    ("lookup", "schema"): schema.Schema('"int"'),
    ("register", "schema"): schema.Schema('"int"'),
    ("fault_hits", "fault"): 1,
    ("set_compatibility_level", "level"): "FULL",
    ("partition_for_key", "partitions"): 3,
    ("partitions_for_keys", "partitions"): 3,
    ("alter_client_quotas", "alterations"): {QuotaEntity(user="u"): {}},
    ("alter_user_scram_credentials", "alterations"): {"u": [SetPassword("p")]},
}


@dataclass(frozen=True, order=True)
class Parameter:
    """A parameter of a public function.

    Attributes:
        owner: the class; empty for a function.
        function: its name.
        name: the name of the parameter.
        annotation: its type, as it is written.
        required: the names of the other parameters without a default.
    """

    owner: str
    function: str
    name: str
    annotation: str
    required: tuple[str, ...]

    @property
    def is_async(self) -> bool:
        """Whether the call needs an event loop."""
        return self.owner.startswith("Async") or self.function == "transform_async"

    def __str__(self) -> str:
        """Return where it is."""
        return f"{self.owner}.{self.function}({self.name})"


def files(patterns: Iterable[str]) -> list[Path]:
    """Return the files of the package that match patterns; each pattern must match some."""
    found = [(pattern, sorted(PACKAGE.glob(pattern))) for pattern in patterns]
    assert all(paths for _, paths in found), [pattern for pattern, paths in found if not paths]
    return [path for _, paths in found for path in paths]


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield (class, function) for the functions of a file; of a module, those in its __all__."""
    module = ast.parse(path.read_text())
    shown = [
        ast.literal_eval(node.value)
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    for node in module.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not shown or node.name in shown[0]:
                yield "", node
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield node.name, each


def parameters() -> list[Parameter]:
    """Return the parameters of all public functions; of overloads, the last."""
    found: dict[tuple[str, str, str], Parameter] = {}
    for path in files(FILES):
        if path.name in INTERNAL or path.name == "__init__.pyi":
            continue
        for owner, function in functions(path):
            for each in _of_function(owner, function):
                found[each.owner, each.function, each.name] = each
    return sorted(found.values())


def _of_function(
    owner: str, function: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Parameter]:
    is_new = function.name in {"__new__", "__init__"}
    if (function.name.startswith("_") and not is_new) or owner.startswith("_"):
        return
    arguments = function.args
    ordered = [*arguments.posonlyargs, *arguments.args]
    optional = {each.arg for each in ordered[len(ordered) - len(arguments.defaults) :]}
    if not arguments.defaults:
        optional = set()
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    optional |= {each.arg for each, default in pairs if default is not None}
    named = [each for each in (*ordered, *arguments.kwonlyargs) if each.arg not in {"self", "cls"}]
    for each in named:
        others = tuple(
            other.arg for other in named if other is not each and other.arg not in optional
        )
        annotation = ast.unparse(each.annotation) if each.annotation else ""
        yield Parameter(owner, function.name, each.arg, annotation, others)


@contextmanager
def objects(cluster: MockCluster, registry: MockRegistry) -> Iterator[dict[str, Any]]:
    """Yield an object of each class with blocking methods, by the name of the class."""
    servers = cluster.bootstrap
    with ExitStack() as stack:
        client = stack.enter_context(ottla.Client(servers))
        consumer = stack.enter_context(ottla.Consumer(servers, group_id="g"))
        share = stack.enter_context(ottla.ShareConsumer(servers, group_id="s"))
        producer = stack.enter_context(ottla.Producer(servers))
        yield {
            "Admin": stack.enter_context(ottla.Admin(servers)),
            "ColumnFormat": schema.Avro(schema='"int"', wire_format="none"),
            "BrokerOperations": cluster,
            "BatchDelivery": producer.send_batch("a", [b"v"]),
            "Client": client,
            "ClientBase": client,
            "Console": stack.enter_context(ottla.console.serve(client)),
            "Consumer": consumer,
            "ConsumerBase": consumer,
            "Delivery": producer.send("a", b"v"),
            "Events": client.events(),
            "Gateway": stack.enter_context(testing.Gateway(servers)),
            "MockCluster": cluster,
            "Producer": producer,
            "ProducerBase": producer,
            "Registry": stack.enter_context(schema.Registry(registry.url)),
            "ShareConsumer": share,
            "ShareConsumerBase": share,
            "bootstrap": servers,
        }


@asynccontextmanager
async def async_objects(
    cluster: MockCluster, registry: MockRegistry
) -> AsyncIterator[dict[str, Any]]:
    """Yield an object of each class with asyncio methods, by the name of the class."""
    servers = cluster.bootstrap
    # Their __aenter__ returns a future, for which the stack has no type.
    api: Any = ottla
    registries: Any = schema
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(api.AsyncClient(servers))
        consumer = await stack.enter_async_context(api.AsyncConsumer(servers, group_id="g"))
        share = await stack.enter_async_context(api.AsyncShareConsumer(servers, group_id="s"))
        producer = await stack.enter_async_context(api.AsyncProducer(servers))
        yield {
            "AsyncAdmin": await stack.enter_async_context(api.AsyncAdmin(servers)),
            "AsyncBatchDelivery": await producer.send_batch("a", [b"v"]),
            "AsyncClient": client,
            "AsyncEvents": await client.events(),
            "AsyncConsumer": consumer,
            "AsyncConsumerBase": consumer,
            "AsyncProducer": producer,
            "AsyncRegistry": await stack.enter_async_context(
                registries.AsyncRegistry(registry.url)
            ),
            "AsyncShareConsumer": share,
            "AsyncShareConsumerBase": share,
            "bootstrap": servers,
        }


_CLASSES = {
    "AsyncConsumerBase": ottla.AsyncConsumer,
    "AsyncShareConsumerBase": ottla.AsyncShareConsumer,
    "MockCluster": testing.MockCluster,
}


def call(parameter: Parameter, found: dict[str, Any], value: Any) -> Any:
    """Call a function with a value of a parameter, and samples of those that it needs.

    Returns:
        The result; for an asyncio function, what to await.
    """
    function = function_of(parameter, found)
    others = {
        name: OTHERS.get((parameter.function, name), SAMPLES[name])
        for name in parameter.required
        if name not in {"bootstrap", "client"}
    }
    signature = inspect.signature(function).parameters.values()
    if any(each.name == "bootstrap" for each in signature):
        others.setdefault("bootstrap", found["bootstrap"])
    if "client" in parameter.required:
        others["client"] = found["Client"]
    creates = parameter.name == "topics" and parameter.function == "__new__"
    if creates or "transform" in parameter.function:
        others["group_id"] = "g"
    given = others | {parameter.name: value}
    first = [each.name for each in signature if each.kind is each.POSITIONAL_ONLY]
    positional = [given.pop(name) for name in first if name in given]
    return function(*positional, **given)


def function_of(parameter: Parameter, found: dict[str, Any]) -> Any:
    """Return the function, or the class to create, that has a parameter."""
    owner, name = parameter.owner, parameter.function
    if name in {"__new__", "__init__"}:
        for module in (ottla, schema, testing, _core):
            if owner in _CLASSES or hasattr(module, owner):
                return _CLASSES.get(owner) or getattr(module, owner)

    if owner.endswith("Calls"):
        owner = "AsyncAdmin" if parameter.is_async else "Admin"
    if not owner:
        modules = (ottla, ottla.console, ottla.doctor, _core)
        return next(getattr(module, name) for module in modules if hasattr(module, name))
    return getattr(found[owner], name)
