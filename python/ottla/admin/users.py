"""Users with SCRAM credentials: describe and alter them (KIP-554).

Invariant: a password never leaves this process: the brokers get a salted hash of it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ottla._core import error_of_code, is_text
from ottla._internal import arguments
from ottla._internal.required_arguments import instances
from ottla.admin.destinations import to_controller
from ottla.admin.items import Results, error_of, left_out
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.plan import Plan, PlannedChange
from ottla.error_code import ErrorCode
from ottla.errors import ArgumentTypeError, ConfigError, KafkaError

ScramMechanism: TypeAlias = Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]

_MECHANISMS: dict[ScramMechanism, int] = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
_HASHES = {1: "sha256", 2: "sha512"}
_MIN_ITERATIONS, _MAX_ITERATIONS = 4_096, 16_384
_SALT_BYTES = 24


@dataclass(frozen=True)
class ScramCredential:
    """A password of a user, without the password.

    Attributes:
        mechanism: ``SCRAM-SHA-256`` or ``SCRAM-SHA-512``.
        iterations: how often the password was hashed.
    """

    mechanism: ScramMechanism
    iterations: int


@dataclass(frozen=True)
class SetPassword:
    """Sets a password for a mechanism.

    Attributes:
        password: the password; it is not printed.
        mechanism: ``SCRAM-SHA-256`` or ``SCRAM-SHA-512``.
        iterations: how often it is hashed, 4096 to 16384.
        salt: the bytes that are hashed with it. Default: random ones.
    """

    password: str = field(repr=False)
    mechanism: ScramMechanism = "SCRAM-SHA-512"
    iterations: int = _MIN_ITERATIONS
    salt: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class DeletePassword:
    """Deletes the password of a mechanism.

    Attributes:
        mechanism: ``SCRAM-SHA-256`` or ``SCRAM-SHA-512``.
    """

    mechanism: ScramMechanism


UserAlteration: TypeAlias = SetPassword | DeletePassword


def _mechanism(name: str) -> int:
    for known, code in _MECHANISMS.items():
        if known == name:
            return code
    raise ConfigError(f"mechanism is {name!r}: expected one of {', '.join(_MECHANISMS)}")


def _credentials(body: Body) -> list[ScramCredential]:
    # Brokers give them in any order. One of a mechanism that is unknown here is left out.
    iterations = {each["mechanism"]: each["iterations"] for each in body["credential_infos"]}
    return [
        ScramCredential(name, iterations[code])
        for name, code in _MECHANISMS.items()
        if code in iterations
    ]


async def describe_users(
    call: Call, users: Iterable[str] | None
) -> Results[str, list[ScramCredential]]:
    """Return the credentials of users, or of all."""
    wanted = None if users is None else [{"name": name} for name in users]
    body = {"users": wanted}

    def build(_: list[None]) -> Request:
        return Request("DescribeUserScramCredentials", body)

    def read(
        response: Response, _: list[None]
    ) -> Results[None, Results[str, list[ScramCredential]]]:
        return {
            None: error_of(response.body, api="DescribeUserScramCredentials")
            or {
                each["user"]: error_of(
                    each, f"user {each['user']}", api="DescribeUserScramCredentials"
                )
                or _credentials(each)
                for each in response.body["results"]
            }
        }

    result = (await to_controller(call, [None], build, read, changes=False))[None]
    if isinstance(result, KafkaError):
        raise result
    if users is not None:
        result = {user: result.get(user, left_out()) for user in users}
    return dict(sorted(result.items()))


def _changes(
    alterations: Mapping[str, Iterable[UserAlteration]],
) -> dict[str, list[UserAlteration]]:
    """Return the alterations of users; raise if one is of another type."""
    example = 'SetPassword("SCRAM-SHA-512", "...")'
    kinds = (SetPassword, DeletePassword)
    given = arguments.mapping("alterations", alterations, f'{{"alice": [{example}]}}')
    found: dict[str, list[UserAlteration]] = {}
    for user, changes in given.items():
        name = f"alterations[{arguments.text('alterations: a user', user)!r}]"
        if is_text(changes):  # It is not shown: it may be the password.
            kind = type(changes).__name__
            raise ArgumentTypeError(f"{name} is of type {kind}: expected [{example}]")
        found[user] = instances(name, changes, kinds, example)
    return found


def _check(user: str, change: SetPassword) -> None:
    iterations = arguments.integer("iterations", change.iterations)
    if not _MIN_ITERATIONS <= iterations <= _MAX_ITERATIONS:
        limits = f"{_MIN_ITERATIONS} to {_MAX_ITERATIONS}"
        raise ConfigError(f"user {user}: iterations is {change.iterations}: expected {limits}")
    if not change.password:
        raise ConfigError(f"user {user}: the password is empty")
    if change.salt is not None and not change.salt:
        raise ConfigError(f"user {user}: the salt is empty; leave it out for a random one")


def _upsertion(user: str, change: SetPassword) -> Body:
    _check(user, change)
    mechanism = _mechanism(change.mechanism)
    salt = change.salt or secrets.token_bytes(_SALT_BYTES)
    salted = hashlib.pbkdf2_hmac(
        _HASHES[mechanism], change.password.encode(), salt, change.iterations
    )
    return {
        "name": user,
        "mechanism": mechanism,
        "iterations": change.iterations,
        "salt": salt,
        "salted_password": salted,
    }


async def alter_users(
    call: Call, alterations: Mapping[str, Iterable[UserAlteration]]
) -> Results[str, None]:
    """Set and delete passwords."""
    bodies: dict[tuple[str, int], Body] = {}
    for user, changes in _changes(alterations).items():
        for number, change in enumerate(changes):
            if isinstance(change, SetPassword):
                bodies[user, number] = {"upsertions": [_upsertion(user, change)]}
            else:
                entry = {"name": user, "mechanism": _mechanism(change.mechanism)}
                bodies[user, number] = {"deletions": [entry]}

    def build(pending: list[tuple[str, int]]) -> Request:
        body: Body = {"deletions": [], "upsertions": []}
        for each in pending:
            for kind, entries in bodies[each].items():
                body[kind] += entries
        return Request("AlterUserScramCredentials", body)

    def read(response: Response, pending: list[tuple[str, int]]) -> Results[tuple[str, int], None]:
        numbers = dict(pending)
        return {
            (each["user"], numbers[each["user"]]): error_of(
                each, f"user {each['user']}", api="AlterUserScramCredentials"
            )
            for each in response.body["results"]
            if each["user"] in numbers
        }

    results: Results[str, None] = dict.fromkeys(alterations)
    # A request may name a user once.
    for number in sorted({number for _, number in bodies}):
        turn = [(user, each) for user, each in bodies if each == number and results[user] is None]
        for (user, _), result in (await to_controller(call, turn, build, read)).items():
            results[user] = result
    return results


async def plan_alterations(call: Call, alterations: Mapping[str, Iterable[UserAlteration]]) -> Plan:
    """Return which passwords would be created, replaced and deleted, and their iterations."""
    checked = _changes(alterations)
    wanted = [(user, change) for user, changes in checked.items() for change in changes]
    for user, change in wanted:
        _mechanism(change.mechanism)
        if isinstance(change, SetPassword):
            _check(user, change)
    before: dict[tuple[str, str], int] = {}
    described = await describe_users(call, alterations) if wanted else {}
    for user, found in described.items():
        if isinstance(found, KafkaError):
            if found.code != ErrorCode.RESOURCE_NOT_FOUND:
                raise found
        else:
            before |= {(user, each.mechanism): each.iterations for each in found}
    changes = []
    for user, change in wanted:
        key = user, change.mechanism
        present = _iterations(before.pop(key)) if key in before else None
        if isinstance(change, SetPassword):
            action, after = "replace" if present else "create", _iterations(change.iterations)
            before[key] = change.iterations
        elif present is None:
            message = f"user {user} has no password for {change.mechanism}"
            raise error_of_code(ErrorCode.RESOURCE_NOT_FOUND, message)
        else:
            action, after = "delete", None
        changes.append(
            PlannedChange(action, f"password of {user}", change.mechanism, present, after)
        )
    return Plan(changes)


def _iterations(number: int) -> str:
    return f"{number} iterations"
