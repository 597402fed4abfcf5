"""aiokafka's layer: the exceptions of brokers' codes, which are made from Kafka's names."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

from ottla.compat.aiokafka import errors


def test_type_checkers_see_the_names_of_all_errors() -> None:
    tree = ast.parse(Path(errors.__file__).with_suffix(".pyi").read_text())
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    aliases = {
        node.targets[0].id: node.value.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Name)
    }
    assert classes == [error.__name__ for error in errors.kafka_errors.values()]
    assert aliases == {
        name: item.__name__
        for name, item in vars(errors).items()
        if isinstance(item, type) and item.__name__ != name
    }


def test_errors_of_codes_have_aiokafkas_names_and_flags() -> None:
    known = errors.for_code(6)
    assert known is errors.NotLeaderForPartitionError
    assert (known.errno, known.message) == (6, "NOT_LEADER_FOR_PARTITION")
    assert (known.retriable, known.invalid_metadata) == (True, True)
    assert str(known("moved")) == "[Error 6] NotLeaderForPartitionError: moved"
    assert errors.for_code(66) is errors.DelegationTokenExpired
    assert errors.for_code(80) is errors.for_code(-1) is errors.UnknownError
    copied = pickle.loads(pickle.dumps(errors.InvalidMessageError("bad")))
    assert type(copied) is errors.CorruptRecordException
