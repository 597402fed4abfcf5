"""Delegation tokens: create, renew, expire and describe them (KIP-48, KIP-373).

Invariant: the HMAC, which is the password of a token, is in no ``repr``, error or log.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from ottla._core import error_of_code
from ottla._internal import arguments
from ottla._internal.required_arguments import instance
from ottla.admin.destinations import ask_controller, by_destination
from ottla.admin.items import Results, error_of
from ottla.admin.operation_call import Body, Call, Destination, Request, Response
from ottla.admin.plan import Plan, PlannedChange
from ottla.admin.tables import Table
from ottla.error_code import ErrorCode
from ottla.errors import ConfigError, KafkaError

_DEFAULT = -1
_AT_ONCE = -1


@dataclass(frozen=True)
class DelegationToken:
    """A delegation token: with it, a client logs in as its owner.

    A client logs in by SCRAM with ``sasl.scram.tokenauth=true``: ``token_id`` is the
    ``sasl.username``, and ``password`` is the ``sasl.password``.

    Attributes:
        token_id: its id.
        owner: the principal that it stands for, such as ``User:alice``.
        requester: the principal that created it; None before Kafka 3.3.
        renewers: the principals that may renew it and let it expire, besides the owner.
        issue_timestamp_ms: when it was created, in ms since 1970.
        expiry_timestamp_ms: when it expires unless it is renewed.
        max_timestamp_ms: when it expires for good.
        hmac: the HMAC; it is not printed.
    """

    token_id: str
    owner: str
    requester: str | None
    renewers: list[str]
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int
    hmac: bytes = field(repr=False)

    @property
    def password(self) -> str:
        """The HMAC in base64, as a password."""
        return base64.b64encode(self.hmac).decode()


def _principal(text: str) -> Body:
    kind, colon, name = text.partition(":")
    if not (kind and colon and name):
        raise ConfigError(f"{text!r} is not a principal: expected one such as User:alice")
    return {"principal_type": kind, "principal_name": name}


def _text(body: Body, prefix: str = "principal") -> str:
    return f"{body[f'{prefix}_type']}:{body[f'{prefix}_name']}"


def _milliseconds(duration: timedelta | None, what: str, default: int) -> int:
    if duration is None:
        return default
    instance(what, duration, timedelta, "timedelta(hours=1)")
    if duration <= timedelta():
        raise ConfigError(f"{what} is {duration}: expected a time that is not over")
    return int(duration.total_seconds() * 1000)


def _token(body: Body, renewers: Iterable[str], suffix: str) -> DelegationToken:
    requester = "token_requester_principal"
    return DelegationToken(
        body["token_id"],
        _text(body),
        _text(body, requester) if f"{requester}_name" in body else None,
        list(renewers),
        body[f"issue_timestamp{suffix}"],
        body[f"expiry_timestamp{suffix}"],
        body[f"max_timestamp{suffix}"],
        body["hmac"],
    )


def _creation(owner: str | None, renewers: list[str], max_lifetime: timedelta | None) -> Request:
    body: Body = {
        "renewers": list(map(_principal, renewers)),
        "max_lifetime_ms": _milliseconds(max_lifetime, "max_lifetime", _DEFAULT),
    }
    if owner is not None:
        principal = _principal(arguments.text("owner", owner))
        body |= {f"owner_{name}": value for name, value in principal.items()}
    return Request("CreateDelegationToken", body, "controller")


async def create_delegation_token(
    call: Call, *, owner: str | None, renewers: Iterable[str], max_lifetime: timedelta | None
) -> DelegationToken:
    """Create a token."""
    allowed = list(renewers)
    response = await ask_controller(call, _creation(owner, allowed, max_lifetime))
    return _token(response, allowed, "_ms")


async def plan_creation(
    call: Call, *, owner: str | None, renewers: Iterable[str], max_lifetime: timedelta | None
) -> Plan:
    """Check that the brokers give tokens to this client, and return what one would be."""
    allowed = list(renewers)
    await call.check(_creation(owner, allowed, max_lifetime))
    await describe_delegation_token(call, None)
    limit = "delegation.token.max.lifetime.ms of the brokers"
    parts = [f"renewers {', '.join(allowed)}"] if allowed else []
    parts.append(f"expires for good after {limit if max_lifetime is None else max_lifetime}")
    if max_lifetime is not None:
        parts.append(f"or {limit}, if that is less")
    resource = f"delegation token of {owner or 'the principal of this client'}"
    return Plan([PlannedChange("create", resource, ", ".join(parts))])


async def renew_delegation_token(call: Call, hmac: bytes, period: timedelta | None) -> int:
    """Renew a token; return when it expires."""
    body = {"hmac": hmac, "renew_period_ms": _milliseconds(period, "period", _DEFAULT)}
    return await _new_expiry(call, Request("RenewDelegationToken", body))


async def expire_delegation_token(call: Call, hmac: bytes, period: timedelta | None) -> int:
    """Let a token expire at once, or after a time; return when."""
    body = {"hmac": hmac, "expiry_time_period_ms": _milliseconds(period, "period", _AT_ONCE)}
    return await _new_expiry(call, Request("ExpireDelegationToken", body))


async def _new_expiry(call: Call, request: Request) -> int:
    # The controller, too, learns of a token a moment after it has created it.
    response = await ask_controller(call, request, authoritative=False)
    expiry: int = response["expiry_timestamp_ms"]
    return expiry


async def describe_delegation_token(
    call: Call, owners: Iterable[str] | None
) -> Table[DelegationToken]:
    """Return tokens of owners, or all."""
    wanted = None if owners is None else list(map(_principal, owners))

    async def find(_: list[None]) -> dict[None, Destination]:
        return {None: "any"}

    def build(_: list[None]) -> Request:
        return Request("DescribeDelegationToken", {"owners": wanted})

    def read(response: Response, _: list[None]) -> Results[None, list[DelegationToken]]:
        tokens = [
            _token(each, map(_text, each["renewers"]), "") for each in response.body["tokens"]
        ]
        return {None: error_of(response.body, api="DescribeDelegationToken") or tokens}

    result = (await by_destination(call, [None], find, build, read))[None]
    if isinstance(result, KafkaError):
        raise result
    return Table(DelegationToken, sorted(result, key=lambda each: each.token_id))


async def plan_renewal(call: Call, hmac: bytes, period: timedelta | None) -> Plan:
    """Return when a token expires before and after."""
    milliseconds = _milliseconds(period, "period", _DEFAULT)
    token = await _valid_token(call, hmac)
    latest = token.max_timestamp_ms
    if period is None:
        default = "delegation.token.expiry.time.ms of the brokers"
        return _new_expiry_plan("renew", token, f"{default} from now, at most {_time(latest)}")
    return _new_expiry_plan("renew", token, _time(min(_now_ms() + milliseconds, latest)))


async def plan_expiry(call: Call, hmac: bytes, period: timedelta | None) -> Plan:
    """Return when a token expires before and after."""
    milliseconds = _milliseconds(period, "period", _AT_ONCE)
    # Brokers delete an expired token at once, but do not let it live again.
    token = await _token_of(call, hmac) if period is None else await _valid_token(call, hmac)
    if period is None:
        return _new_expiry_plan("expire", token, "at once")
    new = min(_now_ms() + milliseconds, token.max_timestamp_ms)
    return _new_expiry_plan("expire", token, _time(new))


def _new_expiry_plan(action: str, token: DelegationToken, after: str) -> Plan:
    resource = f"delegation token {token.token_id}"
    before = _time(token.expiry_timestamp_ms)
    return Plan([PlannedChange(action, resource, f"of {token.owner}", before, after)])


async def _valid_token(call: Call, hmac: bytes) -> DelegationToken:
    token = await _token_of(call, hmac)
    if token.expiry_timestamp_ms < _now_ms():
        raise error_of_code(ErrorCode.DELEGATION_TOKEN_EXPIRED, f"token {token.token_id}")
    return token


async def _token_of(call: Call, hmac: bytes) -> DelegationToken:
    for token in await describe_delegation_token(call, None):
        if token.hmac == hmac:
            return token
    raise error_of_code(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)


def _now_ms() -> int:
    return int(time.time() * 1000)


def _time(milliseconds: int) -> str:
    at = datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
    return at.isoformat(timespec="seconds")
