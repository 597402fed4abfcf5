"""What one suite consists of: where its files are from, what runs, and what may differ.

A key of `excluded` and `expected` is a pytest node id, or the beginning of one that ends at a file,
a class, or a test with parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Layer: TypeAlias = Literal["confluent_kafka", "aiokafka", "kafka"]
"""A name that `ottla.compat.install` takes."""


@dataclass(frozen=True)
class Sdist:
    """A source distribution on PyPI."""

    package: str
    version: str
    sha256: str


@dataclass(frozen=True)
class Checkout:
    """A repository at a commit, for packages whose source distribution has no tests.

    Args:
        name: its directory; see `sources.checkout_directory`.
        repository: the URL to clone.
        commit: the commit.
        directories: the directories that are copied, the first with the tests.
        digest: the SHA-256 of their files, as computed by `sources.digest`.
    """

    name: str
    repository: str
    commit: str
    directories: Sequence[str]
    digest: str


@dataclass(frozen=True)
class Broker:
    """What a suite needs of its broker in addition to what all suites have.

    Args:
        config: properties of the broker.
        fixed_port: a port on localhost that the suite's files name.
    """

    config: Mapping[str, str] = field(default_factory=dict)
    fixed_port: int | None = None


@dataclass(frozen=True)
class Difference:
    """Why a test that passes with the control fails with ottla's stand-in.

    Args:
        reason: the reason, for the table.
        always: whether it fails in every run; if so, a run in which it passes makes it stale.
    """

    reason: str
    always: bool = True


@dataclass(frozen=True)
class Suite:
    """A suite, or a part of one that runs in one process.

    Args:
        name: its name on the command line.
        title: its name in the table.
        layer: the client.
        source: where its files are from.
        venv: the name of its virtual environment, and of a file in requirements/peers.
        paths: what pytest runs.
        goal: the share of the control's passing tests that have to pass with ottla's stand-in.
        plugins: modules in `plugins` that pytest loads.
        replaced: files of the suite that are left out because a plugin has their fixtures.
        added: empty files, for packages whose distribution lacks an `__init__.py`.
        options: more lines for pytest's configuration.
        environment: environment variables; `{bootstrap}`, `{registry}` and the like are filled in.
        broker: the broker, or None if the suite needs none.
        excluded: tests that do not run, with reasons.
        expected: tests that fail with ottla's stand-in alone, with reasons.
        not_selected: parts of the peer's suite outside `paths`, with reasons, for the table.
        seconds: the limit of one test.
    """

    name: str
    title: str
    layer: Layer
    source: Sdist | Checkout
    venv: str
    paths: Sequence[str]
    goal: float
    plugins: Sequence[str] = ()
    replaced: Sequence[str] = ()
    added: Sequence[str] = ()
    options: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    broker: Broker | None = None
    excluded: Mapping[str, str] = field(default_factory=dict)
    expected: Mapping[str, Difference] = field(default_factory=dict)
    not_selected: Mapping[str, str] = field(default_factory=dict)
    seconds: int = 120


def covers(key: str, test: str) -> bool:
    """Return whether a key of `excluded` or `expected` covers a test."""
    return test == key or test.startswith((f"{key}::", f"{key}["))
