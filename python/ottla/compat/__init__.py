"""Stand-ins for other Kafka clients: programs written for confluent-kafka, aiokafka or
kafka-python run on ottla unchanged.

Each subpackage mirrors the public modules of one client, over ottla's own classes. There are three
ways to use one:

- Import it explicitly: ``import ottla.compat.confluent_kafka as confluent_kafka``.
- Call ``install("confluent_kafka")`` before anything imports the client.
- Run the program with ``python -m ottla.compat confluent_kafka program.py``.

Invariants: nothing changes for programs that do not ask for it, and a module has one object, by
whichever of its two names it is imported.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from importlib.metadata import Distribution, DistributionFinder

__all__ = ["install"]

Peer: TypeAlias = Literal["confluent_kafka", "aiokafka", "kafka"]


class _StandInLoader(importlib.abc.Loader):
    """Loads a client's module by importing its stand-in; both names share one module object."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(f"{__name__}.{spec.name}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has replaced the specification of the module, which has run already.
        spec = module.__spec__
        if spec is not None:
            # Instrumentation that waits for the client's import compares this name.
            module.__name__ = spec.name
            module.__spec__ = spec.loader_state


class _StandInFinder(importlib.abc.MetaPathFinder):
    """Finds the modules of the clients that ``install`` was called for."""

    def __init__(self) -> None:
        self.peers: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname.partition(".")[0] not in self.peers:
            return None
        original = importlib.util.find_spec(f"{__name__}.{fullname}")
        if original is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, _StandInLoader(), origin=original.origin)
        spec.submodule_search_locations = original.submodule_search_locations
        return spec

    def find_distributions(self, context: DistributionFinder.Context) -> Iterable[Distribution]:
        # Called by importlib.metadata, which most programs never import.
        from ottla.compat._distributions import distributions

        stand_ins = {peer: sys.modules[f"{__name__}.{peer}"] for peer in self.peers}
        versions = {peer: str(module.__version__) for peer, module in stand_ins.items()}
        return distributions(context.name, versions)


_finder = _StandInFinder()
_INSTALLED: object = importlib.machinery.PathFinder


def install(name: Peer) -> None:
    """Make ``import confluent_kafka`` (or ``aiokafka``, ``kafka``) import ottla's stand-in.

    Call it before anything imports the client. It affects this process only, whether or not the
    client is installed, and calling it again has no effect.

    Args:
        name: the package's name: ``confluent_kafka``, ``aiokafka`` or ``kafka``.

    Raises:
        ValueError: there is no stand-in of this name.
        ImportError: the client itself has already been imported.
    """
    if name not in get_args(Peer):
        raise ValueError(f"{name!r} has no stand-in; there are: {', '.join(get_args(Peer))}")
    if name in _finder.peers:
        return
    stand_in = importlib.import_module(f"{__name__}.{name}")
    if sys.modules.get(name, stand_in) is not stand_in:
        raise ImportError(
            f"{name} is already imported; call ottla.compat.install({name!r}) before that"
        )
    if _finder not in sys.meta_path:
        # Before installed packages, and behind finders that watch imports for instrumentation.
        places = [number for number, each in enumerate(sys.meta_path) if each is _INSTALLED]
        sys.meta_path.insert(places[0] if places else 0, _finder)
    _finder.peers.add(name)
