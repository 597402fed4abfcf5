"""The errors of the schema registry and of its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["OAuthTokenError", "SchemaParseException", "SchemaRegistryError", "UnknownType"]

if TYPE_CHECKING:

    class SchemaParseException(Exception):
        """The text of an Avro schema is invalid."""

    class UnknownType(ValueError):
        """An Avro schema names a type that is not known."""

else:
    try:
        # Programs catch the classes of the Avro library, which raises them.
        from fastavro.schema import SchemaParseException, UnknownType
    except ImportError:

        class SchemaParseException(Exception):
            """The text of an Avro schema is invalid."""

        class UnknownType(ValueError):
            """An Avro schema names a type that is not known."""


class SchemaRegistryError(Exception):
    """The registry refused a request.

    Args:
        http_status_code: the status of the response.
        error_code: the registry's own code, -1 if it has none.
        error_message: the registry's description.
    """

    UNKNOWN = -1

    def __init__(self, http_status_code: int, error_code: int, error_message: str) -> None:
        super().__init__(http_status_code, error_code, error_message)
        self.http_status_code = http_status_code
        self.error_code = error_code
        self.error_message = error_message

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        codes = f"HTTP status code {self.http_status_code}, SR code {self.error_code}"
        return f"{self.error_message} ({codes})"


class OAuthTokenError(Exception):
    """No token could be obtained.

    Args:
        message: the reason.
        status_code: the status of the response, if there was one.
        response_text: its text.
    """

    def __init__(
        self, message: str, status_code: int | None = None, response_text: str | None = None
    ) -> None:
        self.message = message
        self.status_code = status_code
        self.response_text = response_text
        super().__init__(f"{message} (HTTP {status_code}): {response_text}")
