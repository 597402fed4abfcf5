"""``ottla tokens``: delegation tokens, with which clients log in as their owners (KIP-48).

Invariant: the HMAC, which is the password of a token, is never an argument; only ``create`` prints
it, on standard output.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, cast

from ottla import Admin
from ottla._core import error_of_code
from ottla._internal.text import counted, duration
from ottla.admin import DelegationToken
from ottla.cli.parsing import DURATION_HELP, parse_duration
from ottla.cli.partial import joined_plan, print_errors
from ottla.cli.resources import (
    Subcommands,
    add_dry_run,
    add_resource,
    add_subcommand,
    admin,
    confirm,
    joined,
    print_plan,
    report,
    show,
)
from ottla.cli.tables import Table
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError


def add(commands: Subcommands) -> None:
    """Add the command and its subcommands."""
    description = "list, create, renew and expire delegation tokens"
    subcommands = [_add_list, _add_create, _add_renew, _add_expire]
    add_resource(commands, "tokens", description, subcommands)


def _add_list(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands,
        "list",
        run_list,
        "list the tokens that you own, may renew or may describe",
        details="Their HMACs are not shown.",
        positional=True,
        has_json=True,
    )
    parser.add_argument(
        "--owner", action="append", help="only tokens of this principal, such as User:alice"
    )


def _add_create(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands,
        "create",
        run_create,
        "create a token, and print its id and its HMAC",
        details="The HMAC is the token's password. It is printed only once, on standard output.",
        positional=True,
        has_json=True,
    )
    parser.add_argument("--owner", help="the principal to log in as, such as User:alice (yours)")
    parser.add_argument(
        "--renewer",
        action="append",
        default=[],
        metavar="PRINCIPAL",
        help="a principal who may renew and expire it; may be repeated",
    )
    parser.add_argument(
        "--max-lifetime",
        metavar="DURATION",
        help=f"its maximum lifetime, {DURATION_HELP} (delegation.token.max.lifetime.ms)",
    )
    add_dry_run(parser, "only show what would be created")


def _add_renew(subcommands: Subcommands) -> None:
    parser = add_subcommand(subcommands, "renew", run_renew, "let tokens expire later")
    _add_tokens(parser)
    parser.add_argument(
        "--for",
        dest="period",
        metavar="DURATION",
        help=f"how long from now, {DURATION_HELP} (delegation.token.expiry.time.ms)",
    )
    add_dry_run(parser, "only show the expiry times before and after")


def _add_expire(subcommands: Subcommands) -> None:
    parser = add_subcommand(
        subcommands, "expire", run_expire, "expire tokens, at once or after a time", confirmed=True
    )
    _add_tokens(parser)
    parser.add_argument(
        "--in",
        dest="period",
        metavar="DURATION",
        help=f"how long from now, {DURATION_HELP} (at once)",
    )


def _add_tokens(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "tokens", nargs="+", metavar="TOKEN", help="the id of a token, as `list` shows it"
    )


def run_list(arguments: argparse.Namespace) -> int:
    """List tokens; return the exit code."""
    with admin(arguments) as client:
        found = client.describe_delegation_token(arguments.owner)
    show(arguments, [Token(**_fields(each)) for each in found], [_table(found)])
    return 0


@dataclass(frozen=True)
class Token:
    """A delegation token, without its HMAC.

    Attributes:
        token_id: its id.
        owner: the principal that it logs in as.
        requester: the principal that created it; null before Kafka 3.3.
        renewers: the principals who may renew and expire it.
        issue_timestamp_ms: when it was created, in ms since 1970.
        expiry_timestamp_ms: when it expires, in ms since 1970.
        max_timestamp_ms: up to when it can be renewed, in ms since 1970.
    """

    token_id: str
    owner: str
    requester: str | None
    renewers: list[str]
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int


@dataclass(frozen=True)
class CreatedToken(Token):
    """A delegation token that was just created.

    Attributes:
        hmac: its HMAC, which is its password.
    """

    hmac: str = field(repr=False)


def _fields(token: DelegationToken) -> dict[str, Any]:
    return {each.name: getattr(token, each.name) for each in fields(Token)}


def _table(found: Sequence[DelegationToken]) -> Table:
    rows = [
        [
            each.token_id,
            each.owner,
            joined(each.renewers),
            _left(each.expiry_timestamp_ms),
            _left(each.max_timestamp_ms),
        ]
        for each in found
    ]
    header = ["token", "owner", "renewers", "expires in", "at most"]
    return Table("", header, rows, [counted(len(found), "token")])


def _left(milliseconds: int) -> str:
    seconds = milliseconds / 1000 - time.time()
    return duration(seconds) if seconds > 0 else "expired"


def run_create(arguments: argparse.Namespace) -> int:
    """Create a token and print its HMAC; return the exit code."""
    lifetime = None if arguments.max_lifetime is None else parse_duration(arguments.max_lifetime)
    with admin(arguments) as client:
        if arguments.dry_run:
            plan = client.create_delegation_token(
                owner=arguments.owner,
                renewers=arguments.renewer,
                max_lifetime=lifetime,
                dry_run=True,
            )
            print_plan(plan)
            return 0
        token = client.create_delegation_token(
            owner=arguments.owner, renewers=arguments.renewer, max_lifetime=lifetime
        )
    expires, latest = _left(token.expiry_timestamp_ms), _left(token.max_timestamp_ms)
    lines = [
        f"owner     {token.owner}",
        *([f"renewers  {', '.join(token.renewers)}"] if token.renewers else []),
        f"expires   in {expires}; if it is renewed, at the latest in {latest}",
        f"hmac      {token.password}",
    ]
    value = CreatedToken(**_fields(token), hmac=token.password)
    show(arguments, value, [Table(f"created token {token.token_id}", [], [], lines)])
    return 0


def run_renew(arguments: argparse.Namespace) -> int:
    """Renew tokens; return the exit code."""
    period = _period(arguments)
    with admin(arguments) as client:
        tokens, code = _tokens(client, arguments.tokens)
        if arguments.dry_run:
            plans = [
                client.renew_delegation_token(each.hmac, period=period, dry_run=True)
                for each in tokens
            ]
            print_plan(joined_plan(plans))
            return code
        results = _change(
            tokens, lambda token: client.renew_delegation_token(token.hmac, period=period)
        )
    return max(code, _report(results, "renewed token"))


def run_expire(arguments: argparse.Namespace) -> int:
    """Expire tokens; return the exit code."""
    period = _period(arguments)
    with admin(arguments) as client:
        tokens, code = _tokens(client, arguments.tokens)
        plans = [
            client.expire_delegation_token(each.hmac, period=period, dry_run=True)
            for each in tokens
        ]
        if not tokens or not confirm(arguments, joined_plan(plans)):
            return 1
        results = _change(
            tokens, lambda token: client.expire_delegation_token(token.hmac, period=period)
        )
    done = "expired token" if period is None else "changed token"
    return max(code, _report(results, done))


def _period(arguments: argparse.Namespace) -> timedelta | None:
    return None if arguments.period is None else parse_duration(arguments.period)


def _change(
    tokens: Iterable[DelegationToken], change: Callable[[DelegationToken], int]
) -> dict[str, object]:
    """Change tokens; return the error or the expiry time of each, for ``report``."""
    results: dict[str, object] = {}
    for token in tokens:
        try:
            results[token.token_id] = change(token)
        except KafkaError as error:
            results[token.token_id] = error
    return results


def _report(results: dict[str, object], done: str) -> int:
    def name(token_id: str) -> str:
        left = _left(cast("int", results[token_id]))
        return token_id if left == "expired" else f"{token_id}: it expires in {left}"

    return report(results, done, name, noun="token_id")


def _tokens(client: Admin, ids: Iterable[str]) -> tuple[list[DelegationToken], int]:
    """Return tokens with their HMACs, which brokers require to renew or expire them.

    The other part of the result is the exit code: 1 if one of them is not known, which is printed.
    """
    found = {each.token_id: each for each in client.describe_delegation_token()}
    tokens, unknown = [], []
    for each in dict.fromkeys(ids):
        if each not in found:
            message = f"token {each}, among those that you own, may renew or may describe"
            unknown.append(error_of_code(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, message))
        else:
            tokens.append(found[each])
    return tokens, print_errors(unknown)
