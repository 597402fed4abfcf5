//! The docstrings that `Registry` and `AsyncRegistry` share.
//!
//! `#[doc = docs!(name)]` is the docstring of a method; lines in `///` may follow or precede it.

macro_rules! docs {
    (schema) => {
        "Return the schema with an id.

Args:
    id: the id, or a GUID as text (Confluent Platform 8).
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
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    SchemaError: the schema is invalid, or incompatible with earlier versions.
    AuthenticationError: the registry rejected the credentials.
    AuthorizationError: the credentials lack the permission.
    TimeoutError: no address responded in time; the schema may be registered all the same."
    };
    (subjects) => {
        "Return the names of all subjects.

Args:
    timeout: seconds. Default: ``schema.registry.default.api.timeout.ms``.

Raises:
    AuthenticationError: the registry rejected the credentials.
    TimeoutError: no address responded in time; the message says why."
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
