"""A schema registry in this process, and the faults that a test injects into it."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Literal, NamedTuple

from ottla import _core
from ottla._internal.registry_settings import CompatibilityLevel


class RegistryRequest(NamedTuple):
    """A request that a registry received.

    Attributes:
        method: the method, such as ``GET``.
        path: the path and the query.
    """

    method: str
    path: str


class RegistryFault:
    """A fault for ``MockRegistry.inject``; the class methods create one.

    Args:
        reaction: the fault as a dict with one key; use the class methods instead.
    """

    def __init__(self, reaction: dict[str, object]) -> None:
        self.reaction = reaction

    def __repr__(self) -> str:
        kind, value = next(iter(self.reaction.items()), ("none", True))
        return f"RegistryFault.{kind}()" if value is True else f"RegistryFault.{kind}({value!r})"

    @classmethod
    def status(
        cls,
        status: int,
        *,
        code: int | None = None,
        message: str = "injected",
        retry_after: int | None = None,
    ) -> RegistryFault:
        """Return a fault that responds with an HTTP status; the request has no effect.

        Args:
            status: the status, such as 503.
            code: the registry's error code, such as 50001. Default: a response without JSON.
            message: the message of the response.
            retry_after: the value of the header ``Retry-After``, in seconds.
        """
        return cls({"status": (status, code, message, retry_after)})

    @classmethod
    def delay(cls, seconds: float) -> RegistryFault:
        """Return a fault that handles the request after a delay.

        Args:
            seconds: the delay in seconds.
        """
        return cls({"delay": float(seconds)})

    @classmethod
    def silence(cls) -> RegistryFault:
        """Return a fault that never responds, and keeps the connection open."""
        return cls({"silence": True})

    @classmethod
    def disconnect(cls, when: Literal["before", "after"] = "before") -> RegistryFault:
        """Return a fault that closes the connection instead of responding.

        Args:
            when: ``before`` the request is handled; or ``after``, so that only its response is
                lost.
        """
        return cls({"disconnect": when})

    @classmethod
    def body(cls, body: bytes, content_type: str = "application/json") -> RegistryFault:
        """Return a fault that responds with status 200 and these bytes.

        Args:
            body: the bytes.
            content_type: the media type.
        """
        return cls({"body": (bytes(body), content_type)})


class MockRegistry:
    """A schema registry in this process with Confluent's API, over HTTP on loopback.

    It refuses clients' invalid schemas, and those of Avro that are incompatible by the subject's
    level, which is BACKWARD unless another one is set.

    Use it in a ``with`` block, or ``close()`` it. Methods raise ``ClosedError`` once it is closed.

    Args:
        name: with a name, ``mock://name`` is its address for this process's registry clients, too.
            An address ``mock://name`` without such a registry starts one that lives as long as the
            process.
        user_info: ``user:password``, which clients must have.
        token: the bearer token that clients must have.
        path: the path of the API, such as ``/apis/ccompat/v7``.

    Raises:
        ConfigError: an argument is wrong, or the name is taken.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        user_info: str | None = None,
        token: str | None = None,
        path: str = "",
    ) -> None:
        self._core = _core.MockRegistry(name, user_info=user_info, token=token, path=path)

    @property
    def url(self) -> str:
        """The URL, as a value of ``schema.registry.url``."""
        return self._core.url

    def register(
        self,
        subject: str,
        text: str,
        type: Literal["AVRO", "PROTOBUF", "JSON"] = "AVRO",
        references: Sequence[tuple[str, str, int]] = (),
    ) -> int:
        """Register a schema in a subject, whatever its level of compatibility; return its id.

        Args:
            subject: the subject.
            text: the schema's text.
            type: the schema's type.
            references: name, subject and version of each schema that the text refers to.

        Raises:
            ConfigError: the schema is invalid, or the subject refuses changes.
        """
        return self._core.register(subject, text, type, list(references))[0]

    def set_compatibility(
        self,
        level: CompatibilityLevel,
        subject: str | None = None,
    ) -> None:
        """Set which changes of Avro schemas are accepted from clients.

        Args:
            level: the level of compatibility.
            subject: the subject. Default: all that have no level of their own.

        Raises:
            ConfigError: there is no such level.
        """
        self._core.set_compatibility(level, subject)

    def refuse_changes(self, subject: str, refuse: bool = True) -> None:
        """Let a subject refuse schemas that differ from its latest one, or accept all again.

        Args:
            subject: the subject.
            refuse: whether it refuses them.
        """
        self._core.refuse_changes(subject, refuse)

    def delete_version(self, subject: str, version: int) -> None:
        """Delete a version softly: it remains available by id, and to schemas that refer to it.

        Args:
            subject: the subject.
            version: the version.

        Raises:
            ConfigError: the subject or the version does not exist.
        """
        self._core.delete_version(subject, version)

    def subjects(self) -> list[str]:
        """Return the names of the subjects."""
        return self._core.subjects()

    def requests(self) -> list[RegistryRequest]:
        """Return the requests that arrived, in order."""
        return [RegistryRequest(method, path) for method, path in self._core.requests()]

    def inject(
        self,
        fault: RegistryFault,
        *,
        method: str | None = None,
        path: str | None = None,
        skip: int = 0,
        times: int | None = None,
    ) -> int:
        """Inject a fault into the requests that match all given conditions.

        Args:
            fault: the fault.
            method: the method, such as ``POST``.
            path: the beginning of the path.
            skip: the number of matching requests to leave unharmed first.
            times: the maximum number of requests to hit. Default: no limit.

        Returns:
            The fault's id, for ``fault_hits``.
        """
        return self._core.inject(fault.reaction, method=method, path=path, skip=skip, times=times)

    def fault_hits(self, fault: int) -> int:
        """Return the number of requests that a fault has hit; 0 if it was removed.

        Args:
            fault: the fault's id, from ``inject``.
        """
        return self._core.fault_hits(fault)

    def clear_faults(self) -> None:
        """Remove all faults."""
        self._core.clear_faults()

    def stop(self) -> None:
        """Stop listening: connections break, and new ones are refused. The schemas are kept."""
        self._core.stop()

    def restart(self) -> None:
        """Listen again at the same address."""
        self._core.restart()

    def close(self) -> None:
        """Stop for good. Closing a closed registry has no effect."""
        self._core.close()

    def __enter__(self) -> MockRegistry:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._core)
