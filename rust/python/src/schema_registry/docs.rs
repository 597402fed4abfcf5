//! The docstrings that `Registry` and `AsyncRegistry` share.
//!
//! `#[doc = docs!(name)]` is the docstring of a method; lines in `///` may follow or precede it.

macro_rules! docs {
    (schema) => {
        "Return the schema with an id.

Args:
    id: the id, or a GUID as text (Confluent Platform 8).
    subject: a subject in the context whose id it is, such as ``:.context:orders-value``.
        Default: the default context.
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    SchemaError: there is no such schema.
    AuthenticationError: the registry rejected the credentials.
    TimeoutError: no address responded in time; the message says why."
    };
    (latest) => {
        "Return the latest schema of a subject.

It is cached for ``schema.registry.latest.cache.ttl.ms``, 60 s.

Args:
    subject: the subject.
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    SchemaError: the subject does not exist.
    AuthenticationError: the registry rejected the credentials.
    TimeoutError: no address responded in time; the message says why."
    };
    (schema_by_version) => {
        "Return the schema of a version of a subject.

Args:
    subject: the subject.
    version: the version, from 1.
    deleted: whether it may be a version that was deleted softly.
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    SchemaError: the subject or the version does not exist.
    AuthenticationError: the registry rejected the credentials.
    TimeoutError: no address responded in time; the message says why."
    };
    (lookup) => {
        "Return a schema as it is registered in a subject, with version and id.

Args:
    subject: the subject.
    schema: the schema.
    normalize: whether the registry compares normalized schemas, so that another way to
        write a schema is the same.
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    SchemaError: the subject does not exist, or does not have this schema.
    AuthenticationError: the registry rejected the credentials.
    TimeoutError: no address responded in time; the message says why."
    };
    (register) => {
        "Register a schema in a subject, and return it with version and id.

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
    TimeoutError: no address responded in time; the schema may be registered all the same."
    };
    (subjects) => {
        "Return the names of the subjects.

Args:
    prefix: the beginning of their names; ``\":.context:\"`` for those of a context.
        Default: all.
    deleted: whether those are returned, too, that were deleted softly.
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    AuthenticationError: the registry rejected the credentials.
    TimeoutError: no address responded in time; the message says why."
    };
    (versions) => {
        "Return the numbers of a subject's versions, in order.

Args:
    subject: the subject.
    deleted: whether those are returned, too, that were deleted softly.
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    SchemaError: the subject does not exist.
    AuthenticationError: the registry rejected the credentials.
    TimeoutError: no address responded in time; the message says why."
    };
    (delete_version) => {
        "Delete a version of a subject.

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
    TimeoutError: no address responded in time; the change may be made all the same."
    };
    (delete_subject) => {
        "Delete all versions of a subject, and return their numbers.

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
    TimeoutError: no address responded in time; the change may be made all the same."
    };
    (compatibility_level) => {
        "Return the compatibility level that applies to a subject, and whether it is its own.

Args:
    subject: the subject. Default: the registry's own, for all subjects without one.
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    AuthenticationError: the registry rejected the credentials.
    TimeoutError: no address responded in time; the message says why."
    };
    (set_compatibility_level) => {
        "Set the compatibility level of a subject or of the registry.

Args:
    level: ``\"NONE\"``, ``\"BACKWARD\"``, ``\"FORWARD\"`` or ``\"FULL\"``, which compare with the
        latest version, or one of the latter three with ``_TRANSITIVE``: with all versions.
    subject: the subject. Default: the registry's own, for all subjects without one.
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    ConfigError: there is no such level.
    AuthenticationError: the registry rejected the credentials.
    AuthorizationError: the credentials lack the permission.
    TimeoutError: no address responded in time; the change may be made all the same."
    };
    (delete_compatibility_level) => {
        "Remove the compatibility level of a subject, so that the registry's applies to it.

Args:
    subject: the subject. Default: the registry's own level, which becomes ``\"BACKWARD\"``.
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    SchemaError: the subject has none of its own.
    AuthenticationError: the registry rejected the credentials.
    AuthorizationError: the credentials lack the permission.
    TimeoutError: no address responded in time; the change may be made all the same."
    };
    (mode) => {
        "Return the mode that applies to a subject, and whether it is its own.

Args:
    subject: the subject. Default: the registry's own, for all subjects without one.
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    AuthenticationError: the registry rejected the credentials.
    TimeoutError: no address responded in time; the message says why."
    };
    (set_mode) => {
        "Set the mode of a subject or of the registry.

Args:
    mode: ``\"READWRITE\"``, ``\"READONLY\"``, ``\"READONLY_OVERRIDE\"``, ``\"IMPORT\"`` or
        ``\"FORWARD\"``.
    subject: the subject. Default: the registry's own, for all subjects without one.
    force: whether ``\"IMPORT\"`` is set even if there are schemas.
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    ConfigError: there is no such mode.
    SchemaError: the registry does not allow the change.
    AuthenticationError: the registry rejected the credentials.
    AuthorizationError: the credentials lack the permission.
    TimeoutError: no address responded in time; the change may be made all the same."
    };
    (delete_mode) => {
        "Remove the mode of a subject, so that the registry's applies to it.

Args:
    subject: the subject.
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    SchemaError: the subject has none of its own.
    AuthenticationError: the registry rejected the credentials.
    AuthorizationError: the credentials lack the permission.
    TimeoutError: no address responded in time; the change may be made all the same."
    };
    (check_compatibility) => {
        "Check whether a subject would accept a schema; nothing is registered.

Args:
    subject: the subject.
    schema: the schema.
    version: the version to compare with. Default: the latest one.
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    SchemaError: the subject or the version does not exist, or the schema is invalid.
    AuthenticationError: the registry rejected the credentials.
    TimeoutError: no address responded in time; the message says why."
    };
    (close) => {
        "Close the connections.

Later calls, and readers that use this client, raise a ``ClosedError``."
    };
}

pub(crate) use docs;
