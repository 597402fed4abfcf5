"""The admin calls about the passwords of users.

Invariant: no password and no salt is in a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from ottla import admin
from ottla.compat.kafka._errors import translated, translating
from ottla.compat.kafka._named import Named
from ottla.compat.kafka.admin._base import AdminBase
from ottla.compat.kafka.errors import IllegalArgumentError

__all__ = [
    "ScramMechanism",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
    "Users",
]

_ITERATIONS = 4_096


class ScramMechanism(Named, IntEnum):
    """The hash of a password."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def native(self) -> Any:
        """ottla's name of the mechanism."""
        return self.name.replace("_", "-")


class UserScramCredentialDeletion:
    """Deletes the password of a mechanism."""

    def __init__(self, user: str, mechanism: Any) -> None:
        self.user = user
        self.mechanism = ScramMechanism.build_from(mechanism)

    def __repr__(self) -> str:
        return f"UserScramCredentialDeletion({self.user}, {self.mechanism.name})"


class UserScramCredentialUpsertion:
    """Sets a password for a mechanism."""

    def __init__(
        self,
        user: str,
        mechanism: Any,
        password: str | bytes,
        iterations: int | None = None,
        salt: bytes | None = None,
    ) -> None:
        self.user = user
        self.mechanism = ScramMechanism.build_from(mechanism)
        if self.mechanism is ScramMechanism.UNKNOWN:
            raise IllegalArgumentError("SCRAM mechanism must not be UNKNOWN")
        self.iterations = _ITERATIONS if iterations is None else iterations
        self._password = password.decode() if isinstance(password, bytes) else password
        self._salt = salt

    def __repr__(self) -> str:
        return f"UserScramCredentialUpsertion({self.user}, {self.mechanism.name})"

    def _native(self) -> admin.SetPassword:
        return admin.SetPassword(self._password, self.mechanism.native, self.iterations, self._salt)


class Users(AdminBase):
    """The methods; ``KafkaAdminClient`` has the attributes."""

    def alter_user_scram_credentials(self, alterations: Iterable[Any]) -> dict[str, str | None]:
        """Set and delete passwords; returns the error or None by user."""
        wanted: dict[str, list[Any]] = {}
        for each in alterations:
            if isinstance(each, UserScramCredentialUpsertion):
                native: Any = each._native()  # noqa: SLF001 - of this module
            elif isinstance(each, UserScramCredentialDeletion):
                native = admin.DeletePassword(each.mechanism.native)
            else:
                raise IllegalArgumentError(f"{type(each).__name__} is no change of a password")
            wanted.setdefault(each.user, []).append(native)
        with translating():
            found = self._admin.alter_user_scram_credentials(
                wanted, errors="return", timeout=self._seconds()
            )
        return {
            user: None if error is None else str(translated(error)) for user, error in found.items()
        }

    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> dict[str, dict[str, Any]]:
        """Describe the mechanisms of users' passwords."""
        with translating():
            found = self._admin.describe_user_scram_credentials(
                users, errors="return", timeout=self._seconds()
            )
        result: dict[str, dict[str, Any]] = {}
        for user, credentials in found.items():
            if isinstance(credentials, Exception):
                result[user] = {"error": str(translated(credentials)), "credential_infos": []}
                continue
            shown = [
                {
                    "mechanism": ScramMechanism.build_from(each.mechanism),
                    "iterations": each.iterations,
                }
                for each in credentials
            ]
            result[user] = {"error": None, "credential_infos": shown}
        return result
