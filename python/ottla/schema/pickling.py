"""Refuses to pickle registries and formats, with the remedy.

Invariant: no pickle carries the passwords of a registry without being asked to. Pickles travel
farther than they seem to: into caches, the results of tasks and the metadata of schedulers.
"""

from __future__ import annotations

import copyreg
from typing import Any, NoReturn

from ottla._core import AsyncRegistry, Avro, DeadLetters, Json, Protobuf, Registry

__all__: list[str] = []


def _refuse(value: Any) -> NoReturn:
    name = f"ottla.schema.{type(value).__name__}"
    raise TypeError(
        f"an {name} cannot be pickled or copied, since it has connections and may have passwords: "
        "pass a function that makes it where it is used, such as "
        'lambda: ottla.schema.Avro(ottla.schema.Registry("http://registry:8081"))'
    )


# pickle, copy, cloudpickle and what builds on them look here before they ask the class.
for _kind in (Registry, AsyncRegistry, Avro, Json, Protobuf, DeadLetters):
    copyreg.pickle(_kind, _refuse)
