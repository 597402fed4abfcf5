"""Clients of a schema registry, and the schemas that they return."""

from asyncio import Future
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TypeAlias, final

from ottla._internal.registry_settings import CompatibilityLevel, RegistryMode

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

    Two schemas are equal if type, text, references, metadata and rules are.

    Args:
        text: the text: JSON of an Avro schema, a ``.proto`` file, or a JSON Schema.
        type: ``"AVRO"``, ``"PROTOBUF"`` or ``"JSON"``.
        references: the schemas that the text refers to.
        metadata: the metadata of its data contract, as in the registry's API: a dict with
            ``"tags"``, ``"properties"`` and ``"sensitive"``. Default: none.
        rule_set: the rules of its data contract: a dict with lists of ``"domainRules"``,
            ``"encodingRules"`` and ``"migrationRules"``. Default: none.

    Raises:
        ConfigError: there is no such type, or no such key.
    """
    def __new__(
        cls,
        text: str,
        type: _SchemaType = "AVRO",
        references: Sequence[SchemaReference] = ...,
        *,
        metadata: Mapping[str, Any] | None = None,
        rule_set: Mapping[str, Any] | None = None,
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
    def metadata(self) -> dict[str, Any] | None:
        """The metadata of its data contract: a dict with ``"tags"``, ``"properties"`` and
        ``"sensitive"``; or None.
        """
    @property
    def rule_set(self) -> dict[str, Any] | None:
        """The rules of its data contract, a dict of lists of dicts, or None. No rule is applied: a
        value that needs one is an error.
        """
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
class RegistrySetting:
    """The compatibility level or the mode that applies to a subject or a registry."""
    @property
    def value(self) -> str:
        """The level, such as ``"BACKWARD"``, or the mode, such as ``"READWRITE"``."""
    @property
    def is_global(self) -> bool:
        """Whether the subject has none of its own, so that the one of its context or of the whole
        registry applies; True without a subject.
        """
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
    def schema(
        self, id: int | str, *, subject: str | None = None, timeout: float | None = None
    ) -> Schema:
        """Return the schema with an id.

        Args:
            id: the id, or a GUID as text (Confluent Platform 8).
            subject: a subject in the context whose id it is, such as ``:.context:orders-value``.
                Default: the default context.
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
        self, subject: str, version: int, *, deleted: bool = False, timeout: float | None = None
    ) -> Schema:
        """Return the schema of a version of a subject.

        Args:
            subject: the subject.
            version: the version, from 1.
            deleted: whether it may be a version that was deleted softly.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject or the version does not exist.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def lookup(
        self, subject: str, schema: Schema, *, normalize: bool = False, timeout: float | None = None
    ) -> Schema:
        """Return a schema as it is registered in a subject, with version and id.

        Args:
            subject: the subject.
            schema: the schema.
            normalize: whether the registry compares normalized schemas, so that another way to
                write a schema is the same.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject does not exist, or does not have this schema.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def register(
        self, subject: str, schema: Schema, *, normalize: bool = False, timeout: float | None = None
    ) -> Schema:
        """Register a schema in a subject, and return it with version and id.

        A schema that is registered already is returned as it is.

        Args:
            subject: the subject: by convention the topic's name and ``-key`` or ``-value``.
            schema: the schema.
            normalize: whether the registry normalizes the schema first, so that another way to
                write a registered schema is no new version.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the schema is invalid, or incompatible with earlier versions.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the schema may be registered all the same.
        """
    def subjects(
        self, *, prefix: str | None = None, deleted: bool = False, timeout: float | None = None
    ) -> list[str]:
        """Return the names of the subjects.

        Args:
            prefix: the beginning of their names; ``":.context:"`` for those of a context.
                Default: all.
            deleted: whether those are returned, too, that were deleted softly.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def versions(
        self, subject: str, *, deleted: bool = False, timeout: float | None = None
    ) -> list[int]:
        """Return the numbers of a subject's versions, in order.

        Args:
            subject: the subject.
            deleted: whether those are returned, too, that were deleted softly.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject does not exist.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def delete_version(
        self, subject: str, version: int, *, permanent: bool = False, timeout: float | None = None
    ) -> None:
        """Delete a version of a subject.

        A version that is deleted softly remains available by its id, and to schemas with
        references to it.

        Args:
            subject: the subject.
            version: the version, from 1.
            permanent: whether it is deleted for good, even if it was not deleted softly before.
                Records with its id can no longer be read unless another subject has the schema.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the version does not exist or was deleted before, or another schema refers
                to it.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the change may be made all the same.
        """
    def delete_subject(
        self, subject: str, *, permanent: bool = False, timeout: float | None = None
    ) -> list[int]:
        """Delete all versions of a subject, and return their numbers.

        Schemas that are deleted softly remain available by their ids. If the response was lost
        and the repeated request finds nothing, the list is empty.

        Args:
            subject: the subject.
            permanent: whether it is deleted for good, even if it was not deleted softly before.
                Records with its ids can no longer be read unless another subject has the schemas.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject does not exist or was deleted before, or another schema refers
                to it.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the change may be made all the same.
        """
    def compatibility_level(
        self, subject: str | None = None, *, timeout: float | None = None
    ) -> RegistrySetting:
        """Return the compatibility level that applies to a subject, and whether it is its own.

        Args:
            subject: the subject. Default: the registry's own, for all subjects without one.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def set_compatibility_level(
        self,
        level: CompatibilityLevel,
        subject: str | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        """Set the compatibility level of a subject or of the registry.

        Args:
            level: ``"NONE"``, ``"BACKWARD"``, ``"FORWARD"`` or ``"FULL"``, which compare with the
                latest version, or one of the latter three with ``_TRANSITIVE``: with all versions.
            subject: the subject. Default: the registry's own, for all subjects without one.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            ConfigError: there is no such level.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the change may be made all the same.
        """
    def delete_compatibility_level(
        self, subject: str | None = None, *, timeout: float | None = None
    ) -> None:
        """Remove the compatibility level of a subject, so that the registry's applies to it.

        Args:
            subject: the subject. Default: the registry's own level, which becomes ``"BACKWARD"``.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject has none of its own.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the change may be made all the same.
        """
    def mode(self, subject: str | None = None, *, timeout: float | None = None) -> RegistrySetting:
        """Return the mode that applies to a subject, and whether it is its own.

        Args:
            subject: the subject. Default: the registry's own, for all subjects without one.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def set_mode(
        self,
        mode: RegistryMode,
        subject: str | None = None,
        *,
        force: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Set the mode of a subject or of the registry.

        Args:
            mode: ``"READWRITE"``, ``"READONLY"``, ``"READONLY_OVERRIDE"``, ``"IMPORT"`` or
                ``"FORWARD"``.
            subject: the subject. Default: the registry's own, for all subjects without one.
            force: whether ``"IMPORT"`` is set even if there are schemas.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            ConfigError: there is no such mode.
            SchemaError: the registry does not allow the change.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the change may be made all the same.
        """
    def delete_mode(self, subject: str, *, timeout: float | None = None) -> None:
        """Remove the mode of a subject, so that the registry's applies to it.

        Args:
            subject: the subject.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject has none of its own.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the change may be made all the same.
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
    def schema(
        self, id: int | str, *, subject: str | None = None, timeout: float | None = None
    ) -> Future[Schema]:
        """Return the schema with an id.

        Args:
            id: the id, or a GUID as text (Confluent Platform 8).
            subject: a subject in the context whose id it is, such as ``:.context:orders-value``.
                Default: the default context.
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
        self, subject: str, version: int, *, deleted: bool = False, timeout: float | None = None
    ) -> Future[Schema]:
        """Return the schema of a version of a subject.

        Args:
            subject: the subject.
            version: the version, from 1.
            deleted: whether it may be a version that was deleted softly.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject or the version does not exist.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def lookup(
        self, subject: str, schema: Schema, *, normalize: bool = False, timeout: float | None = None
    ) -> Future[Schema]:
        """Return a schema as it is registered in a subject, with version and id.

        Args:
            subject: the subject.
            schema: the schema.
            normalize: whether the registry compares normalized schemas, so that another way to
                write a schema is the same.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject does not exist, or does not have this schema.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def register(
        self, subject: str, schema: Schema, *, normalize: bool = False, timeout: float | None = None
    ) -> Future[Schema]:
        """Register a schema in a subject, and return it with version and id.

        A schema that is registered already is returned as it is.

        Args:
            subject: the subject: by convention the topic's name and ``-key`` or ``-value``.
            schema: the schema.
            normalize: whether the registry normalizes the schema first, so that another way to
                write a registered schema is no new version.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the schema is invalid, or incompatible with earlier versions.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the schema may be registered all the same.
        """
    def subjects(
        self, *, prefix: str | None = None, deleted: bool = False, timeout: float | None = None
    ) -> Future[list[str]]:
        """Return the names of the subjects.

        Args:
            prefix: the beginning of their names; ``":.context:"`` for those of a context.
                Default: all.
            deleted: whether those are returned, too, that were deleted softly.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def versions(
        self, subject: str, *, deleted: bool = False, timeout: float | None = None
    ) -> Future[list[int]]:
        """Return the numbers of a subject's versions, in order.

        Args:
            subject: the subject.
            deleted: whether those are returned, too, that were deleted softly.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject does not exist.
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def delete_version(
        self, subject: str, version: int, *, permanent: bool = False, timeout: float | None = None
    ) -> Future[None]:
        """Delete a version of a subject.

        A version that is deleted softly remains available by its id, and to schemas with
        references to it.

        Args:
            subject: the subject.
            version: the version, from 1.
            permanent: whether it is deleted for good, even if it was not deleted softly before.
                Records with its id can no longer be read unless another subject has the schema.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the version does not exist or was deleted before, or another schema refers
                to it.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the change may be made all the same.
        """
    def delete_subject(
        self, subject: str, *, permanent: bool = False, timeout: float | None = None
    ) -> Future[list[int]]:
        """Delete all versions of a subject, and return their numbers.

        Schemas that are deleted softly remain available by their ids. If the response was lost
        and the repeated request finds nothing, the list is empty.

        Args:
            subject: the subject.
            permanent: whether it is deleted for good, even if it was not deleted softly before.
                Records with its ids can no longer be read unless another subject has the schemas.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject does not exist or was deleted before, or another schema refers
                to it.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the change may be made all the same.
        """
    def compatibility_level(
        self, subject: str | None = None, *, timeout: float | None = None
    ) -> Future[RegistrySetting]:
        """Return the compatibility level that applies to a subject, and whether it is its own.

        Args:
            subject: the subject. Default: the registry's own, for all subjects without one.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def set_compatibility_level(
        self,
        level: CompatibilityLevel,
        subject: str | None = None,
        *,
        timeout: float | None = None,
    ) -> Future[None]:
        """Set the compatibility level of a subject or of the registry.

        Args:
            level: ``"NONE"``, ``"BACKWARD"``, ``"FORWARD"`` or ``"FULL"``, which compare with the
                latest version, or one of the latter three with ``_TRANSITIVE``: with all versions.
            subject: the subject. Default: the registry's own, for all subjects without one.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            ConfigError: there is no such level.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the change may be made all the same.
        """
    def delete_compatibility_level(
        self, subject: str | None = None, *, timeout: float | None = None
    ) -> Future[None]:
        """Remove the compatibility level of a subject, so that the registry's applies to it.

        Args:
            subject: the subject. Default: the registry's own level, which becomes ``"BACKWARD"``.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject has none of its own.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the change may be made all the same.
        """
    def mode(
        self, subject: str | None = None, *, timeout: float | None = None
    ) -> Future[RegistrySetting]:
        """Return the mode that applies to a subject, and whether it is its own.

        Args:
            subject: the subject. Default: the registry's own, for all subjects without one.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            AuthenticationError: the registry rejected the credentials.
            TimeoutError: no address responded in time; the message says why.
        """
    def set_mode(
        self,
        mode: RegistryMode,
        subject: str | None = None,
        *,
        force: bool = False,
        timeout: float | None = None,
    ) -> Future[None]:
        """Set the mode of a subject or of the registry.

        Args:
            mode: ``"READWRITE"``, ``"READONLY"``, ``"READONLY_OVERRIDE"``, ``"IMPORT"`` or
                ``"FORWARD"``.
            subject: the subject. Default: the registry's own, for all subjects without one.
            force: whether ``"IMPORT"`` is set even if there are schemas.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            ConfigError: there is no such mode.
            SchemaError: the registry does not allow the change.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the change may be made all the same.
        """
    def delete_mode(self, subject: str, *, timeout: float | None = None) -> Future[None]:
        """Remove the mode of a subject, so that the registry's applies to it.

        Args:
            subject: the subject.
            timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

        Raises:
            SchemaError: the subject has none of its own.
            AuthenticationError: the registry rejected the credentials.
            AuthorizationError: the credentials lack the permission.
            TimeoutError: no address responded in time; the change may be made all the same.
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
