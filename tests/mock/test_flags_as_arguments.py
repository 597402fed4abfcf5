"""A flag is True or False, and a list is no None, in any public function.

The parameters are found in the source. See ``tests/support/public_calls.py``.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

import ottla
from ottla.errors import ArgumentTypeError
from ottla.testing import MockCluster, MockRegistry
from tests.support.public_calls import Parameter, parameters
from tests.support.wrong_arguments import errors_of, names_argument

LIST = re.compile(r"^(Iterable|Sequence|Collection)\[")


def flags() -> list[Parameter]:
    # encode_printed is what the command line calls.
    found = [
        each
        for each in parameters()
        if each.annotation in {"bool", "Literal[True]"} and each.function != "encode_printed"
    ]
    assert len(found) > 150
    return found


@pytest.fixture
def cluster(mock_cluster: MockCluster) -> MockCluster:
    """A cluster with the topic a."""
    mock_cluster.create_topic("a", partitions=1)
    return mock_cluster


@pytest.mark.parametrize("wrong", ["false", 1, [], None], ids=repr)
def test_no_flag_is_of_another_type(
    cluster: MockCluster, mock_registry: MockRegistry, wrong: object
) -> None:
    """Regression: a call with ``dry_run="false"`` returned a plan, and one with ``[]`` changed."""
    found = errors_of(cluster, mock_registry, [(each, wrong) for each in flags()])
    accepted = [
        f"{each}: {error!r}"
        for each, error in found
        if not isinstance(error, TypeError) or not names_argument(error, each.name)
    ]
    assert accepted == []


def test_no_list_is_none(cluster: MockCluster, mock_registry: MockRegistry) -> None:
    """Regression: 'NoneType' object is not iterable."""
    found = [
        each
        for each in parameters()
        if LIST.match(each.annotation) and "None" not in re.sub(r"\[.*\]", "", each.annotation)
    ]
    assert len(found) > 60
    wrong = [
        f"{each}: {error!r}"
        for each, error in errors_of(cluster, mock_registry, [(each, None) for each in found])
        if not isinstance(error, ArgumentTypeError) or "expected" not in str(error)
    ]
    assert wrong == []


def test_a_refused_dry_run_changes_nothing(cluster: MockCluster) -> None:
    wrong: Any = []
    with ottla.Admin(cluster.bootstrap) as admin:
        with pytest.raises(ArgumentTypeError, match="dry_run is of type list: expected True or"):
            admin.delete_topics(["a"], dry_run=wrong)
        assert [topic.name for topic in admin.list_topics()] == ["a"]
