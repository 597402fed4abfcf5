"""Clients of a schema registry, and the schemas that they return."""

from asyncio import Future
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TypeAlias, final

_SchemaType: TypeAlias = Literal["AVRO", "PROTOBUF", "JSON"]
_Row: TypeAlias = tuple[str, str, str, tuple[int, int] | None, str]

@final
class SchemaReference:
    """A name in a schema's text, and where the schema with this name is registered.

    Args:
        name: the name in the text: a full name in Avro, the path of an import in Protobuf, a
            ``$ref`` in JSON Schema.
        subject: the subject of the referenced schema.
        version: its version in the subject.
    """
    def __new__(cls, name: str, subject: str, version: int) -> SchemaReference: ...
    @property
    def name(self) -> str:
        """The name in the text."""
    @property
    def subject(self) -> str:
        """The subject of the referenced schema."""
    @property
    def version(self) -> int:
        """Its version in the subject."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Schema:
    """A schema: its text and, in a registry, where it is registered.

    Two schemas are equal if type, text and references are.

    Args:
        text: the text: JSON of an Avro schema, a ``.proto`` file, or a JSON Schema.
        type: ``"AVRO"``, ``"PROTOBUF"`` or ``"JSON"``.
        references: the schemas that the text refers to.

    Raises:
        ConfigError: there is no such type.
    """
    def __new__(
        cls,
        text: str,
        type: _SchemaType = "AVRO",
        references: Sequence[SchemaReference] = ...,
    ) -> Schema: ...
    @property
    def text(self) -> str:
        """The text."""
    @property
    def type(self) -> _SchemaType:
        """``"AVRO"``, ``"PROTOBUF"`` or ``"JSON"``."""
    @property
    def references(self) -> list[SchemaReference]:
        """The schemas that the text refers to."""
    @property
    def subject(self) -> str | None:
        """The subject, or None if the schema was looked up by id or is not registered."""
    @property
    def version(self) -> int | None:
        """The version in the subject, or None if it is not known."""
    @property
    def id(self) -> int | None:
        """The id, or None if it is not known."""
    @property
    def guid(self) -> str | None:
        """The GUID as text, or None if the registry has none (Confluent Platform 8 has)."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Compatibility:
    """Whether a registry would accept a schema, and why not."""
    @property
    def is_compatible(self) -> bool:
        """Whether the registry would accept the schema."""
    @property
    def messages(self) -> list[str]:
        """The differences that make it incompatible, as the registry describes them."""
    def __bool__(self) -> bool: ...

