"""The base of all identities: a callable that returns a token within a deadline.

The core calls it on a thread of its own whenever it needs a new token, and caches the result.
Invariants: a call ends within ``DEADLINE``; its error is an ``AuthenticationError`` whose message
starts with the identity's name and contains none of its secrets; an object keeps no connection and
no token between calls, so that it works after a fork.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, TypeVar

from ottla._internal.text import clean
from ottla.errors import ArgumentTypeError, AuthenticationError, KafkaError, described

# Below the default of socket.connection.setup.timeout.ms (10 s), which includes this call: the
# error that explains the failure comes before the connection's time-out.
DEADLINE = 8.0

_MAX_TEXT = 400

_LOG = logging.getLogger("ottla.identities")

_Result = TypeVar("_Result")

_last_subjects: dict[str, str] = {}


class IdentityToken(NamedTuple):
    """A token, and whose it is.

    Attributes:
        value: the token.
        expires: when it expires, in seconds since 1970; None if unknown.
        subject: whom it identifies and which source it comes from, for logs and the doctor.
    """

    value: str
    expires: float | None
    subject: str


def check_texts(identity: str, **arguments: str | None) -> None:
    """Check the types of an identity's arguments; None stands for one that was left out.

    Raises:
        ArgumentTypeError: one is no str. It is not shown, since it may be a secret.
    """
    for name, value in arguments.items():
        given: object = value
        if given is not None and not isinstance(given, str):
            kind = type(given).__name__
            raise ArgumentTypeError(f"{identity}: {name} is of type {kind}: expected a str")


class Identity(ABC):
    """A source of tokens for ``sasl_oauth_token``, or by its name for a configuration.

    Attributes:
        name: the name for ``sasl.oauthbearer.token.provider``.
    """

    name: ClassVar[str]

    @property
    def needs_permission(self) -> bool:
        """Whether a configuration may name it only if ``OTTLA_TOKEN_PROVIDERS`` lists the name."""
        return False

    def __call__(self) -> tuple[str, float | None]:
        """Return a new token and when it expires, in seconds since 1970.

        Raises:
            AuthenticationError: there is no token; the message contains the step that failed.
        """
        secrets: list[str] = []
        try:
            token = within(DEADLINE, lambda: self.fetch(secrets))
        except KafkaError:
            raise
        except Exception as error:  # noqa: BLE001  # SDKs raise any
            raise self.error(printable(described(error), secrets)) from None
        _last_subjects[self.name] = token.subject
        _LOG.info("%s: a token for %s", self.name, token.subject)
        return token.value, token.expires

    @abstractmethod
    def fetch(self, secrets: list[str]) -> IdentityToken:
        """Request or read a token.

        Args:
            secrets: a list to which each secret is added before it is used, for messages.
        """

    def error(self, why: str) -> AuthenticationError:
        """Return the error for a step that failed."""
        return AuthenticationError(f"{self.name}: {why}")

    def __repr__(self) -> str:
        """Return the class alone: arguments may be secrets."""
        return f"<ottla.identities.{type(self).__name__}>"


def last_subject(name: str) -> str | None:
    """Return whom the last token of a named identity identified; None if there was none."""
    return _last_subjects.get(name)


def printable(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text of another program for a message: escaped, shortened, without the secrets."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    text = clean(text)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"


def within(seconds: float, work: Callable[[], _Result]) -> _Result:
    """Return the result of ``work``, which runs on a thread of its own.

    SDKs bound each of their waits, but not their sum.

    Raises:
        TimeoutError: it takes longer. Its thread ends when its own waits do.
    """
    done: list[tuple[Any, BaseException | None]] = []

    def run() -> None:
        try:
            done.append((work(), None))
        except BaseException as error:  # noqa: BLE001  # raised by the caller
            done.append((None, error))

    thread = threading.Thread(target=run, name="ottla-identity", daemon=True)
    thread.start()
    thread.join(seconds)
    if not done:
        raise TimeoutError(f"no token within {seconds:.0f} s")
    result, error = done[0]
    if error is not None:
        raise error
    value: _Result = result
    return value
