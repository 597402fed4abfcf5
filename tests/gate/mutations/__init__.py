"""The faults that are injected into ottla, by the part that they break.

Invariant: each fits its source exactly once; ``tests/unit/test_mutations.py`` checks it.
"""

from tests.gate.mutations import client, consuming, formats, producing, python
from tests.gate.mutations.mutation import Mutation

__all__ = ["MUTATIONS", "Mutation"]

MUTATIONS = [
    *producing.MUTATIONS,
    *consuming.MUTATIONS,
    *client.MUTATIONS,
    *formats.MUTATIONS,
    *python.MUTATIONS,
]
