"""The tables of configuration keys."""

from collections.abc import Mapping
from typing import Any

from typing_extensions import Unpack

from ottla.config_types import ClientConfig

def check_config(
    config: Mapping[str, Any] | None = None, /, **kwargs: Unpack[ClientConfig]
) -> None:
    """Check a configuration without a broker, as the classes do when they are created.

    Args:
        config: configuration by Kafka's dotted names. Keyword arguments are the same names with
            underscores, and take precedence. See ``Client``.

    Raises:
        ConfigError: a key or a value is invalid, or values contradict each other; a file that the
            configuration names cannot be used.
    """

def config_row_of(name: str) -> str | None:
    """Return the configuration key that a name of any client sets, or None."""

def read_properties(text: str) -> list[tuple[str, str]]:
    """Return the keys and values of a Java properties file: its comments, escapes and continuations
    are those of Java.

    Raises:
        ConfigError: an escape ``\\uXXXX`` is half of a character.
    """

def config_rows() -> list[tuple[str, str, str, tuple[int, int] | None, str]]:
    """Return all configuration keys: name, type, default, bounds and meaning of each."""

def check_schema_limits(limits: Mapping[str, Any]) -> None:
    """Raise a ConfigError for limits that a format would refuse."""

def schema_limit_rows() -> list[tuple[str, str, str, tuple[int, int] | None, str]]:
    """Return the limits of schemas, as ``config_rows`` does."""

def other_client_config_rows() -> list[tuple[str, str, str | None, str]]:
    """Return the known keys of other clients: name, client, the key that each sets, and its
    mapping as Markdown.
    """
