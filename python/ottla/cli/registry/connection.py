"""The schema registry that the arguments, a file or a profile name.

Invariant: an option that would have no effect is an error, and no message contains a credential.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from ottla.cli.options import registry_configuration, settings_of
from ottla.cli.registry_keys import REGISTRY_URL, registry_key, without_limits
from ottla.cli.waiting import report_waiting
from ottla.errors import ConfigError, SchemaError
from ottla.schema import Registry

_SUBJECT_NOT_FOUND = 40401
_VERSION_NOT_FOUND = 40402
_SCHEMA_NOT_FOUND = 40403
_LEVEL_NOT_FOUND = 40408
_MODE_NOT_FOUND = 40409
_METHODS = "look at it with mode(), and change it with set_mode()"
_COMMANDS = "check it by `ottla registry mode`, and change it by `ottla registry set-mode`"


def add_registry(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the registry's address."""
    parser.add_argument(
        "--schema-registry",
        metavar="URL",
        help="the schema registry; its other settings are configuration keys schema.registry.*",
    )


@contextmanager
def registry(arguments: argparse.Namespace) -> Iterator[Registry]:
    """Yield a client of the registry; long waits are reported.

    Raises:
        ConfigError: there is no address, or an option has no effect.
    """
    if arguments.brokers is not None:
        raise ConfigError("-b has no effect here: --schema-registry names the registry")
    for key, _ in settings_of(arguments):
        if registry_key(key) is None:
            raise ConfigError(f"-X {key} has no effect here: it is no key of a schema registry")
    config, _ = without_limits(registry_configuration(arguments))
    if REGISTRY_URL not in config:
        raise ConfigError(
            "no schema registry is configured: give --schema-registry URL, or "
            f"{REGISTRY_URL} in --config or --profile"
        )
    with Registry(config) as client:
        urls = ", ".join(client.urls)
        with report_waiting(lambda: f"a response from {urls}"):
            try:
                yield client
            except SchemaError as error:
                # The message names methods.
                error.args = (str(error).replace(_METHODS, _COMMANDS),)
                raise


def is_missing_subject(error: SchemaError) -> bool:
    """Return whether the registry does not have a subject."""
    return _code_of(error) == _SUBJECT_NOT_FOUND


def is_missing_version(error: SchemaError) -> bool:
    """Return whether a subject does not have a version, or has it no more."""
    return _code_of(error) == _VERSION_NOT_FOUND


def is_missing_schema(error: SchemaError) -> bool:
    """Return whether a subject does not have a schema, as if there is no such subject."""
    return _code_of(error) == _SCHEMA_NOT_FOUND or is_missing_subject(error)


def has_no_setting(error: SchemaError) -> bool:
    """Return whether a subject has no setting of its own; older registries do not have it then."""
    return _code_of(error) in {_LEVEL_NOT_FOUND, _MODE_NOT_FOUND} or is_missing_subject(error)


def _code_of(error: SchemaError) -> object:
    return error.context.get("registry_code")
