"""Users with SCRAM credentials (``confluent_kafka.admin._scram``).

Invariant: no ``repr`` contains a password.
"""

from __future__ import annotations

from ottla.compat.confluent_kafka import _constants as numbers
from ottla.compat.confluent_kafka.admin._enums import OrderedEnum


class ScramMechanism(OrderedEnum):
    """The hash function of a credential."""

    UNKNOWN = numbers.SCRAM_MECHANISM_UNKNOWN
    SCRAM_SHA_256 = numbers.SCRAM_MECHANISM_SHA_256
    SCRAM_SHA_512 = numbers.SCRAM_MECHANISM_SHA_512


class ScramCredentialInfo:
    """A credential without its password: the mechanism, and how often the password is hashed."""

    def __init__(self, mechanism: ScramMechanism, iterations: int) -> None:
        self.mechanism = mechanism
        self.iterations = iterations


class UserScramCredentialsDescription:
    """The credentials of a user."""

    def __init__(self, user: str, scram_credential_infos: list[ScramCredentialInfo]) -> None:
        self.user = user
        self.scram_credential_infos = scram_credential_infos


class UserScramCredentialAlteration:
    """A change of a user's credentials; the base of the two kinds."""

    def __init__(self, user: str) -> None:
        self.user = user


class UserScramCredentialUpsertion(UserScramCredentialAlteration):
    """Sets a password.

    Args:
        user: the user's name.
        scram_credential_info: the mechanism and the iterations.
        password: the password, which is hashed before it is sent.
        salt: the salt. Default: a random one.
    """

    def __init__(
        self,
        user: str,
        scram_credential_info: ScramCredentialInfo,
        password: bytes,
        salt: bytes | None = None,
    ) -> None:
        super().__init__(user)
        self.scram_credential_info = scram_credential_info
        self.password = password
        self.salt = salt


class UserScramCredentialDeletion(UserScramCredentialAlteration):
    """Deletes the password for a mechanism."""

    def __init__(self, user: str, mechanism: ScramMechanism) -> None:
        super().__init__(user)
        self.mechanism = mechanism
