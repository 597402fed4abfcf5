"""The digest of a plan, with which a page confirms the plan that its user has seen.

Invariant: a change is made only with the digest of the plan that would be made now, so that neither
other parameters, nor a state that has changed since, nor the same change of another cluster can be
confirmed by accident.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable

from ottla.admin import PlannedChange
from ottla.errors import ConfigError, StateError


def new_key() -> bytes:
    """Return a key for the digests of one cluster.

    They cover secrets, too, such as a password: without the key, nobody can try out guesses.
    """
    return secrets.token_bytes(32)


def digest_of(key: bytes, request: object, changes: Iterable[PlannedChange]) -> str:
    """Return the digest of a plan.

    It covers what was asked for, and each resource with the value that would be replaced. New
    values are left out: the end of a log, for one, moves on between the plan and its application.

    Args:
        key: the key of the cluster.
        request: what was asked for, as JSON values.
        changes: the plan.
    """
    covered = [request, [[each.action, each.resource, each.before] for each in changes]]
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def check_digest(given: object, planned: str) -> None:
    """Check that a plan was confirmed.

    Raises:
        ConfigError: there is no digest.
        StateError: the digest is that of another plan.
    """
    if not isinstance(given, str) or not given:
        raise ConfigError("digest is missing: ask for the plan first, and confirm it by its digest")
    if not secrets.compare_digest(given.encode(), planned.encode()):
        raise StateError("the plan has changed since it was shown: look at the new plan first")