@final
class Registry:
    """A client of a schema registry with Confluent's API: Confluent, Karapace, Redpanda, and
    Apicurio's compatible one.

    Formats such as ``Avro`` use it to look up schemas. Any thread may use it; share one, so that
    all share its cache. Schemas by id do not expire, and remain available while the registry is
    down. The first call connects.

    Args:
        url: the address, as ``https://host:port/path``; several, as a list or with commas, are
            tried in turn. ``mock://name`` is a mock registry in this process (``ottla.testing``).
        config: configuration by Confluent's dotted names, with or without ``schema.registry.``.
            Keyword arguments are the same names with underscores and take precedence:
            ``basic_auth_user_info="user:password"``, ``bearer_auth_token``, ``ssl_ca_location``,
            ``request_timeout_ms``, ``cache_capacity`` … All are in docs/reference/configuration.md.

    Raises:
        ConfigError: a key or a value is invalid.
    """
    def __new__(
        cls,
        url: str | Sequence[str] | Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Registry: ...
    @property
    def urls(self) -> list[str]:
        """The addresses, without user and password."""
    def schema(self, id: int | str, *, timeout: float | None = None) -> Schema:
        """Return the schema with an id.

        Args:
            id: the id, or a GUID as text (Confluent Platform 8).
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: there is no such schema.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def latest(self, subject: str, *, timeout: float | None = None) -> Schema:
        """Return the latest schema of a subject.

        It is cached for ``schema.registry.latest.cache.ttl.ms``, 60 s.

        Args:
            subject: the subject.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject does not exist.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def schema_by_version(
        self, subject: str, version: int, *, timeout: float | None = None
    ) -> Schema:
        """Return the schema of a version of a subject.

        Args:
            subject: the subject.
            version: the version, from 1.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject or the version does not exist.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def lookup(self, subject: str, schema: Schema, *, timeout: float | None = None) -> Schema:
        """Return a schema as it is registered in a subject, with version and id.

        Args:
            subject: the subject.
            schema: the schema.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject does not exist, or does not have this schema.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def register(self, subject: str, schema: Schema, *, timeout: float | None = None) -> Schema:
        """Register a schema in a subject, and return it with version and id.

        A schema that is registered already is returned as it is.

        Args:
            subject: the subject: by convention the topic's name and ``-key`` or ``-value``.
            schema: the schema.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the schema is invalid, or incompatible with earlier versions.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the schema may be registered all the same.
        """
    def subjects(self, *, timeout: float | None = None) -> list[str]:
        """Return the names of all subjects.

        Args:
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def check_compatibility(
        self,
        subject: str,
        schema: Schema,
        version: int | None = None,
        *,
        timeout: float | None = None,
    ) -> Compatibility:
        """Check whether a subject would accept a schema; nothing is registered.

        Args:
            subject: the subject.
            schema: the schema.
            version: the version to compare with. Default: the latest one.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject or the version does not exist, or the schema is invalid.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def close(self) -> None:
        """Close the connections.

        Later calls, and readers that use this client, raise a ``ClosedError``.
        """
    def __enter__(self) -> Registry: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None: ...

@final
class AsyncRegistry:
    """A client of a schema registry for asyncio; it mirrors ``Registry``.

    Methods that block there return a native future of the running loop here and use no thread.
    Cancelling the future cancels the request. Formats take either.

    Args:
        url: the address, as ``https://host:port/path``; several, as a list or with commas, are
            tried in turn. ``mock://name`` is a mock registry in this process (``ottla.testing``).
        config: configuration by Confluent's dotted names, with or without ``schema.registry.``.
            Keyword arguments are the same names with underscores and take precedence. See
            ``Registry``.

    Raises:
        ConfigError: a key or a value is invalid.
    """
    def __new__(
        cls,
        url: str | Sequence[str] | Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> AsyncRegistry: ...
    @property
    def urls(self) -> list[str]:
        """The addresses, without user and password."""
    def schema(self, id: int | str, *, timeout: float | None = None) -> Future[Schema]:
        """Return the schema with an id.

        Args:
            id: the id, or a GUID as text (Confluent Platform 8).
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: there is no such schema.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def latest(self, subject: str, *, timeout: float | None = None) -> Future[Schema]:
        """Return the latest schema of a subject.

        It is cached for ``schema.registry.latest.cache.ttl.ms``, 60 s.

        Args:
            subject: the subject.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject does not exist.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def schema_by_version(
        self, subject: str, version: int, *, timeout: float | None = None
    ) -> Future[Schema]:
        """Return the schema of a version of a subject.

        Args:
            subject: the subject.
            version: the version, from 1.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject or the version does not exist.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def lookup(
        self, subject: str, schema: Schema, *, timeout: float | None = None
    ) -> Future[Schema]:
        """Return a schema as it is registered in a subject, with version and id.

        Args:
            subject: the subject.
            schema: the schema.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject does not exist, or does not have this schema.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def register(
        self, subject: str, schema: Schema, *, timeout: float | None = None
    ) -> Future[Schema]:
        """Register a schema in a subject, and return it with version and id.

        A schema that is registered already is returned as it is.

        Args:
            subject: the subject: by convention the topic's name and ``-key`` or ``-value``.
            schema: the schema.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the schema is invalid, or incompatible with earlier versions.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the schema may be registered all the same.
        """
    def subjects(self, *, timeout: float | None = None) -> Future[list[str]]:
        """Return the names of all subjects.

        Args:
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def check_compatibility(
        self,
        subject: str,
        schema: Schema,
        version: int | None = None,
        *,
        timeout: float | None = None,
    ) -> Future[Compatibility]:
        """Check whether a subject would accept a schema; nothing is registered.

        Args:
            subject: the subject.
            schema: the schema.
            version: the version to compare with. Default: the latest one.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject or the version does not exist, or the schema is invalid.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def close(self) -> Future[None]:
        """Close the connections.

        Later calls, and readers that use this client, raise a ``ClosedError``.
        """
    def __aenter__(self) -> Future[AsyncRegistry]: ...
    def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> Future[None]: ...

def registry_config_rows() -> list[_Row]:
    """Return the configuration keys of schema registries, as ``config_rows`` does."""
