"""The error of the registry's client."""

from __future__ import annotations


class ClientError(Exception):
    """The registry refused a request, or a schema is invalid.

    Args:
        message: the reason.
        http_code: the status of the response, if there was one.
    """

    def __init__(self, message: str, http_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.http_code = http_code

    def __repr__(self) -> str:
        return f"ClientError(error={self.message})"

    def __str__(self) -> str:
        return self.message
