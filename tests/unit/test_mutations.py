"""The list of mutations fits the source that it breaks, so that none is skipped unnoticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gate.mutations import MUTATIONS, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_fits_its_source(mutation: Mutation) -> None:
    assert Path(mutation.file).read_text().count(mutation.old) == 1
    assert mutation.new != mutation.old


def test_names_are_unique() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)
