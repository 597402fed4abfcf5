"""Calls about users with SCRAM credentials.

Invariant: a password never leaves this process: the brokers get a salted hash of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from ottla._core import error_of_code
from ottla.admin import DeletePassword, ScramCredential, SetPassword, users
from ottla.admin.items import Results, settle
from ottla.admin.operation_call import Call
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka.admin import _options
from ottla.compat.confluent_kafka.admin._base import AdminBase, Futures, new_futures
from ottla.compat.confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from ottla.error_code import ErrorCode
from ottla.errors import ConfigError
from ottla.errors import KafkaError as OttlaError

_MECHANISMS: dict[users.ScramMechanism, ScramMechanism] = {
    "SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256,
    "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512,
}
_NAMES = {mechanism: name for name, mechanism in _MECHANISMS.items()}


class UserCalls(AdminBase):
    """Describes and alters SCRAM credentials."""

    def describe_user_scram_credentials(
        self, users: list[str] | None = None, **kwargs: Any
    ) -> Future[dict[str, UserScramCredentialsDescription]] | Futures[str]:
        """Describe the credentials of users.

        Args:
            users: their names. Default: all.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.

        Returns:
            By name, a future of a ``UserScramCredentialsDescription``; for all users one future of
            the descriptions by name.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        return self._describe_users(users, **kwargs)

    def _describe_users(
        self, names: list[str] | None, **kwargs: Any
    ) -> Future[dict[str, UserScramCredentialsDescription]] | Futures[str]:
        if names is not None:
            _check_users(names)
        _options.check_known(kwargs, "request_timeout")
        self._check_open()
        timeout = self._request_timeout(kwargs)

        async def describe(call: Call) -> Results[str, UserScramCredentialsDescription]:
            found = await users.describe_users(call, names)
            return {
                user: each if isinstance(each, OttlaError) else _description(user, each)
                for user, each in found.items()
            }

        async def describe_all(call: Call) -> dict[str, UserScramCredentialsDescription]:
            return settle(await describe(call), "raise")

        if names is None:
            return self._start_one("describing users", timeout, describe_all)
        futures = new_futures(names)
        if not futures:
            return futures
        if _options.has_duplicates(names):
            return self._refuse(futures, KafkaError._INVALID_ARG, "Duplicate users in a request")
        return self._start_items("describing users", timeout, futures, describe)

    def alter_user_scram_credentials(
        self, alterations: list[UserScramCredentialAlteration], **kwargs: Any
    ) -> Futures[str]:
        """Set and delete passwords.

        Args:
            alterations: the changes, one for each user and mechanism.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.

        Returns:
            By user, a future of None.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        _options.check_list("alterations", alterations)
        _options.non_empty_list("alterations", alterations)
        for each in alterations:
            _check_alteration(each)
        _options.check_known(kwargs, "request_timeout")
        self._check_open()
        timeout = self._request_timeout(kwargs)
        futures = new_futures(dict.fromkeys(each.user for each in alterations))
        if any(_mechanism_of(each) is ScramMechanism.UNKNOWN for each in alterations):
            return self._refuse(
                futures, KafkaError._INVALID_ARG, "the mechanism of a credential is UNKNOWN"
            )

        async def alter(call: Call) -> Results[str, None]:
            return await _alter(call, alterations)

        return self._start_items("altering users", timeout, futures, alter, "change")


def _check_users(names: object) -> None:
    if not isinstance(names, list):
        raise TypeError(f"users must be a list of str, not {type(names).__name__}")
    for name in names:
        _check_user(name)


def _check_user(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"the name of a user must be a str, not {type(name).__name__}")
    if not name:
        raise ValueError("the name of a user must not be empty")


def _check_alteration(each: object) -> None:
    if not isinstance(each, UserScramCredentialAlteration):
        raise TypeError(f"expected a UserScramCredentialAlteration, not {type(each).__name__}")
    _check_user(each.user)
    if isinstance(each, UserScramCredentialUpsertion):
        _check_bytes("password", each.password)
        _check_text(each.password)
        if each.salt is not None:
            _check_bytes("salt", each.salt)
        info = each.scram_credential_info
        if not isinstance(info, ScramCredentialInfo):
            raise TypeError("scram_credential_info must be a ScramCredentialInfo")
        if not isinstance(info.iterations, int):
            raise TypeError("iterations must be an int")
        if info.iterations < 1:
            raise ValueError("iterations must be positive")
    elif not isinstance(each, UserScramCredentialDeletion):
        raise TypeError("expected an upsertion or a deletion")
    if not isinstance(_mechanism_of(each), ScramMechanism):
        raise TypeError("mechanism must be a ScramMechanism")


def _check_bytes(field: str, value: object) -> None:
    if not value and isinstance(value, (bytes, str)):
        raise ValueError(f"{field} must not be empty")
    if not isinstance(value, bytes):
        raise TypeError(f"{field} must be bytes, not {type(value).__name__}")


def _check_text(password: bytes) -> None:
    try:
        password.decode()
    except UnicodeDecodeError:  # whose repr contains the password
        raise ValueError("password must be UTF-8") from None


def _mechanism_of(alteration: UserScramCredentialAlteration) -> ScramMechanism:
    if isinstance(alteration, UserScramCredentialUpsertion):
        return alteration.scram_credential_info.mechanism
    assert isinstance(alteration, UserScramCredentialDeletion)
    return alteration.mechanism


def _description(
    user: str, credentials: Iterable[ScramCredential]
) -> UserScramCredentialsDescription:
    infos = [
        ScramCredentialInfo(_MECHANISMS[each.mechanism], each.iterations) for each in credentials
    ]
    return UserScramCredentialsDescription(user, infos)


def _change(each: UserScramCredentialAlteration) -> users.UserAlteration:
    name = _NAMES[_mechanism_of(each)]
    if not isinstance(each, UserScramCredentialUpsertion):
        return DeletePassword(name)
    iterations = each.scram_credential_info.iterations
    return SetPassword(each.password.decode(), name, iterations, each.salt)


async def _alter(
    call: Call, alterations: list[UserScramCredentialAlteration]
) -> Results[str, None]:
    changes: dict[str, list[users.UserAlteration]] = {}
    for each in alterations:
        changes.setdefault(each.user, []).append(_change(each))
    results: Results[str, None] = {}
    for user, wanted in changes.items():
        try:
            results |= await users.alter_users(call, {user: wanted})
        except ConfigError as error:  # Only the number of iterations is not checked yet.
            code = ErrorCode.UNACCEPTABLE_CREDENTIAL
            results[user] = error_of_code(code, str(error))
    return results
