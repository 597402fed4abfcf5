"""Sets and deletes the SCRAM passwords of users.

Invariant: a password is in the body of a request and nowhere else: in no plan, response, address or
log. The digest of a plan covers it with a key that only this process knows.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ottla.admin import DeletePassword, SetPassword
from ottla.admin.users import UserAlteration
from ottla.console.changing.change import Change, Maker, Planned, count, text, typed
from ottla.console.group_survey import TIMEOUT
from ottla.console.source import Source
from ottla.errors import ConfigError

_ITERATIONS = 4_096


def _set(source: Source, body: dict[str, Any]) -> Change:
    user, mechanism = text(body, "user"), text(body, "mechanism", "SCRAM-SHA-512")
    iterations = count(body, "iterations") or _ITERATIONS
    # Spaces around a password are a part of it.
    password = body.get("password")
    if not isinstance(password, str) or not password:
        raise ConfigError("password is missing")
    secret = SetPassword(password, mechanism, iterations)  # type: ignore[arg-type]  # a literal
    return _change(source, user, secret, [user, mechanism, iterations, password])


def _delete(source: Source, body: dict[str, Any]) -> Change:
    user, mechanism = text(body, "user"), text(body, "mechanism")
    deletion = DeletePassword(mechanism)  # type: ignore[arg-type]  # a literal
    change = _change(source, user, deletion, [user, mechanism])
    return dataclasses.replace(change, check=typed(body, user))


def _change(source: Source, user: str, alteration: UserAlteration, request: object) -> Change:
    alterations = {user: [alteration]}
    admin = source.admin

    def plan() -> Planned:
        planned = admin.alter_user_scram_credentials(alterations, dry_run=True, timeout=TIMEOUT)
        return Planned(planned)

    def apply() -> None:
        admin.alter_user_scram_credentials(alterations, timeout=TIMEOUT)

    return Change(request, plan, apply)


CHANGES: dict[str, Maker] = {"users/password": _set, "users/delete": _delete}
"""The changes of users."""
