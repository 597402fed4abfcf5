"""The base class of token providers for OAUTHBEARER."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["AbstractTokenProvider"]


class AbstractTokenProvider(ABC):
    """Provides tokens for ``sasl_mechanism="OAUTHBEARER"``.

    Its methods are called on a thread of the client whenever a connection needs a token.
    """

    def __init__(self, **config: Any) -> None:
        self.config = config

    @abstractmethod
    def token(self) -> str:
        """Return a token that has not expired."""

    def extensions(self) -> dict[str, str]:
        """Return the SASL extensions (KIP-342)."""
        return {}
